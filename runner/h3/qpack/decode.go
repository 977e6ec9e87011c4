package qpack

import (
	"errors"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// ErrDynamic is returned for a block that refers to the dynamic table, which has no entries (RFC 9204 2.2.1, 3.2.3).
// Other errors are those of package hpack. All mean QPACK_DECOMPRESSION_FAILED to a connection (RFC 9204 6).
var ErrDynamic = errors.New("a header block refers to the dynamic table, whose size is 0")

// scratchKept is the scratch that outlives a block, in octets.
const scratchKept = 4096

// Decoder decodes header blocks. It belongs to one goroutine.
type Decoder struct {
	// MaxList bounds the header list, in octets (RFC 9114 4.2.2): the sink gets no fields beyond it.
	MaxList uint64
	scratch []byte // Huffman coded strings of the current field, decoded
}

// Decode decodes one complete block and sets s. If sink is nil, it only makes the summary.
func (d *Decoder) Decode(s *hpack.Summary, p []byte, sink hpack.Sink) error {
	*s = hpack.Summary{ContentLength: -1}
	i, err := prefix(p)
	for err == nil && i < len(p) {
		switch b := p[i]; {
		case b >= 0xc0:
			i, err = d.indexed(p, i, sink, s)
		case b < 0x20, b >= 0x80: // after the base, or dynamic (RFC 9204 4.5.2, 4.5.3, 4.5.5)
			err = ErrDynamic
		case b >= 0x40:
			i, err = d.named(p, i, sink, s)
		default:
			i, err = d.literal(p, i, sink, s)
		}
	}
	if cap(d.scratch) > scratchKept {
		d.scratch = nil
	}
	return err
}

// prefix takes the prefix of a block (RFC 9204 4.5.1). Without a dynamic table, any base is right that is not negative.
func prefix(p []byte) (i int, err error) {
	needed, i, err := hpack.ReadInt(p, 0, 0xff)
	if err != nil {
		return i, err
	}
	if i >= len(p) {
		return i, hpack.ErrTruncated
	}
	negative := p[i]&0x80 != 0
	if _, i, err = hpack.ReadInt(p, i, 0x7f); err != nil {
		return i, err
	}
	if needed != 0 || negative {
		return i, ErrDynamic
	}
	return i, nil
}

func (d *Decoder) emit(sink hpack.Sink, s *hpack.Summary, name, value []byte, j *hpack.Judgement) {
	s.Note(j)
	if sink != nil && !s.Malformed && s.Size <= d.MaxList {
		sink.Field(name, value, j.Class())
	}
}

// indexed takes a field of the static table.
func (d *Decoder) indexed(p []byte, i int, sink hpack.Sink, s *hpack.Summary) (next int, err error) {
	f, i, err := entry(p, i, 0x3f)
	if err == nil {
		d.emit(sink, s, f.name, f.value, &f.judgement)
	}
	return i, err
}

// entry reads an index of the static table.
func entry(p []byte, i int, mask byte) (f *staticField, next int, err error) {
	idx, i, err := hpack.ReadInt(p, i, mask)
	switch {
	case err != nil:
		return nil, i, err
	case idx >= uint32(len(static)):
		return nil, i, hpack.ErrIndex
	}
	return &static[idx], i, nil
}

// named takes a field whose name is in the static table (RFC 9204 4.5.4).
func (d *Decoder) named(p []byte, i int, sink hpack.Sink, s *hpack.Summary) (next int, err error) {
	if p[i]&0x10 == 0 {
		return i, ErrDynamic
	}
	f, i, err := entry(p, i, 0x0f)
	if err != nil {
		return i, err
	}
	d.scratch = d.scratch[:0]
	value, i, err := hpack.ReadString(&d.scratch, p, i, 0x7f)
	if err != nil {
		return i, err
	}
	j := f.judgement.With(len(f.name), value)
	d.emit(sink, s, f.name, value, &j)
	return i, nil
}

// literal takes a field whose name is a literal, too (RFC 9204 4.5.6).
func (d *Decoder) literal(p []byte, i int, sink hpack.Sink, s *hpack.Summary) (next int, err error) {
	d.scratch = d.scratch[:0]
	name, i, err := hpack.ReadString(&d.scratch, p, i, 1<<NameBits-1)
	if err != nil {
		return i, err
	}
	value, i, err := hpack.ReadString(&d.scratch, p, i, 0x7f)
	if err != nil {
		return i, err
	}
	j := hpack.Judge(name, value)
	d.emit(sink, s, name, value, &j)
	return i, nil
}
