//go:build !race

package tally

import (
	"fmt"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/message"
)

// TestProblemsAllocateNothing: problem details of a kind that was counted before cost no memory, and neither do those
// above the limit.
func TestProblemsAllocateNothing(t *testing.T) {
	rec := New(oneStep(), []rv.Rate{{Name: "r"}}, nil)
	for i := range 2 * rv.MaxCauses {
		rec.Problem(&book.Request{Status: 500},
			&message.Exchange{Response: &message.Message{Body: fmt.Appendf(nil, `{"cause":"C%d"}`, i)}})
	}
	for _, body := range []string{
		`{"cause":"C1"}`, `{"cause":"ABOVE_THE_LIMIT"}`, `{"title":"Service \u0055navailable","status":503}`,
		`{"status":503}`, `{"detail":"none"}`,
	} {
		x := message.Exchange{Response: &message.Message{Body: []byte(body)}}
		r := book.Request{Status: 500}
		rec.Problem(&r, &x)
		if n := testing.AllocsPerRun(100, func() { rec.Problem(&r, &x) }); n != 0 {
			t.Errorf("%s: %v allocations", body, n)
		}
	}
}
