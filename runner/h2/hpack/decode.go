package hpack

import "errors"

// Errors of Decode. All mean COMPRESSION_ERROR to a connection (RFC 9113 4.3):
// the table can no longer be trusted.
var (
	ErrTruncated = errors.New("hpack: the block ends inside a field")
	ErrInteger   = errors.New("hpack: an integer is too large")
	ErrIndex     = errors.New("hpack: no entry has this index")
	ErrHuffman   = errors.New("hpack: bad Huffman coding")
	ErrTableSize = errors.New("hpack: table size update above the limit, out of place, or missing")
)

// Sink takes the fields of a block, pseudo-header fields too, in their order.
// name and value are valid during the call. No field comes after the first
// which makes the message malformed, and none above the header list limit.
type Sink interface {
	Field(name, value []byte, class Class)
}

// PseudoSet is a set of pseudo-header fields, a bit for each class.
type PseudoSet uint16

// Bit is the set of one class, which must be a pseudo-header field's.
func (c Class) Bit() PseudoSet { return 1 << (c - Status) }

// Summary is what a header block says about its message.
type Summary struct {
	Status        int       // 0: none
	ContentLength int64     // -1: none
	Size          uint64    // of the header list, in octets (RFC 9113 6.5.2)
	Pseudo        PseudoSet // the pseudo-header fields seen
	// Malformed: a field is (Class Malformed), a pseudo-header field comes twice
	// or after a regular one (RFC 9113 8.3), or two content-lengths differ.
	Malformed bool
	regular   bool
}

// Note adds a field to the summary.
func (s *Summary) Note(j *Judgement) {
	s.Size += uint64(j.size)
	if j.class == Regular { // so that this much is inlined
		s.regular = true
		return
	}
	s.noteMeaning(j)
}

func (s *Summary) noteMeaning(j *Judgement) {
	switch {
	case j.class.Pseudo():
		s.notePseudo(j.class, j.num)
	case j.class == ContentLength:
		s.regular = true
		if s.ContentLength >= 0 && s.ContentLength != j.num {
			s.Malformed = true
		}
		s.ContentLength = j.num
	default:
		s.Malformed = true
	}
}

func (s *Summary) notePseudo(class Class, num int64) {
	bit := class.Bit()
	if s.regular || s.Pseudo&bit != 0 {
		s.Malformed = true
	}
	s.Pseudo |= bit
	if class == Status {
		s.Status = int(num)
	}
}

// DefaultTableSize is the table's size until SETTINGS say otherwise, in octets
// (RFC 9113 6.5.2).
const DefaultTableSize = 4096

// scratchKept is the scratch that outlives a block, in octets.
const scratchKept = 4096

// Decoder decodes the header blocks of one direction of one connection, from
// Init on. It belongs to one goroutine.
type Decoder struct {
	dyn        table
	scratch    []byte // Huffman coded strings of the current field, decoded
	limit      uint32 // what the peer may set the table to
	owesUpdate bool   // the next block must begin with a size update
	maxList    uint64
	last       decoded
}

// decoded is a block that has not changed the table, and its summary. It is valid for one version of the table: an
// equal block then has the same fields. Most responses of a server are such blocks.
type decoded struct {
	block   [64]byte
	n       int // octets of block; 0: none
	version uint64
	sum     Summary
}

// keep stores a block and its summary, unless the block is too long.
func (l *decoded) keep(p []byte, version uint64, s *Summary) {
	if l.n = 0; len(p) <= len(l.block) {
		l.n, l.version, l.sum = copy(l.block[:], p), version, *s
	}
}

// Init makes the decoder one whose table may take the default 4096 octets.
// Fields beyond maxList octets of header list are kept from the sink.
func (d *Decoder) Init(maxList uint32) {
	*d = Decoder{limit: DefaultTableSize, maxList: uint64(maxList)}
	d.dyn.max = DefaultTableSize
}

