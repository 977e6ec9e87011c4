package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// edges are values around each place where the layout changes.
func edges() []int64 {
	values := []int64{0, 1, 2, Highest - 1, Highest, Highest + 1, 1 << 32, 1 << 40}
	for shift := range 32 {
		values = append(values, 1<<shift-1, 1<<shift, 1<<shift+1)
	}
	return values
}

// logNormal is the shape of response times: a median of 1 ms and a long tail.
func logNormal(r *rand.Rand) int64 { return int64(1000 * math.Exp(r.NormFloat64())) }

func record(values ...int64) *H {
	h := New()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func TestBoundsInvertIndex(t *testing.T) {
	next := int64(0)
	for i := range index(Highest) + 1 {
		low, high := bounds(i)
		if low != next {
			t.Fatalf("counter %d begins at %d, the one before ended at %d", i, low, next-1)
		}
		if index(low) != i || high <= Highest && index(high) != i {
			t.Fatalf("counter %d is [%d, %d], but these have the indices %d and %d", i, low, high, index(low), index(high))
		}
		if (high-low)*1000 > low {
			t.Fatalf("counter %d is [%d, %d]: wider than 3 significant digits", i, low, high)
		}
		next = high + 1
	}
}

func TestExactFigures(t *testing.T) {
	tests := []struct {
		name                 string
		values               []int64
		count, min, max, sum int64
	}{
		{name: "empty"},
		{name: "zero", values: []int64{0}, count: 1},
		{name: "negative counts as zero", values: []int64{-5, 3}, count: 2, max: 3, sum: 3},
		{name: "one", values: []int64{7}, count: 1, min: 7, max: 7, sum: 7},
		{name: "zero after others", values: []int64{9, 0}, count: 2, min: 0, max: 9, sum: 9},
		{name: "above the range", values: []int64{Highest + 12345, 1}, count: 2, min: 1, max: Highest + 12345, sum: Highest + 12346},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := record(tt.values...)
			got := []int64{h.Count(), h.Min(), h.Max(), h.Sum()}
			want := []int64{tt.count, tt.min, tt.max, tt.sum}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("count, min, max, sum (-want +got):\n%s", diff)
			}
			n := New()
			for _, v := range tt.values {
				n.RecordN(v, 2)
				n.RecordN(v, 0)
				n.RecordN(v, -1)
			}
			got = []int64{n.Count(), n.Min(), n.Max(), n.Sum()}
			want = []int64{2 * tt.count, tt.min, tt.max, 2 * tt.sum}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("twice by RecordN (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordNSaturates(t *testing.T) {
	h := New()
	h.RecordN(Highest, math.MaxInt64/2)
	if h.Sum() != math.MaxInt64 {
		t.Errorf("sum = %d, want the greatest that fits", h.Sum())
	}
	h.Merge(h2(math.MaxInt64/2, 5))
	if h.Sum() != math.MaxInt64 || h.Count() != math.MaxInt64/2+5 {
		t.Errorf("after merge sum = %d, count = %d", h.Sum(), h.Count())
	}
}

func h2(us, n int64) *H {
	h := New()
	h.RecordN(us, n)
	return h
}

func TestMergeIsRecordingAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all, merged := New(), New()
	for range 5 {
		part := New()
		for range r.IntN(5000) {
			v := logNormal(r) << r.IntN(12)
			part.Record(v)
			all.Record(v)
		}
		merged.Merge(part)
	}
	for _, v := range edges() {
		all.Record(v)
	}
	merged.Merge(record(edges()...))
	merged.Merge(New())
	merged.Merge(nil)
	if diff := cmp.Diff(all, merged, cmp.AllowUnexported(H{})); diff != "" {
		t.Errorf("(-all +merged):\n%s", diff)
	}
}

func TestSince(t *testing.T) {
	earlier := record(5, 5, 3_000_000)
	now := record(5, 5, 3_000_000)
	for _, v := range []int64{5, 10, 2_000_000} {
		now.Record(v)
	}
	d := now.Since(earlier)
	if d.Count() != 3 || d.Sum() != 2_000_015 || d.Min() != 5 || d.Quantile(0.5) != 10 {
		t.Errorf("count %d, sum %d, min %d, median %d; want 3, 2000015, 5, 10", d.Count(), d.Sum(), d.Min(), d.Quantile(0.5))
	}
	if d.Max() < 2_000_000 || d.Max() > 2_002_000 {
		t.Errorf("max %d, want within a bucket of 2000000", d.Max())
	}
	if d := now.Since(New()); d.Count() != 6 || d.Max() != 3_000_000 && d.Max() != now.Max() {
		t.Errorf("since the beginning: %d values, max %d", d.Count(), d.Max())
	}
	if now.Since(now).Count() != 0 {
		t.Error("since itself is not empty")
	}
	if earlier.Since(now) != nil || record(8).Since(record(9_000_000)) != nil {
		t.Error("an earlier state that is none is not refused")
	}
}

func TestReset(t *testing.T) {
	h := record(edges()...)
	h.Reset()
	if h.Count() != 0 || h.Max() != 0 || h.Quantile(0.5) != 0 {
		t.Error("not empty after Reset")
	}
	h.Record(3)
	if diff := cmp.Diff(record(3).Encode(), h.Encode()); diff != "" {
		t.Errorf("something was left (-want +got):\n%s", diff)
	}
}

func TestQuantileAgainstSortedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 3, 10, 99, 100, 101, 1000, 10007} {
		values := make([]int64, n)
		for i := range values {
			values[i] = logNormal(r)
		}
		h := record(values...)
		slices.Sort(values)
		for _, q := range []float64{-1, 0, 0.001, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1, 2, math.NaN()} {
			want := values[rank(q, int64(n))-1]
			_, high := bounds(index(want))
			want = min(high, values[n-1])
			if got := h.Quantile(q); got != want {
				t.Errorf("%d values: quantile %v = %d, want %d", n, q, got, want)
			}
		}
	}
}

