package loop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/runner/measure"
)

// TestSelections: each request counts in the stage of its slot, also if its response comes in the next stage.
func TestSelections(t *testing.T) {
	warm := perSecond(10, time.Second)
	warm.Name, warm.WarmUp = "warm", true
	low, high := perSecond(20, time.Second), perSecond(40, time.Second)
	low.Name, high.Name = "low", "high"
	p := gets(warm, low, high)
	p.Chains = append(p.Chains, rv.Chain{Name: "d", Weight: 1, Steps: []rv.Step{{Name: "put", Method: "PUT", Path: rv.Text{{Literal: "/"}}, Timeout: time.Second}}})
	stage := func(s string) rv.Selector { return rv.Selector{Stage: s} }
	p.Thresholds = []rv.Threshold{
		{Metric: rv.MetricResponseTime, Of: stage("low")},
		{Metric: rv.MetricResponseTime, Of: stage("high")},
		{Metric: rv.MetricResponses, Of: rv.Selector{StatusClass: 5}},
		{Metric: rv.MetricServiceTime, Of: rv.Selector{Chain: "d", Step: "put", Stage: "high"}},
		{Metric: rv.MetricTimeToFirstByte, Of: rv.Selector{Target: "t", StatusClass: 2}},
		{Metric: rv.MetricFailed, Of: rv.Selector{Chain: "c"}},
		{Metric: rv.MetricResponseTime, Of: rv.Selector{Chain: "c"}}, // follows from the steps
	}
	var outcomes [3]int
	b := newBench(t, p, func(*simRequest) reply {
		outcomes[0]++
		switch outcomes[0] % 10 {
		case 3:
			return reply{} // never
		case 5:
			return reply{Resets: true, Reset: http2.ErrCodeInternal}
		case 7:
			return reply{Status: 503, After: 200 * time.Millisecond}
		}
		return reply{Status: 200, After: 100 * time.Millisecond}
	})
	b.run()
	want := []measure.Selection{
		{SelectionCounts: rv.SelectionCounts{Sent: 20, Done: 16, Succeeded: 14, TimedOut: 2, Reset: 2, InClass: 16}},
		{SelectionCounts: rv.SelectionCounts{Sent: 40, Done: 32, Succeeded: 28, TimedOut: 4, Reset: 4, InClass: 32}},
		{SelectionCounts: rv.SelectionCounts{Sent: 60, Done: 48, Succeeded: 42, TimedOut: 6, Reset: 6, InClass: 6}},
		{SelectionCounts: rv.SelectionCounts{Sent: 20, Done: 20, Succeeded: 20, InClass: 20}}, // each second request, and those that fail are of the other chain
		{SelectionCounts: rv.SelectionCounts{Sent: 60, Done: 48, Succeeded: 42, TimedOut: 6, Reset: 6, InClass: 42}},
		{SelectionCounts: rv.SelectionCounts{Sent: 30, Done: 18, Succeeded: 12, TimedOut: 6, Reset: 6, InClass: 18}},
		{},
	}
	got := b.w.rec.Selections
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(histogram.H{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, want := range []struct{ count, least, most int64 }{{16, 100_000, 200_000}, {32, 100_000, 200_000}, {}, {20, 100_000, 100_000}, {42, 100_000, 100_000}, {}, {}} {
		h := &got[i].Time
		if h.Count() != want.count || h.Min() != want.least || h.Max() != want.most {
			t.Errorf("selection %d has %d times from %d to %d us, want %+v", i, h.Count(), h.Min(), h.Max(), want)
		}
	}
}

// TestSelectionsOfStages: without thresholds, two measured stages have figures, which add up to those of the steps.
func TestSelectionsOfStages(t *testing.T) {
	low, high := perSecond(20, time.Second), perSecond(40, time.Second)
	low.Name, high.Name = "low", "high"
	n := 0
	b := newBench(t, gets(low, high), func(*simRequest) reply {
		if n++; n%10 == 3 {
			return reply{} // never
		}
		return reply{Status: 200, After: time.Duration(n) * time.Millisecond}
	})
	total := b.run()
	want := []measure.Selection{{SelectionCounts: rv.SelectionCounts{Sent: 20, Done: 18, Succeeded: 18, TimedOut: 2, InClass: 18}}, {SelectionCounts: rv.SelectionCounts{Sent: 40, Done: 36, Succeeded: 36, TimedOut: 4, InClass: 36}}}
	got := b.w.rec.Selections
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(histogram.H{})); diff != "" || total.Sent != 60 {
		t.Errorf("%d requests sent (-want +got):\n%s", total.Sent, diff)
	}
	for i, want := range []struct{ count, least, most int64 }{{18, 1_000, 20_000}, {36, 21_000, 60_000}} {
		if h := &got[i].Time; h.Count() != want.count || h.Min() != want.least || h.Max() != want.most {
			t.Errorf("stage %d has %d times from %d to %d us, want %+v", i, h.Count(), h.Min(), h.Max(), want)
		}
	}
}

// TestOnlyMeasuredStage: its times are those of the steps, so that the worker records them once.
func TestOnlyMeasuredStage(t *testing.T) {
	warm := perSecond(10, time.Second)
	warm.WarmUp = true
	if b := newBench(t, gets(warm, perSecond(20, time.Second)), ok(0)); len(b.w.rec.Selections) != 0 {
		t.Errorf("%d selections", len(b.w.rec.Selections))
	}
}

// TestSelectionsOfDroppedSlots: a slot that no stream took counts in its stage, and in no step.
func TestSelectionsOfDroppedSlots(t *testing.T) {
	p := gets(perSecond(100, 2*time.Second))
	p.Targets[0].MaxConcurrentStreams = 1
	p.Thresholds = []rv.Threshold{
		{Metric: rv.MetricDropped, Of: rv.Selector{Stage: "r"}},
		{Metric: rv.MetricErrorRate, Of: rv.Selector{Chain: "c"}},
	}
	b := newBench(t, p, func(*simRequest) reply { return reply{Status: 200, After: time.Second - time.Millisecond} })
	total := b.run()
	if got := b.w.rec.Selections; got[0].Dropped != total.Dropped || total.Dropped == 0 || got[1].Dropped != 0 {
		t.Errorf("%d slots were dropped, the stage has %d of them, the chain %d", total.Dropped, got[0].Dropped, got[1].Dropped)
	}
}
