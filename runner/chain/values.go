package chain

import (
	"fmt"
	"math/bits"
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
)

// values formats drawn values. An instance keeps a drawn value as a number; only values knows what the number means.
// All workers share it, and it does not change.
type values interface {
	// Append appends the value of the number v. column is the column of a table, from 0; other values ignore it.
	Append(dst []byte, v int64, column int) []byte
	// Plain reports whether no value has an octet that is not allowed in a request target or field value.
	Plain() bool
}

// columnar are values with columns.
type columnar interface {
	Columns() []string
}

// numbers are start + v*step.
type numbers struct {
	start, step int64
	width       int
	hex         bool
}

func newRange(r *rv.Range) (*numbers, error) {
	if r.Step < 1 || r.End <= r.Start || r.Width > maxWidth {
		return nil, rv.InField("range", fmt.Errorf("%+v is empty or out of range", *r))
	}
	return &numbers{start: r.Start, step: r.Step, width: r.Width, hex: r.Hex}, nil
}

// maxWidth is the number of digits of the largest int64.
const maxWidth = 19

func (s *numbers) Plain() bool { return true }

func (s *numbers) Append(dst []byte, v int64, _ int) []byte {
	v = s.start + v*s.step
	switch {
	case s.hex:
		return octet.AppendHex(dst, uint64(v), max(s.width, (bits.Len64(uint64(v)|1)+3)/4))
	case s.width == 0:
		return strconv.AppendInt(dst, v, 10)
	}
	return octet.AppendDecimal(dst, v, s.width)
}

// list has values by index.
type list struct {
	items []string
	safe  bool
}

func newList(items []string) *list {
	l := &list{items: items, safe: true}
	for _, s := range items {
		l.safe = l.safe && isPlain([]byte(s))
	}
	return l
}

func (l *list) Plain() bool { return l.safe }

func (l *list) Append(dst []byte, v int64, _ int) []byte { return append(dst, l.items[v]...) }