func TestRank(t *testing.T) {
	tests := []struct {
		q     float64
		count int64
		want  int64
	}{
		{0, 10, 1},
		{0.07, 100, 7}, // 0.07 x 100 is above 7 in floating point
		{0.5, 1, 1},
		{0.5, 2, 1},
		{0.5, 3, 2},
		{0.99, 100, 99},
		{0.99, 101, 100},
		{0.999, 1000, 999},
		{0.999, 999, 999},
		{1, 10, 10},
		{0.5, 1 << 62, 1 << 61},
		{1, math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		if got := rank(tt.q, tt.count); got != tt.want && tt.count < 1<<53 || got > tt.count || got < 1 {
			t.Errorf("rank(%v, %d) = %d, want %d", tt.q, tt.count, got, tt.want)
		}
	}
}

func TestQuantileStaysWithinExactBounds(t *testing.T) {
	h := record(5001, 5001, 5001)
	for _, q := range []float64{0, 0.5, 1} {
		if got := h.Quantile(q); got != 5001 {
			t.Errorf("quantile %v = %d, want the only value 5001", q, got)
		}
	}
	h = record(1, 2*Highest, 3*Highest)
	if got := h.Quantile(0.6); got != 3*Highest {
		t.Errorf("median above the range = %d, want the exact maximum", got)
	}
}

func TestTimes(t *testing.T) {
	h := New()
	for v := range int64(1000) {
		h.Record(v + 1)
	}
	want := runnerv1alpha1.Times{Count: 1000, Min: 1, Mean: 501, P50: 500, P90: 900, P95: 950, P99: 990, P999: 999, Max: 1000}
	if diff := cmp.Diff(want, h.Times()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(runnerv1alpha1.Times{}, New().Times()); diff != "" {
		t.Errorf("empty (-want +got):\n%s", diff)
	}
}

func TestBelow(t *testing.T) {
	h := record(0, 1, 10, 3000, 3001, 5*Highest)
	tests := []struct{ us, want int64 }{
		{0, 1}, {1, 2}, {9, 2}, {10, 3}, {2999, 3}, {3001, 5}, {Highest - 1<<21, 5}, {5 * Highest, 6},
	}
	for _, tt := range tests {
		if got := h.Below(tt.us); got != tt.want {
			t.Errorf("below %d = %d, want %d", tt.us, got, tt.want)
		}
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := record(edges()...)
	i, values := 0, edges()
	if n := testing.AllocsPerRun(1000, func() { h.Record(values[i%len(values)]); i++ }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEach(t *testing.T) {
	var got [][2]int64
	record(3001, 3001, 5, 4, 7*Highest).Each(func(highest, count int64) { got = append(got, [2]int64{highest, count}) })
	want := [][2]int64{{4, 1}, {5, 1}, {3001, 2}, {7 * Highest, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
