package verdict

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// climbs is a run of a second at 100, and of a ramp from 100 to 1100 in ten windows of a second. The response time is 10 ms, and 30 ms in the
// windows from slow on. In the windows from failing on, one request in ten fails a check, and the last one times out.
func climbs(slow, failing int) *run {
	r := good()
	low := int64(100)
	r.plan.Rates = append(r.plan.Rates, runnerv1alpha1.Rate{Name: "climb", Count: 1100, RampFrom: &low, Period: time.Second, Duration: 10 * time.Second})
	r.plan.Thresholds = nil
	window := func(i int, stage string, asked float64) *runnerv1alpha1.Window {
		r.report.Windows = append(r.report.Windows, runnerv1alpha1.Window{From: int64(i) * 1000, To: int64(i+1) * 1000, Stage: stage, Asked: asked, Sent: int64(asked)})
		return &r.report.Windows[i]
	}
	answered := func(w *runnerv1alpha1.Window, us int64) {
		h := histogram.New()
		w.Succeeded = w.Sent
		if i := len(r.report.Windows) - 1; i >= failing {
			w.FailedChecks, w.TimedOut = w.Sent/10, 1
			w.Succeeded -= w.FailedChecks + w.TimedOut
		}
		h.RecordN(us, w.Sent-w.TimedOut)
		h.AddUnanswered(w.TimedOut, 1_000_000)
		w.Histogram = h.Encode()
	}
	answered(window(0, "hold", 100), 30_000)
	for i := 1; i <= 10; i++ {
		us := int64(10_000)
		if i >= slow {
			us = 30_000
		}
		answered(window(i, "climb", float64(50+100*i)), us)
	}
	answered(window(11, "climb", 11), 30_000) // the stage ended in it
	return r
}

