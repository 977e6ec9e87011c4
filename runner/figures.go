package runner

import (
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/measure"
)

// figures are what the workers have recorded.
type figures struct {
	plan    *rv.Plan
	program *chain.Program
	total   *measure.Recorder
	// selections are those of the thresholds of the plan, and from stagesFrom on those of its stages.
	selections []rv.Selection
	stagesFrom int
}

func newFigures(plan *rv.Plan, p *chain.Program) figures {
	ofThresholds, _ := plan.Selections()
	ofStages, _ := plan.StageSelections()
	f := figures{plan: plan, program: p, selections: append(ofThresholds, ofStages...), stagesFrom: len(ofThresholds)}
	f.total = f.newRecorder()
	return f
}

// newRecorder returns an empty recorder for the figures.
func (f *figures) newRecorder() *measure.Recorder {
	return measure.New(measure.Shape{
		Steps: len(f.program.Steps), Chains: len(f.program.Chains), Stages: len(f.plan.Rates), Targets: len(f.plan.Targets),
		Selections: len(f.selections), Listeners: len(f.plan.Listeners),
	})
}

// fill writes the figures into the snapshot. If steps is true, it also writes the times of steps and targets and the
// service time.
func (f *figures) fill(s *rv.Snapshot, g *gauges, steps bool) {
	t := f.total
	s.Counters = t.Counters
	s.Counters.WarmUpInFlight = g.warmUp
	for i := range t.Steps {
		s.Steps = append(s.Steps, stepCounters(&t.Steps[i], g.inFlight[i]))
		s.Counters.Outcomes.Add(&s.Steps[i].Outcomes, 1)
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		s.Chains = append(s.Chains, rv.ChainCounters{
			Started: c.Started, Completed: c.Completed, Aborted: c.Aborted,
			AbortedBy: c.AbortedBy.Counts(), Unfinished: c.Started - c.Completed - c.Aborted, AlwaysCounts: c.AlwaysCounts,
		})
	}
	if g.sending {
		s.EndedAt = 0
	}
	g.addTotals(s, t)
	next := 0
	for i := range t.Targets {
		if f.plan.Targets[i].HasCredential() {
			s.Authorizations[next].SentWithout = t.Targets[i].SentWithout
			next++
		}
	}
	s.Selections, s.StageSelections = f.selectionCounters(s.Listeners, steps)
	s.StatusCodes, s.Causes, s.Failures, s.Exhausted = statusCodes(s.Steps), t.Causes.Counts(), t.Failures.List(),
		t.Exhausted
	s.Generator.LagP99 = t.Lag.Quantile(0.99)
	s.Generator.BatchedNanoseconds = t.Batched
	s.Generator.Naps, s.Generator.NapNanoseconds = t.Naps, t.Napped
	fillTimes(t, s, steps)
}

// addTotals adds what the workers record to the stages and listeners.
func (g *gauges) addTotals(s *rv.Snapshot, t *measure.Recorder) {
	for i := range t.Stages {
		to, from := &s.Stages[i], &t.Stages[i]
		if g.lasts[i] {
			to.Ended = 0
		}
		to.Slots, to.Sent, to.Dropped, to.SentInDrain = from.Slots, from.Sent, from.Dropped, from.SentInDrain
		to.Started, to.StartedInDrain = from.Started, from.StartedInDrain
	}
	for i := range t.Listeners {
		to, from := &s.Listeners[i], &t.Listeners[i]
		to.Time, to.FailedBy, to.Measured = from.Time.Encode(), from.FailedBy.Counts(), from.AwaitCounts
	}
}

// fillTimes writes the distributions into the snapshot: those of the run are sums over steps and targets, so that a
// request is recorded once.
func fillTimes(t *measure.Recorder, s *rv.Snapshot, steps bool) {
	var responseTime, serviceTime, timeToFirstByte, reconnecting, blocked, connect histogram.H
	for i := range t.Steps {
		responseTime.Merge(&t.Steps[i].ResponseTime)
	}
	s.ResponseTime = responseTime.Encode()
	if s.State != rv.StateDone {
		s.Lag = t.Lag.Encode()
	}
	if !steps {
		return
	}
	for i := range t.Steps {
		serviceTime.Merge(&t.Steps[i].ServiceTime)
		timeToFirstByte.Merge(&t.Steps[i].TimeToFirstByte)
		from := t.Steps[i].Histograms()
		for k, to := range s.Steps[i].Distributions() {
			*to = from[k].Encode()
		}
	}
	s.Targets = make([]rv.TargetTimes, len(t.Targets))
	for i := range t.Targets {
		reconnecting.Merge(&t.Targets[i].Reconnecting)
		blocked.Merge(&t.Targets[i].Blocked)
		connect.Merge(&t.Targets[i].Connect)
		from := t.Targets[i].Histograms()
		for k, to := range s.Targets[i].Distributions() {
			*to = from[k].Encode()
		}
	}
	if s.State != rv.StateDone {
		s.ServiceTime = serviceTime.Encode()
		return
	}
	s.Histograms = &rv.Histograms{
		ServiceTime: serviceTime.Encode(), TimeToFirstByte: timeToFirstByte.Encode(),
		Lag: t.Lag.Encode(), Reconnecting: reconnecting.Encode(), Blocked: blocked.Encode(), Connect: connect.Encode(),
	}
}

func stepCounters(st *measure.Step, inFlight int64) rv.StepCounters {
	out := rv.StepCounters{
		Outcomes: st.Outcomes, FailedBy: st.FailedBy.Counts(), StepEvents: st.StepEvents, StatusClasses: classesOf(&st.Codes),
		StatusCodes: codesOf(&st.Codes), Problems: st.Problems.Counts(), OccupiedMicroseconds: st.Occupied / 1000,
	}
	out.InFlightAtEnd = inFlight
	return out
}

// classesOf adds up status codes by class. Codes from 600 on count as 5xx (RFC 9110 15).
func classesOf(codes *measure.Codes) (out [5]int64) {
	codes.Each(func(code int, n int64) { out[min(code/100, 5)-1] += n })
	return out
}

func codesOf(codes *measure.Codes) (out map[string]int64) {
	codes.Each(func(code int, n int64) {
		if out == nil {
			out = map[string]int64{}
		}
		out[strconv.Itoa(code)] = n
	})
	return out
}

// statusCodes adds up those of all steps.
func statusCodes(steps []rv.StepCounters) (out map[string]int64) {
	for i := range steps {
		for code, n := range steps[i].StatusCodes {
			if out == nil {
				out = map[string]int64{}
			}
			out[code] += n
		}
	}
	return out
}
