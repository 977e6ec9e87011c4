package chain

import (
	"math/bits"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/shard"
)

// cursor walks over the part of a sequence that one worker owns, and begins again at its end.
type cursor struct {
	spans []rv.Span
	span  int
	next  int64
	// wrapped: every value has been given once.
	wrapped bool
}

// newCursor starts at the first value. Without spans the cursor is empty and has no value to give.
func newCursor(spans []rv.Span) cursor {
	c := cursor{}
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

// empty says that no value is owned.
func (c *cursor) empty() bool { return len(c.spans) == 0 }

// pull returns the index of the next value.
func (c *cursor) pull() int64 {
	v := c.next
	c.next++
	if c.next >= c.spans[c.span].To {
		c.span++
		if c.span == len(c.spans) {
			c.span, c.wrapped = 0, true
		}
		c.next = c.spans[c.span].From
	}
	return v
}

// deal gives the cursor other spans. It goes on where it is if that is still its own. Else, and when it is
// fresh, which is that nothing was drawn of it, it leaves out the first values: somebody else has had these
// spans, or parts of them, and has drawn that many at most.
func (c *cursor) deal(spans []rv.Span, drawn int64, fresh bool) {
	n := newCursor(spans)
	if n.empty() || !fresh && slices.Equal(n.spans, c.spans) {
		return
	}
	for i, s := range n.spans {
		if !fresh && s.From <= c.next && c.next < s.To {
			n.span, n.next = i, c.next
			*c = n
			return
		}
	}
	n.leaveOut(drawn % shard.Values(n.spans))
	*c = n
}

// leaveOut goes on behind so many values, fewer than there are.
func (c *cursor) leaveOut(values int64) {
	for size := c.spans[c.span].To - c.next; values >= size; size = c.spans[c.span].To - c.next {
		values -= size
		c.span++
		c.next = c.spans[c.span].From
	}
	c.next += values
}

// rowsOf turns spans of rv.Parts into spans of rows. Since both ends of a span are rounded the same way
// as the ends of those next to it, spans that cover all parts once cover all rows once.
func rowsOf(spans []rv.Span, rows int64) []rv.Span {
	var out []rv.Span
	for _, s := range spans {
		if from, to := rowAt(s.From, rows), rowAt(s.To, rows); from < to {
			out = append(out, rv.Span{From: from, To: to})
		}
	}
	return out
}

// rowAt is rows*part/rv.Parts; the product may have more than 64 bits.
func rowAt(part, rows int64) int64 {
	high, low := bits.Mul64(uint64(part), uint64(rows))
	q, _ := bits.Div64(high, low, rv.Parts)
	return int64(q)
}
