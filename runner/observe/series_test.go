package observe

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// labelled is a value of a series with a label and without a metric.
func labelled(label string, v float64) value { return value{seriesID{label: label}, v} }

// TestOthers: series above the bound are summed up.
func TestOthers(t *testing.T) {
	var r record
	var values []value
	for i := range rv.MaxSeries + 3 {
		values = append(values, labelled(fmt.Sprintf("pod=%02d", i), float64(i)))
	}
	r.add(0, false, values)
	r.add(1000, false, []value{labelled("pod=00", 7), labelled("pod=99", 5)})
	got := r.samples()
	if len(got.Series) != rv.MaxSeries+1 || got.Others != 3 {
		t.Fatalf("%d series, %d others", len(got.Series), got.Others)
	}
	want := rv.SeriesSamples{Label: rv.SeriesOthers, Points: []rv.Point{{At: 0, Mean: 16 + 17 + 18, Max: 51, Samples: 1}, {At: 1000, Mean: 5, Max: 5, Samples: 1}}}
	if diff := cmp.Diff(want, got.Series[rv.MaxSeries]); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]rv.Point{{At: 0, Samples: 1}, {At: 1000, Mean: 7, Max: 7, Samples: 1}}, got.Series[0].Points); diff != "" {
		t.Errorf("first series (-want +got):\n%s", diff)
	}
}

// TestJoin: samples that are joined keep their number, mean and maximum.
func TestJoin(t *testing.T) {
	var r record
	for i := range 9 {
		r.add(int64(i), false, []value{{value: float64(i)}})
	}
	r.join(4)
	want := []rv.Point{{At: 3, Mean: 1.5, Max: 3, Samples: 4}, {At: 7, Mean: 5.5, Max: 7, Samples: 4}, {At: 8, Mean: 8, Max: 8, Samples: 1}}
	if diff := cmp.Diff(want, r.samples().Series[0].Points); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// TestJoinSuspended: a point with samples under load has none that was read while the load was suspended.
func TestJoinSuspended(t *testing.T) {
	var r record
	for i, load := range "LSSLSSLL" {
		r.add(int64(i), load == 'S', []value{{value: float64(i)}})
	}
	r.join(4)
	want := []rv.Point{{At: 0, Samples: 1}, {At: 3, Mean: 3, Max: 3, Samples: 1}, {At: 5, Mean: 4.5, Max: 5, Samples: 2, Suspended: true},
		{At: 7, Mean: 6.5, Max: 7, Samples: 2}}
	if diff := cmp.Diff(want, r.samples().Series[0].Points); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// TestGaps: failures after each other with one cause are one gap, and the last gap contains the rest.
func TestGaps(t *testing.T) {
	var r record
	r.fail(1, "a")
	r.fail(2, "a")
	r.fail(3, "b")
	r.add(4, false, []value{{value: math.NaN()}})
	r.add(5, false, []value{{value: 1}, labelled("x", math.Inf(1))})
	r.fail(6, "the value is not a number")
	want := []rv.ObservationGap{{From: 1, To: 2, Cause: "a", Reads: 2}, {From: 3, To: 3, Cause: "b", Reads: 1},
		{From: 4, To: 4, Cause: "the value is not a number", Reads: 1}, {From: 6, To: 6, Cause: "the value is not a number", Reads: 1}}
	if diff := cmp.Diff(want, r.samples().Gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	for i := range 2 * rv.MaxGaps {
		r.fail(int64(10+i), fmt.Sprint(i))
	}
	gaps := r.samples().Gaps
	if last := gaps[len(gaps)-1]; len(gaps) != rv.MaxGaps || last.To != 10+2*rv.MaxGaps-1 || last.Reads != 2*rv.MaxGaps-11 {
		t.Errorf("%d gaps, the last is %+v", len(gaps), last)
	}
}

// TestLabels: labels that differ remain different when they are cut, and those of two runners are the same.
func TestLabels(t *testing.T) {
	long := "id=/kubepods/" + strings.Repeat("x", rv.MaxSeriesLabel)
	labels := []string{"pod=a", "pod=" + strings.Repeat("a", rv.MaxSeriesLabel-4), long + ",pod=a", long + ",pod=b", "pod=a\n", "pod=a\r"}
	read := func(labels []string) (out []string) {
		var r record
		for _, l := range labels {
			r.add(0, false, []value{labelled(l, 1)})
		}
		for _, s := range r.samples().Series {
			out = append(out, s.Label)
		}
		return out
	}
	got := read(labels)
	if diff := cmp.Diff(labels[:2], got[:2]); diff != "" {
		t.Errorf("labels that fit (-want +got):\n%s", diff)
	}
	seen := map[string]bool{}
	for i, l := range got {
		if seen[l] || len(l) > rv.MaxSeriesLabel || clean(l, rv.MaxSeriesLabel) != l || i >= 2 && l == labels[i] {
			t.Errorf("%q becomes %q, of %d bytes, in %q", labels[i], l, len(l), got)
		}
		seen[l] = true
	}
	if other := read(labels[3:4]); other[0] != got[3] {
		t.Errorf("another runner has %q, want %q", other[0], got[3])
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{"a\nb\x00c": "a b c", "\xff": "?", strings.Repeat("é", 9): "éé..."} {
		if got := clean(text, 8); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
