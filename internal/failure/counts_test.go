package failure_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

func TestCounts(t *testing.T) {
	refused := rv.Failure{Of: rv.FailureConnect, Cause: rv.CauseRefused, Address: "a:1"}
	reset := rv.Failure{Of: rv.FailureReset, Cause: rv.CauseRstStream, Detail: "CANCEL", Address: "a:1"}
	var f, total failure.Counts
	f.Add(reset)
	f.Add(refused)
	f.FoldInto(&total)
	f.Add(refused)
	f.FoldInto(&total)
	if got := f.List(); got != nil {
		t.Errorf("after folding %v is left", got)
	}
	want := []rv.FailureCount{{Failure: refused, Count: 2}, {Failure: reset, Count: 1}}
	if diff := cmp.Diff(want, total.List()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := testing.AllocsPerRun(10, func() { f.Add(refused); f.Add(reset) }); n != 0 {
		t.Errorf("counting known failures makes %v allocations", n)
	}
}

// TestCountsAreBounded: what is one too many is counted under what failed.
func TestCountsAreBounded(t *testing.T) {
	var f failure.Counts
	for i := range 2 * rv.MaxFailures {
		f.Add(rv.Failure{Of: rv.FailureConnect, Cause: rv.CauseRefused, Address: fmt.Sprint("a:", i)})
		f.Add(rv.Failure{Of: rv.FailureReset, Cause: rv.CauseRstStream, Detail: fmt.Sprint(i)})
	}
	sums := map[rv.FailureOf]int64{}
	for _, c := range f.List() {
		sums[c.Of] += c.Count
	}
	want := map[rv.FailureOf]int64{rv.FailureConnect: 2 * rv.MaxFailures, rv.FailureReset: 2 * rv.MaxFailures}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(f.List()); n > rv.MaxFailures+len(sums) {
		t.Errorf("%d different failures are kept", n)
	}
}
