package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/event"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Actions of events.
const (
	actionPlan   = "Compile"
	actionStart  = "Start"
	actionRun    = "Run"
	actionFinish = "Finish"
)

// Events returns the events of the transition between two statuses, in the order of a run. A condition
// that keeps its status and reason causes no event, even if its message changes.
func Events(before, after *v1alpha1.LoadTestStatus) []event.Event {
	var out []event.Event
	switch c := transition(before, after, v1alpha1.ConditionPlanReady); c.status {
	case yes:
		out = append(out, event.Normal(v1alpha1.ConditionPlanReady, actionPlan, c.message))
	case no:
		out = append(out, event.Warning(c.reason, actionPlan, c.message))
	}
	out = append(out, suspendEvents(before, after)...)
	if note := protocolsDiffer(after); note != "" && protocolsDiffer(before) == "" {
		out = append(out, event.Warning(v1alpha1.EventProtocolsDiffer, actionStart, "The test continues, but "+note))
	}
	out = append(out, runnerEvents(before, after)...)
	out = append(out, changeEvents(before, after)...)
	if before.CompletionTime == nil && after.CompletionTime != nil {
		out = append(out, finishedEvent(current(after, v1alpha1.ConditionFinished).reason, after.Verdict))
	}
	if c := transition(before, after, v1alpha1.ConditionReconciling); c.reason == v1alpha1.ReasonWriteRefused {
		out = append(out, event.Warning(c.reason, actionRun, c.message))
	}
	if note := notApplied(after); note != "" && note != notApplied(before) {
		out = append(out, event.Warning(v1alpha1.ReasonChangeNotApplied, actionRun, note))
	}
	if ttlIgnored(after) && !ttlIgnored(before) {
		out = append(out, event.Warning(v1alpha1.ReasonTTLIgnored, actionFinish, ttlIgnoredMessage))
	}
	return out
}

const ttlIgnoredMessage = "The operator does not delete the LoadTest after its TTL, because Argo CD or Flux manages it and would create it again, which repeats the load"

// ttlIgnored returns whether a status reports that the TTL has no effect.
func ttlIgnored(st *v1alpha1.LoadTestStatus) bool {
	return strings.Contains(current(st, v1alpha1.ConditionFinished).message, v1alpha1.TTLIgnored)
}

func finishedEvent(reason string, v *v1alpha1.Verdict) event.Event {
	warn := v.Outcome != string(runnerv1alpha1.OutcomePassed) && v.Outcome != string(runnerv1alpha1.OutcomeStopped)
	return event.Event{Warning: warn, Reason: reason, Action: actionFinish, Note: v.Outcome + ": " + v.Message}
}

// notApplied returns the message about a change of the spec that has no effect; empty: no such change.
func notApplied(st *v1alpha1.LoadTestStatus) string {
	if c := current(st, v1alpha1.ConditionReconciling); c.reason == v1alpha1.ReasonChangeNotApplied {
		return c.message
	}
	if strings.HasSuffix(current(st, v1alpha1.ConditionFinished).message, v1alpha1.EditedAfterFinish) {
		return editedMessage
	}
	return ""
}

// startProblems are the reasons of RunnersReady that need a user.
var startProblems = append([]string{v1alpha1.ReasonJobCreationFailed, v1alpha1.ReasonWriteRefused,
	v1alpha1.ReasonTargetUnreachable, v1alpha1.ReasonNotAuthorized}, run.PodProblems...)

func runnerEvents(before, after *v1alpha1.LoadTestStatus) []event.Event {
	var out []event.Event
	was, c := current(before, v1alpha1.ConditionRunnersReady), transition(before, after, v1alpha1.ConditionRunnersReady)
	starts := before.StartTime == nil && after.StartTime != nil
	switch {
	case starts || before.StartTime == nil && c.status == yes && after.CompletionTime == nil:
		if was.status != yes {
			out = append(out, event.Normal(v1alpha1.ConditionRunnersReady, actionStart, fmt.Sprintf("%d of %d runners are ready",
				after.Shards.Ready, after.Shards.Desired)))
		}
	case slices.Contains(startProblems, c.reason) && after.CompletionTime == nil:
		out = append(out, event.Warning(c.reason, actionStart, c.message))
	}
	if c.reason == v1alpha1.ReasonRunnerSilent {
		out = append(out, event.Warning(c.reason, actionRun, c.message))
	}
	if c.reason == v1alpha1.ReasonAllReady && was.reason == v1alpha1.ReasonRunnerSilent {
		out = append(out, event.Normal(v1alpha1.EventRunnerAnswers, actionRun, "All runners answer again"))
	}
	if starts {
		out = append(out, event.Normal(v1alpha1.EventStarted, actionRun, fmt.Sprintf("Started the test with %s",
			build.Plural(members(after.Runners), "runner"))))
	}
	if none := (v1alpha1.ShardCounts{}); ptr.Deref(after.Shards, none).Lost > ptr.Deref(before.Shards, none).Lost {
		out = append(out, event.Warning(v1alpha1.ReasonRunnerLost, actionRun, lostMessage(after.Runners)))
	}
	if before.StartTime != nil {
		out = append(out, shareEvents(before.Runners, after.Runners)...)
	}
	return out
}