func TestRamps(t *testing.T) {
	on := func(m runnerv1alpha1.Metric, percentile, most string) runnerv1alpha1.Threshold {
		return runnerv1alpha1.Threshold{Name: "t", Metric: m, Percentile: percentile, Max: most}
	}
	p99 := on(runnerv1alpha1.MetricResponseTime, "p99", "20ms")
	of := func(t runnerv1alpha1.Threshold, of runnerv1alpha1.Selector) runnerv1alpha1.Threshold {
		t.Of = of
		return t
	}
	window := func(t runnerv1alpha1.Threshold, d time.Duration) runnerv1alpha1.Threshold {
		t.Window = d
		return t
	}
	least := p99
	least.Max, least.Min = "", "20ms"
	at := func(i, failed, windows int, observed string) *runnerv1alpha1.RampBreak {
		return &runnerv1alpha1.RampBreak{
			Stage: "climb", Asked: float64(50 + 100*i), From: int64(i) * 1000, To: int64(i+1) * 1000, Observed: observed, Failed: failed, Windows: windows,
		}
	}
	own := at(7, 0, 0, "")
	never := 99
	for name, tt := range map[string]struct {
		threshold     runnerv1alpha1.Threshold
		slow, failing int
		seen          Observation
		change        func(*run)
		want          *runnerv1alpha1.RampBreak
	}{
		"never":                               {threshold: p99, slow: never, failing: never},
		"at 650 per second":                   {threshold: p99, slow: 6, failing: never, want: at(6, 5, 9, "30ms")},
		"the first window is that of another": {threshold: p99, slow: 1, failing: never, want: at(2, 9, 9, "30ms")},
		"its own stage":                       {threshold: of(p99, runnerv1alpha1.Selector{Stage: "climb"}), slow: 6, failing: never, want: at(6, 5, 9, "30ms")},
		"another stage":                       {threshold: of(p99, runnerv1alpha1.Selector{Stage: "hold"}), slow: 6, failing: never},
		"a step":                              {threshold: of(p99, runnerv1alpha1.Selector{Chain: "c", Step: "s"}), slow: 6, failing: never},
		"a minimum":                           {threshold: least, slow: 6, failing: never},
		"another time":                        {threshold: on(runnerv1alpha1.MetricServiceTime, "p99", "20ms"), slow: 6, failing: never},
		"too few requests":                    {threshold: on(runnerv1alpha1.MetricResponseTime, "p99.9", "20ms"), slow: 6, failing: never, want: at(10, 1, 1, "30ms")},
		"the longest time":                    {threshold: on(runnerv1alpha1.MetricResponseTime, "p100", "20ms"), slow: 6, failing: never, want: at(6, 5, 9, "30ms")},
		"windows of three seconds":            {threshold: window(p99, 3*time.Second), seen: Observation{After: 7500 * time.Millisecond}, slow: never, failing: never, want: own},
		"windows that passed":                 {threshold: window(p99, 3*time.Second), seen: Observation{Passed: true, After: 7500 * time.Millisecond}, slow: 6, failing: never},
		"windows of a step":                   {threshold: window(of(p99, runnerv1alpha1.Selector{Chain: "c"}), 3*time.Second), seen: Observation{After: 8 * time.Second}, slow: 6, failing: never, want: own},
		"windows of another stage":            {threshold: window(p99, 3*time.Second), seen: Observation{After: time.Second}, slow: 6, failing: never},
		"no response":                         {threshold: on(runnerv1alpha1.MetricResponseTime, "p100", "20ms"), slow: never, failing: 8, want: at(8, 3, 9, "> 1s")},
		"errors":                              {threshold: on(runnerv1alpha1.MetricErrorRate, "", "5%"), slow: never, failing: 8, want: at(8, 3, 9, "10.1176%")},
		"failed checks in a second":           {threshold: on(runnerv1alpha1.MetricFailedChecks, "", "80/s"), slow: never, failing: 7, want: at(8, 3, 9, "85/s")},
		"failed checks of the run":            {threshold: on(runnerv1alpha1.MetricFailedChecks, "", "1"), slow: never, failing: 7},
		"windows without histograms": {threshold: p99, slow: 6, failing: never, change: func(r *run) {
			for i := range r.report.Windows {
				r.report.Windows[i].Histogram = runnerv1alpha1.Histogram{}
			}
		}},
		"a rate that falls": {threshold: p99, slow: 6, failing: never, change: func(r *run) {
			high := int64(2000)
			r.plan.Rates[1].RampFrom = &high
		}},
		"a rate that does not change": {threshold: p99, slow: 6, failing: never, change: func(r *run) { r.plan.Rates[1].RampFrom = nil }},
		"chains per second":           {threshold: p99, slow: 6, failing: never, change: func(r *run) { r.plan.Rates[1].ChainsPerSecond = true }},
		"a pause":                     {threshold: p99, slow: 6, failing: never, change: func(r *run) { r.report.Windows[6].Suspended = true }, want: at(7, 4, 8, "30ms")},
	} {
		t.Run(name, func(t *testing.T) {
			r := climbs(tt.slow, tt.failing)
			r.plan.Thresholds = []runnerv1alpha1.Threshold{tt.threshold}
			if tt.change != nil {
				tt.change(r)
			}
			all := make([]comparison, 1)
			if err := findRamps(&r.plan, &r.report, map[string]Observation{tt.threshold.Name: tt.seen}, all); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, all[0].result.Ramp); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRampOfWindowsThatPassed: Live has a time also of a window that passed, and it is no break.
func TestRampOfWindowsThatPassed(t *testing.T) {
	r := climbs(99, 99)
	r.plan.Thresholds = []runnerv1alpha1.Threshold{{Name: "errors", Metric: runnerv1alpha1.MetricErrorRate, Max: "1%", Window: 3 * time.Second}}
	l, load := NewLive(&r.plan, 1), endingRun{rate: 100, timesOut: func(int, time.Duration) bool { return false }}
	for after := time.Second; after <= 5*time.Second; after += time.Second {
		s := load.snapshot(after)
		s.Stages = append(s.Stages, s.Stages[0])
		if err := l.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	seen := l.Seen()
	if o := seen["errors"]; !o.Passed || o.After != 3*time.Second {
		t.Fatalf("%+v, want a window in the ramp that passed", o)
	}
	r.facts.Seen = seen
	v, err := Judge(&r.plan, &r.report, r.facts)
	if err != nil || v.Thresholds[0].Ramp != nil {
		t.Errorf("%+v, %v; want no break", v.Thresholds[0].Ramp, err)
	}
}

// TestJudgeHasRamps: the verdict has the break also if the threshold passed over the whole run.
func TestJudgeHasRamps(t *testing.T) {
	r := climbs(6, 99)
	r.plan.Thresholds = []runnerv1alpha1.Threshold{clean, fast}
	v, err := Judge(&r.plan, &r.report, r.facts)
	if err != nil {
		t.Fatal(err)
	}
	if c := v.Thresholds; c[0].Ramp != nil || !c[1].Passed || c[1].Ramp == nil || c[1].Ramp.Asked != 650 {
		t.Errorf("%+v, %+v", c[0], c[1])
	}
}
