package histogram

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestUnanswered(t *testing.T) {
	const s = 1_000_000
	above := runnerv1alpha1.Above
	h := New()
	h.AddUnanswered(0, 9*s)
	h.AddUnanswered(-1, 9*s)
	if got := h.Times(); got != (runnerv1alpha1.Times{}) {
		t.Errorf("nothing: %+v", got)
	}
	h.AddUnanswered(1, 2*s)
	if got, v := h.Times(), above(2*s); got != (runnerv1alpha1.Times{Count: 1, Unanswered: 1, Min: v, P50: v, P90: v, P95: v, P99: v, P999: v, Max: v}) {
		t.Errorf("one without a response: %+v", got)
	}
	h.RecordN(10, 8)
	other := New()
	other.AddUnanswered(1, 5*s)
	h.Merge(other)
	v := above(5 * s)
	want := runnerv1alpha1.Times{Count: 10, Unanswered: 2, Min: 10, Mean: 10, P50: 10, P90: v, P95: v, P99: v, P999: v, Max: v}
	if diff := cmp.Diff(want, h.Times()); diff != "" {
		t.Errorf("8 of 10 (-want +got):\n%s", diff)
	}
	if got := []int64{h.Quantile(0.8), h.Quantile(0.800001), h.Count(), h.Max()}; !cmp.Equal(got, []int64{10, v, 8, 10}) {
		t.Errorf("at 0.8, above it, count and maximum of values: %v", got)
	}
	read, err := Decode(h.Encode())
	if err != nil || !cmp.Equal(read.Times(), want) {
		t.Errorf("decoded: %v, %+v", err, read.Times())
	}
	h.Record(20 * s) // longer than the limit
	if got := h.Quantile(1); got != above(20*s) {
		t.Errorf("a value above the limit: %d, want %d", got, above(20*s))
	}
	if h.Reset(); h.Times() != (runnerv1alpha1.Times{}) {
		t.Errorf("after Reset: %+v", h.Times())
	}
	for _, wrong := range []runnerv1alpha1.Histogram{{Unanswered: -1}, {UnansweredAbove: 1}, {Unanswered: 1, UnansweredAbove: -1}, {Unanswered: maxCount + 1}} {
		if _, err := Decode(wrong); err == nil {
			t.Errorf("%+v: no error", wrong)
		}
	}
}

func TestWithout(t *testing.T) {
	all, part := New(), New()
	for _, us := range []int64{3, 5000, 5000, 90_001} {
		all.Record(us)
	}
	all.AddUnanswered(7, 1)
	if got := all.Without(part); got.Count() != 4 || got.Min() != 3 || got.Max() != 90_001 || got.Sum() != all.Sum() || got.Unanswered() != 0 {
		t.Errorf("without nothing: %+v", got.Times())
	}
	part.Record(5000)
	if got := all.Without(part); got.Count() != 3 || got.Min() != 3 || got.Max() != 90_001 || got.Sum() != 95_004 {
		t.Errorf("without one: %+v", got.Times())
	}
	part.Record(90_001) // the maximum of the others is that of a bucket
	if got := all.Without(part); got.Count() != 2 || got.Min() != 3 || got.Max() != 5003 {
		t.Errorf("without the longest: %+v", got.Times())
	}
	if _, err := Decode(all.Without(part).Encode()); err != nil {
		t.Error(err)
	}
	part.Record(1)
	if got := all.Without(part); got != nil {
		t.Errorf("without a value that it does not have: %+v", got.Times())
	}
}