func members(runners []v1alpha1.RunnerStatus) (n int) {
	for i := range runners {
		if runners[i].Member {
			n++
		}
	}
	return n
}

// shareEvents are the events of runners that got or gave up a share of the load while the test ran.
func shareEvents(before, after []v1alpha1.RunnerStatus) []event.Event {
	var joined, left, rebalanced []string
	for i := range after {
		var b v1alpha1.RunnerStatus
		if i < len(before) {
			b = before[i]
		}
		a := &after[i]
		name := fmt.Sprintf("runner %d (pod %s)", a.Shard, a.Pod)
		switch {
		case a.State == stateLeft && b.State != stateLeft:
			left = append(left, name)
		case a.State == stateLost && b.Member && !a.Member:
			rebalanced = append(rebalanced, name)
		case a.Member && !b.Member && a.State != stateLost:
			joined = append(joined, name)
		}
	}
	var out []event.Event
	if len(rebalanced) > 0 {
		out = append(out, event.Normal(v1alpha1.EventLoadRebalanced, actionRun, "Distributed the share of "+
			strings.Join(rebalanced, ", ")+" to the other runners"))
	}
	if len(joined) > 0 {
		out = append(out, event.Normal(v1alpha1.EventRunnerJoined, actionRun, "Gave a share of the load to "+
			strings.Join(joined, ", ")))
	}
	if len(left) > 0 {
		out = append(out, event.Normal(v1alpha1.EventRunnerLeft, actionRun, "Removed "+strings.Join(left, ", ")+
			" after scaling down; the counts are stored"))
	}
	return out
}

// suspendEvents are those of spec.suspend before the start.
func suspendEvents(before, after *v1alpha1.LoadTestStatus) []event.Event {
	was, c := current(before, v1alpha1.ConditionFinished), transition(before, after, v1alpha1.ConditionFinished)
	switch {
	case before.StartTime != nil || after.CompletionTime != nil || c.status != no:
	case c.reason == v1alpha1.ReasonSuspended && after.StartTime == nil:
		return []event.Event{event.Normal(v1alpha1.ReasonSuspended, actionRun, c.message)}
	case was.reason == v1alpha1.ReasonSuspended:
		return []event.Event{event.Normal(v1alpha1.EventResumed, actionRun, "The test can start")}
	}
	return nil
}

// changeEvents are those of changes that have taken effect. Several changes of rates are one event.
func changeEvents(before, after *v1alpha1.LoadTestStatus) (out []event.Event) {
	reported := func(c *v1alpha1.Change) bool {
		return slices.ContainsFunc(before.Changes, func(b v1alpha1.Change) bool {
			return b.AppliedAt != nil && b.Generation == c.Generation && b.Field == c.Field
		})
	}
	var rates []string
	for i := range after.Changes {
		c := &after.Changes[i]
		switch {
		case c.AppliedAt == nil || reported(c):
		case c.Field == run.FieldShards:
			out = append(out, event.Normal(v1alpha1.EventScaled, actionRun, fmt.Sprintf("Scaled from %s to %s shards", c.From,
				c.To)))
		case c.Field != run.FieldSuspend:
			rates = append(rates, fmt.Sprintf("%s from %s to %s", c.Field, c.From, c.To))
		case c.To == "true":
			out = append(out, event.Normal(v1alpha1.ReasonSuspended, actionRun, pausedMessage))
		default:
			out = append(out, event.Normal(v1alpha1.EventResumed, actionRun, "The runners send load again"))
		}
	}
	if len(rates) > 0 {
		out = append([]event.Event{event.Normal(v1alpha1.EventRateChanged, actionRun, "Changed "+strings.Join(rates, "; "))},
			out...)
	}
	return out
}

// transition returns what a condition says if its status or reason differs from before; an empty cell: it does not
// differ or is absent.
func transition(before, after *v1alpha1.LoadTestStatus, kind string) cell {
	b, a := current(before, kind), current(after, kind)
	if b.status == a.status && b.reason == a.reason {
		return cell{}
	}
	return a
}
