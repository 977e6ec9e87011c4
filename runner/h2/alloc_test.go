//go:build !race

package h2

import "testing"

// TestClientDoesNotAllocate at steady state: requests, responses, bodies, fields
// captured, and a frame cut by the end of a read.
func TestClientDoesNotAllocate(t *testing.T) {
	for _, e := range exchanges {
		t.Run(e.name, func(t *testing.T) {
			x := newExchange(e.body, e.want, e.answer)
			cut := newExchange(e.body, e.want, e.answer)
			cut.piece = 101
			for _, x := range []*exchange{x, cut} {
				x.run()
				x.run()
				done := x.h.done
				if n := testing.AllocsPerRun(100, x.run); n != 0 {
					t.Errorf("%v allocations for %d requests, want 0", n, batch)
				}
				if got := x.h.done - done; got != 101*batch {
					t.Errorf("%d responses, want %d", got, 101*batch)
				}
			}
		})
	}
}