// Limit applies a SETTINGS_HEADER_TABLE_SIZE of ours, to be called when the
// peer has acknowledged it: if it is below the size in use, the next block must
// begin with a size update (RFC 9113 4.3.1).
func (d *Decoder) Limit(size uint32) {
	d.limit = size
	d.owesUpdate = size < d.dyn.max
}

// Decode decodes one complete block and sets s. If sink is nil, it only updates the table and makes the summary. It
// does not return a Summary, because a copy of one would wait for the stores of its narrow fields.
func (d *Decoder) Decode(s *Summary, p []byte, sink Sink) error {
	version := d.dyn.version
	if l := &d.last; sink == nil && len(p) == l.n && l.n > 0 && l.version == version && !d.owesUpdate &&
		string(l.block[:l.n]) == string(p) {
		*s = l.sum
		return nil
	}
	*s = Summary{ContentLength: -1}
	i, err := d.sizeUpdates(p)
	for err == nil && i < len(p) {
		switch b := p[i]; {
		case b >= 0x80 && b < 0xff && sink == nil:
			i, err = d.skipIndexed(p, i, s)
		case b >= 0x80:
			i, err = d.indexed(p, i, sink, s)
		case b >= 0x40:
			i, err = d.literal(p, i, 0x3f, true, sink, s)
		case b >= 0x20:
			err = ErrTableSize // not at the beginning (RFC 7541 4.2)
		default:
			i, err = d.literal(p, i, 0x0f, false, sink, s)
		}
	}
	if cap(d.scratch) > scratchKept {
		d.scratch = nil
	}
	if err == nil && sink == nil && d.dyn.version == version {
		d.last.keep(p, version, s)
	}
	return err
}

// sizeUpdates takes the size updates a block begins with (RFC 7541 4.2).
func (d *Decoder) sizeUpdates(p []byte) (i int, err error) {
	for i < len(p) && p[i]&0xe0 == 0x20 {
		var size uint32
		if size, i, err = ReadInt(p, i, 0x1f); err != nil {
			return i, err
		}
		if size > d.limit {
			return i, ErrTableSize
		}
		d.dyn.resize(size)
		d.owesUpdate = false
	}
	if d.owesUpdate {
		return i, ErrTableSize
	}
	return i, nil
}

// skipIndexed takes all fields in a row that are indices (RFC 7541 6.1) and that
// no step uses. Whole responses are such a row. The table does not change
// meanwhile, so what each field needs is in local variables.
func (d *Decoder) skipIndexed(p []byte, i int, s *Summary) (next int, err error) {
	ring, newest, count := d.dyn.ring, d.dyn.next-1, d.dyn.count
	size, regular := s.Size, s.regular
	for ; i < len(p) && p[i] >= 0x80 && p[i] < 0xff; i++ {
		idx := uint32(p[i] & 0x7f)
		j := &staticJudged[idx&63]
		if at := idx - staticCount - 1; at < count {
			j = &ring[(newest-at)&uint32(len(ring)-1)].Judgement
		} else if idx-1 >= staticCount {
			err = ErrIndex
			break
		}
		size += uint64(j.size)
		if j.class == Regular {
			regular = true
			continue
		}
		s.regular = regular
		s.noteMeaning(j)
		regular = s.regular
	}
	s.Size, s.regular = size, regular
	return i, err
}

// indexed takes one field by its index.
func (d *Decoder) indexed(p []byte, i int, sink Sink, s *Summary) (next int, err error) {
	idx, i, err := ReadInt(p, i, 0x7f)
	switch {
	case err != nil:
		return i, err
	case idx == 0:
		return i, ErrIndex
	case idx <= staticCount:
		j, f := &staticJudged[idx&63], &static[idx&63]
		s.Note(j)
		if sink != nil {
			d.emit(sink, s, f.name, f.value, j.class)
		}
		return i, nil
	}
	e := d.dyn.at(idx - staticCount - 1)
	if e == nil {
		return i, ErrIndex
	}
	s.Note(&e.Judgement)
	if sink != nil {
		d.emit(sink, s, d.dyn.name(e), d.dyn.value(e), e.class)
	}
	return i, nil
}

