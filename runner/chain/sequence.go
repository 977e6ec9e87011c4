package chain

import (
	"fmt"
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Sequence is the values of a variable by index.
type Sequence struct {
	list        []string
	start, step int64
	width       int
	size        int64
}

func newSequence(v *rv.Variable) (Sequence, error) {
	if v.Range == nil {
		if len(v.List) == 0 {
			return Sequence{}, fmt.Errorf("neither range nor list")
		}
		return Sequence{list: v.List, size: int64(len(v.List))}, nil
	}
	r := v.Range
	if r.Step < 1 || r.End <= r.Start || r.Start < 0 || r.Width < 0 || r.Width > 19 {
		return Sequence{}, fmt.Errorf("range: %+v is empty or out of bounds", *r)
	}
	return Sequence{start: r.Start, step: r.Step, width: r.Width, size: v.Size()}, nil
}

// append appends value i, 0 <= i < size.
func (s *Sequence) append(dst []byte, i int64) []byte {
	if s.list != nil {
		return append(dst, s.list[i]...)
	}
	v := s.start + i*s.step
	if s.width == 0 {
		return strconv.AppendInt(dst, v, 10)
	}
	return appendPadded(dst, v, s.width)
}

// appendPadded appends v in at least width decimal digits.
func appendPadded(dst []byte, v int64, width int) []byte {
	var digits [20]byte
	i := len(digits)
	for v > 0 || len(digits)-i < width {
		i--
		digits[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, digits[i:]...)
}

// Cursor walks over the part of a sequence that one worker owns, and begins again at its end.
type Cursor struct {
	spans []rv.Span
	span  int
	next  int64
}

// NewCursor starts at the first value. Without spans the cursor has no value to give, and the
// owner must not call Next.
func NewCursor(spans []rv.Span) Cursor {
	c := Cursor{}
	for _, s := range spans {
		if s.To > s.From {
			c.spans = append(c.spans, s)
		}
	}
	if len(c.spans) > 0 {
		c.next = c.spans[0].From
	}
	return c
}

// Empty says that no value is owned.
func (c *Cursor) Empty() bool { return len(c.spans) == 0 }

// Next returns the index of the next value.
func (c *Cursor) Next() int64 {
	v := c.next
	c.next++
	if c.next >= c.spans[c.span].To {
		c.span++
		if c.span == len(c.spans) {
			c.span = 0
		}
		c.next = c.spans[c.span].From
	}
	return v
}
