package build

import (
	"fmt"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// times are the distributions of a run: those of the whole test, and those of its parts.
type times struct {
	responseTime, serviceTime, timeToFirstByte, lag, reconnecting, blocked, connect histogram.H

	steps   []stepTimes
	targets []targetTimes
	// selections are those of selectionsOf. The first forThresholds are those of thresholds.
	selections    []histogram.H
	forThresholds int
	listeners     []histogram.H
}

// stepTimes are in the order of StepCounters.Distributions, and targetTimes in that of TargetTimes.Distributions.
type (
	stepTimes   [runnerv1alpha1.StepDistributions]histogram.H
	targetTimes [runnerv1alpha1.TargetDistributions]histogram.H
)

// The names of the distributions, for errors.
var (
	stepTimeNames = [...]string{"response time", "service time", "time to first byte", "failed response time",
		"first message", "between messages", "last message"}
	targetTimeNames = [...]string{"name resolution", "TCP connect", "TLS handshake", "SETTINGS", "connect",
		"reconnecting", "blocked", "body"}
)

func newTimes(plan *runnerv1alpha1.Plan) times {
	selections, forThresholds := selectionsOf(plan)
	return times{
		steps: make([]stepTimes, countSteps(plan)), targets: make([]targetTimes, len(plan.Targets)),
		selections: make([]histogram.H, len(selections)), forThresholds: forThresholds,
		listeners: make([]histogram.H, len(plan.Listeners)),
	}
}

// clone returns times to which requests without a response can be added.
func (t *times) clone() times {
	out := *t
	out.steps, out.selections, out.listeners = slices.Clone(t.steps), slices.Clone(t.selections),
		slices.Clone(t.listeners)
	return out
}

// oneTime is a distribution of times, and its state in a snapshot; nil: the snapshot does not have it.
type oneTime struct {
	// name is the time, and part what it is of, such as "step"; "": the whole test. i is the index of the part.
	name, part string
	i          int
	total      *histogram.H
	now        *runnerv1alpha1.Histogram
}

// failed adds to an error what cannot be read.
func (t *oneTime) failed(err error) error {
	if t.part == "" {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return fmt.Errorf("%s of %s %d: %w", t.name, t.part, t.i, err)
}

// of appends all distributions but the response time. Their order does not depend on the snapshot.
func (t *times) of(s *runnerv1alpha1.Snapshot, out []oneTime) []oneTime {
	for i := range t.steps {
		var now [runnerv1alpha1.StepDistributions]*runnerv1alpha1.Histogram
		if i < len(s.Steps) {
			now = s.Steps[i].Distributions()
		}
		for k := range now {
			out = append(out, oneTime{stepTimeNames[k], "step", i, &t.steps[i][k], now[k]})
		}
	}
	for i := range t.targets {
		var now [runnerv1alpha1.TargetDistributions]*runnerv1alpha1.Histogram
		if i < len(s.Targets) {
			now = s.Targets[i].Distributions()
		}
		for k := range now {
			out = append(out, oneTime{targetTimeNames[k], "target", i, &t.targets[i][k], now[k]})
		}
	}
	first := len(out)
	for i := range t.selections {
		out = append(out, oneTime{name: "time", part: "selection", i: i, total: &t.selections[i]})
	}
	for i, c := range selectionsIn(s, t.forThresholds) {
		out[first+i].now = &c.Time
	}
	for i := range t.listeners {
		d := oneTime{name: "time", part: "listener", i: i, total: &t.listeners[i]}
		if i < len(s.Listeners) {
			d.now = &s.Listeners[i].Time
		}
		out = append(out, d)
	}
	return append(out, t.final(s.Histograms)...)
}

// final are the distributions that only the final snapshot has.
func (t *times) final(h *runnerv1alpha1.Histograms) []oneTime {
	out := []oneTime{
		{name: "service time", total: &t.serviceTime}, {name: "time to first byte", total: &t.timeToFirstByte},
		{name: "lag", total: &t.lag},
		{name: "reconnecting", total: &t.reconnecting}, {name: "blocked", total: &t.blocked},
		{name: "connect", total: &t.connect},
	}
	if h != nil {
		for i, now := range []*runnerv1alpha1.Histogram{&h.ServiceTime, &h.TimeToFirstByte, &h.Lag, &h.Reconnecting,
			&h.Blocked, &h.Connect} {
			out[i].now = now
		}
	}
	return out
}

// merge adds the distributions of a snapshot.
func (t *times) merge(s *runnerv1alpha1.Snapshot) error {
	for _, d := range append(t.of(s, nil), oneTime{name: "response time", total: &t.responseTime, now: &s.ResponseTime}) {
		if d.now == nil {
			continue
		}
		h, err := histogram.Decode(*d.now)
		if err != nil {
			return d.failed(err)
		}
		d.total.Merge(h)
	}
	return nil
}

// setTimes sums the distributions up.
func (t *times) setTimes(r *runnerv1alpha1.Report) {
	r.ResponseTime, r.ServiceTime, r.TimeToFirstByte, r.Lag = t.responseTime.Times(), t.serviceTime.Times(),
		t.timeToFirstByte.Times(), t.lag.Times()
	r.Reconnecting, r.Blocked, r.Connect = t.reconnecting.Times(), t.blocked.Times(), t.connect.Times()
}

// histograms encodes the distributions.
func (t *times) histograms() *runnerv1alpha1.ReportHistograms {
	return &runnerv1alpha1.ReportHistograms{
		ResponseTime: t.responseTime.Encode(), ServiceTime: t.serviceTime.Encode(),
		TimeToFirstByte: t.timeToFirstByte.Encode(),
		Lag:             t.lag.Encode(), Reconnecting: t.reconnecting.Encode(), Blocked: t.blocked.Encode(),
		Connect: t.connect.Encode(),
	}
}
