package build

import (
	"bytes"
	"encoding/binary"

	"github.com/h2surge/h2surge/internal/histogram"
)

// spectrum is a distribution as its buckets that are not empty, in ascending order. Each bucket is two varints:
// the difference between its highest value and that of the bucket before, and its count. A bucket takes 2 to 5
// bytes, a page of a histogram 8 KiB. A spectrum is never changed, so that windows may share one.
type spectrum []byte

// bucket counts the values that are at most highest and above the highest value of the bucket before.
type bucket struct{ highest, count int64 }

// spectrumOf has the buckets of a histogram.
func spectrumOf(h *histogram.H) spectrum {
	var p packer
	h.Each(func(highest, count int64) { p.add(bucket{highest, count}) })
	return p.spectrum()
}

// joined is the sum of two distributions.
func joined(a, b spectrum) spectrum {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	var out packer
	x, y := a.first(), b.first()
	for x.more || y.more {
		switch {
		case !y.more || x.more && x.highest < y.highest:
			out.add(x.bucket)
			x.next()
		case !x.more || y.highest < x.highest:
			out.add(y.bucket)
			y.next()
		default:
			out.add(bucket{x.highest, x.count + y.count})
			x.next()
			y.next()
		}
	}
	return out.spectrum()
}

func (s spectrum) histogram() *histogram.H {
	h := histogram.New()
	for c := s.first(); c.more; c.next() {
		h.RecordN(c.highest, c.count)
	}
	return h
}

// packer writes a spectrum.
type packer struct {
	packed  []byte
	highest int64
}

// add appends a bucket above all before.
func (p *packer) add(b bucket) {
	p.packed = binary.AppendUvarint(p.packed, uint64(b.highest-p.highest))
	p.packed = binary.AppendUvarint(p.packed, uint64(b.count))
	p.highest = b.highest
}

// spectrum returns what was added, without spare capacity.
func (p *packer) spectrum() spectrum { return bytes.Clone(p.packed) }

// cursor is at a bucket of a spectrum; more is false behind the last one.
type cursor struct {
	bucket
	more bool
	rest spectrum
}

func (s spectrum) first() cursor {
	c := cursor{rest: s}
	c.next()
	return c
}

func (c *cursor) next() {
	if c.more = len(c.rest) > 0; !c.more {
		return
	}
	above, n := binary.Uvarint(c.rest)
	count, m := binary.Uvarint(c.rest[n:])
	c.bucket, c.rest = bucket{c.highest + int64(above), int64(count)}, c.rest[n+m:]
}
