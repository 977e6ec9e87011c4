package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	var total, n Names
	for _, name := range []string{"a", "b", "a"} {
		n.Add(name, 1)
	}
	for _, name := range []string{"b", "c", "d"} {
		n.AddBytes([]byte(name), 3, "other")
	}
	n.foldInto(&total)
	if got := n.Counts(); got != nil {
		t.Errorf("after folding %v is left", got)
	}
	n.Add("a", 1)
	n.foldInto(&total)
	want := map[string]int64{"a": 3, "b": 2, "c": 1, "other": 1}
	if diff := cmp.Diff(want, total.Counts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	n.Add("e", 1)
	n.Add("a", 1)
	n.foldBounded(&total, 4, "other")
	want["a"], want["other"] = 4, 2
	if diff := cmp.Diff(want, total.Counts()); diff != "" {
		t.Errorf("bounded (-want +got):\n%s", diff)
	}
	name := []byte("c")
	if allocs := testing.AllocsPerRun(10, func() { n.AddBytes(name, 3, "other"); n.Add("a", 1) }); allocs != 0 {
		t.Errorf("counting known names makes %v allocations", allocs)
	}
}