func (d *Decoder) emit(sink Sink, s *Summary, name, value []byte, class Class) {
	if !s.Malformed && s.Size <= d.maxList {
		sink.Field(name, value, class)
	}
}

// literal is a field with a literal value (RFC 7541 6.2).
func (d *Decoder) literal(p []byte, i int, mask byte, insert bool, sink Sink, s *Summary) (int, error) {
	d.scratch = d.scratch[:0]
	name, nameAt, kind, i, err := d.literalName(p, i, mask)
	if err != nil {
		return i, err
	}
	value, i, err := ReadString(&d.scratch, p, i, 0x7f)
	if err != nil {
		return i, err
	}
	j := judgeValue(kind, len(name), value)
	s.Note(&j)
	if sink != nil {
		d.emit(sink, s, name, value, j.class)
	}
	if insert {
		d.dyn.insert(name, nameAt, value, j)
	}
	return i, nil
}

// literalName reads the name of a literal field; nameAt is its place in the
// dynamic table, or -1.
func (d *Decoder) literalName(p []byte, i int, mask byte) (name []byte, nameAt int, kind Class, next int, err error) {
	idx, i, err := ReadInt(p, i, mask)
	switch {
	case err != nil:
		return nil, -1, 0, i, err
	case idx == 0:
		if name, i, err = ReadString(&d.scratch, p, i, 0x7f); err != nil {
			return nil, -1, 0, i, err
		}
		return name, -1, classOfName(name), i, nil
	case idx <= staticCount:
		return static[idx&63].name, -1, staticJudged[idx&63].kind, i, nil
	}
	e := d.dyn.at(idx - staticCount - 1)
	if e == nil {
		return nil, -1, 0, i, ErrIndex
	}
	return d.dyn.name(e), int(idx - staticCount - 1), e.kind, i, nil
}

// ReadString reads a string literal at p[i]: a part of p, or of scratch when it was
// Huffman coded. The prefix of its length has the bits of mask, and the bit above them
// says whether it is coded (RFC 7541 5.2, RFC 9204 4.1.2).
func ReadString(scratch *[]byte, p []byte, i int, mask byte) (s []byte, next int, err error) {
	if i >= len(p) {
		return nil, i, ErrTruncated
	}
	coded := p[i]&(mask+1) != 0
	n, i, err := ReadInt(p, i, mask)
	if err != nil {
		return nil, i, err
	}
	if uint64(n) > uint64(len(p)-i) {
		return nil, i, ErrTruncated
	}
	raw := p[i : i+int(n)]
	i += int(n)
	if !coded {
		return raw, i, nil
	}
	from := len(*scratch)
	*scratch, err = AppendHuffman(*scratch, raw)
	return (*scratch)[from:], i, err
}

// ReadInt reads an integer at p[i], whose prefix is the bits of mask (RFC 7541 5.1). No
// size or index we could accept is above 32 bits, so five more octets are the
// most that is read.
func ReadInt(p []byte, i int, mask byte) (v uint32, next int, err error) {
	if i >= len(p) {
		return 0, i, ErrTruncated
	}
	if b := p[i] & mask; b < mask {
		return uint32(b), i + 1, nil
	}
	n := uint64(mask)
	for shift := 0; shift <= 28; shift += 7 {
		if i++; i >= len(p) {
			return 0, i, ErrTruncated
		}
		n += uint64(p[i]&0x7f) << shift
		if p[i] < 0x80 {
			if n > 1<<32-1 {
				return 0, i, ErrInteger
			}
			return uint32(n), i + 1, nil
		}
	}
	return 0, i, ErrInteger
}
