//go:build !race

package netio

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestReadyStreamsDoNotAllocate if there are more than one turn takes.
func TestReadyStreamsDoNotAllocate(t *testing.T) {
	n, _ := WithStreams(NewPlain(rv.Clock))
	for i := range int32(20) {
		p, _ := adoptPipe(t, n, i)
		p.change(func() { p.in = "x" })
	}
	streams, out := n.(*streamsNet), make([]Event, 8) //nolint:errcheck,forcetypeassert // see WithStreams
	turns := func() {
		for range 100 {
			if got := streams.ready(out, false); got != len(out) {
				t.Fatalf("%d events", got)
			}
		}
	}
	if k := testing.AllocsPerRun(10, turns); k != 0 {
		t.Errorf("%v allocations in 100 turns, want 0", k)
	}
}
