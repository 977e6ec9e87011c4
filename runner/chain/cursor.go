package chain

import (
	"math/bits"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// cursor walks over the spans of a sequence that one worker owns. After the last value it restarts with the first.
type cursor struct {
	spans []rv.Span
	span  int
	next  int64
	// wrapped: every value was returned once.
	wrapped bool
}

// newCursor starts at the first value. Without spans the cursor is empty.
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

// empty reports whether the cursor has no values.
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

// setSpans replaces the spans. If they are the same and the cursor is not fresh, it continues at its position.
// Otherwise it skips the first drawn values, because another worker had these spans and drew at most so many. fresh:
// nothing was drawn from this cursor.
func (c *cursor) setSpans(spans []rv.Span, drawn int64, fresh bool) {
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
	n.leaveOut(drawn % split.Values(n.spans))
	*c = n
}

// leaveOut skips values, fewer than the cursor has.
func (c *cursor) leaveOut(values int64) {
	for size := c.spans[c.span].To - c.next; values >= size; size = c.spans[c.span].To - c.next {
		values -= size
		c.span++
		c.next = c.spans[c.span].From
	}
	c.next += values
}

// rowsOf converts spans of rv.Parts to spans of rows. Adjacent spans have the same rounded end, so spans that cover
// each part once cover each row once.
func rowsOf(spans []rv.Span, rows int64) []rv.Span {
	var out []rv.Span
	for _, s := range spans {
		if from, to := rowAt(s.From, rows), rowAt(s.To, rows); from < to {
			out = append(out, rv.Span{From: from, To: to})
		}
	}
	return out
}

// rowAt returns rows*part/rv.Parts. The product can have more than 64 bits.
func rowAt(part, rows int64) int64 {
	high, low := bits.Mul64(uint64(part), uint64(rows))
	q, _ := bits.Div64(high, low, rv.Parts)
	return int64(q)
}
