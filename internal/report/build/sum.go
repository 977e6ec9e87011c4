package build

import (
	"fmt"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/histogram"
)

// sum is what all snapshots together have counted.
type sum struct {
	// counts has counts only, without failures.
	counts   runnerv1alpha1.Snapshot
	failures failure.Counts
	times    times
	// selections are those of selectionsOf. The first forThresholds are those of thresholds.
	selections    []runnerv1alpha1.Selection
	forThresholds int
}

func newSum(plan *runnerv1alpha1.Plan) *sum {
	selections, forThresholds := selectionsOf(plan)
	return &sum{
		counts: runnerv1alpha1.Snapshot{
			Steps:           make([]runnerv1alpha1.StepCounters, countSteps(plan)),
			Chains:          make([]runnerv1alpha1.ChainCounters, len(plan.Chains)),
			Selections:      make([]runnerv1alpha1.SelectionCounters, forThresholds),
			StageSelections: make([]runnerv1alpha1.SelectionCounters, len(selections)-forThresholds),
			Listeners:       make([]runnerv1alpha1.ListenerCounters, len(plan.Listeners)),
			StatusCodes:     map[string]int64{},
		},
		times: newTimes(plan), selections: selections, forThresholds: forThresholds,
	}
}

// add merges counters and distributions.
func add(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) (*sum, error) {
	out := newSum(plan)
	for i := range snapshots {
		s := &snapshots[i]
		err := checkShape(plan, s)
		if err == nil {
			out.addCounters(s)
			err = out.times.merge(s)
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot of shard %d: %w", s.Shard, err)
		}
	}
	return out, nil
}

// addCounters adds all but distributions. The snapshot must have the shape of the plan.
func (s *sum) addCounters(from *runnerv1alpha1.Snapshot) {
	addSnapshot(&s.counts, from, 1)
	s.failures.AddAll(fitFailures(from.Failures))
}

// selected returns the counts of a selection of selectionsOf.
func (s *sum) selected(i int) *runnerv1alpha1.SelectionCounters {
	if i < s.forThresholds {
		return &s.counts.Selections[i]
	}
	return &s.counts.StageSelections[i-s.forThresholds]
}

func (s *sum) stepResults(plan *runnerv1alpha1.Plan) []runnerv1alpha1.StepResult {
	out := make([]runnerv1alpha1.StepResult, 0, len(s.counts.Steps))
	plan.EachStep(func(i int, chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		n, times := &s.counts.Steps[i], &s.times.steps[i]
		out = append(out, runnerv1alpha1.StepResult{
			Chain: chain.Name, Step: step.Name, Phase: chain.Phase, Listener: awaitedBy(plan, step),
			Outcomes: n.Outcomes, FailedBy: n.FailedBy, StepEvents: n.StepEvents, StatusCodes: n.StatusCodes,
			Problems:     Problems(n.Problems),
			ErrorRate:    runnerv1alpha1.ErrorRate(ratio(n.Sent-n.Succeeded, n.Sent)),
			ResponseTime: times[0].Times(), ServiceTime: times[1].Times(), TimeToFirstByte: times[2].Times(),
			FirstMessage: times[4].Times(), BetweenMessages: times[5].Times(), LastMessage: times[6].Times(),
			SuccessfulResponseTime: successful(&times[0], &times[3], n.Done, n.FailedChecks).Times(),
		})
	})
	return out
}

func (s *sum) targetResults(plan *runnerv1alpha1.Plan) []runnerv1alpha1.TargetResult {
	out := make([]runnerv1alpha1.TargetResult, len(plan.Targets))
	for i := range out {
		t, r := &s.times.targets[i], s.requestTimes(plan, i)
		out[i] = runnerv1alpha1.TargetResult{
			Name: plan.Targets[i].Name, NameResolution: t[0].Times(), TCPConnect: t[1].Times(),
			TLSHandshake: t[2].Times(),
			Settings:     t[3].Times(), Connect: t[4].Times(), Reconnecting: t[5].Times(), Blocked: t[6].Times(),
			Body:         t[7].Times(),
			ResponseTime: r[0].Times(), ServiceTime: r[1].Times(), TimeToFirstByte: r[2].Times(),
		}
	}
	return out
}

// setHandshakes sets the rate of TLS handshakes of targets whose connections chain instances open. The load lasted for
// a time.
func setHandshakes(plan *runnerv1alpha1.Plan, targets []runnerv1alpha1.TargetResult, lasted time.Duration) {
	for i := range targets {
		if plan.Targets[i].Connecting.PerInstance {
			targets[i].TLSHandshakesPerSecond = perSecond(targets[i].TLSHandshake.Count, lasted)
		}
	}
}

func (s *sum) listenerResults(plan *runnerv1alpha1.Plan) (out []runnerv1alpha1.ListenerResult) {
	for i := range s.counts.Listeners {
		out = append(out, runnerv1alpha1.ListenerResult{
			Name: plan.Listeners[i].Name, ListenerCounts: s.counts.Listeners[i].ListenerCounts,
			Time: s.times.listeners[i].Times(),
		})
	}
	return out
}

// awaitedBy returns the listener whose notification a step awaits, or "".
func awaitedBy(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Step) string {
	if s.Await == nil {
		return ""
	}
	return plan.Listeners[s.Await.Listener].Name
}

// requestTimes adds up the times of the steps of a target.
func (s *sum) requestTimes(plan *runnerv1alpha1.Plan, target int) *stepTimes {
	var out stepTimes
	plan.EachStep(func(i int, _ *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		for k := range out {
			if step.Target == target {
				out[k].Merge(&s.times.steps[i][k])
			}
		}
	})
	return &out
}

// selectionResults returns the figures of the selections; their distributions only if times is true.
func (s *sum) selectionResults(plan *runnerv1alpha1.Plan, r *runnerv1alpha1.Report,
	snapshots []runnerv1alpha1.Snapshot, times bool) []runnerv1alpha1.SelectionResult {
	out := make([]runnerv1alpha1.SelectionResult, s.forThresholds)
	for i := range out {
		of := &s.selections[i]
		out[i] = runnerv1alpha1.SelectionResult{
			Selector: of.Selector, Metric: of.Time, SelectionCounters: s.counts.Selections[i],
			WindowSeconds: r.Rate.WindowSeconds,
		}
		for k := range plan.Rates {
			if of.Stage != "" && plan.Rates[k].Name == of.Stage {
				out[i].WindowSeconds = addStage(plan, snapshots, k).window.Seconds()
			}
		}
		if times {
			out[i].Time = s.times.selections[i].Encode()
		}
	}
	return out
}

// successful returns the response times of requests that succeeded: those of all responses without those of responses
// that failed a check. It is empty if a part of either is missing, as from the checkpoint of a lost runner.
func successful(all, failed *histogram.H, done, failedChecks int64) *histogram.H {
	if all.Count() == done && failed.Count() == failedChecks {
		if h := all.Without(failed); h != nil {
			return h
		}
	}
	return histogram.New()
}

func (s *sum) successful() *histogram.H {
	failed := histogram.New()
	for i := range s.times.steps {
		failed.Merge(&s.times.steps[i][3])
	}
	return successful(&s.times.responseTime, failed, s.counts.Counters.Done, s.counts.Counters.FailedChecks)
}

// totalOf adds up the counts of all chains.
func totalOf(chains []runnerv1alpha1.ChainCounters) (total runnerv1alpha1.ChainCounters) {
	for i := range chains {
		addChain(&total, &chains[i], 1)
	}
	return total
}
