package loadtest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// events create and patch: one for each transition; patch counts repetitions.
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// happening is an event as a value. Action says what the operator was about.
type happening struct {
	warning bool
	reason  string
	action  string
	note    string
}

// Actions of events.
const (
	actionPlan   = "Compile"
	actionStart  = "Start"
	actionRun    = "Run"
	actionFinish = "Finish"
)

func eventPlanReady(note string) happening {
	return happening{reason: v1alpha1.ConditionPlanReady, action: actionPlan, note: note}
}

func eventObstacle(reason, note string) happening {
	return happening{warning: true, reason: reason, action: actionPlan, note: note}
}

func eventRunnersReady(n int32) happening {
	return happening{reason: v1alpha1.ConditionRunnersReady, action: actionStart, note: fmt.Sprintf("%d runners have all their connections", n)}
}

func eventRunnerTrouble(reason, note string) happening {
	return happening{warning: true, reason: reason, action: actionStart, note: note}
}

func eventStarted(asked int32) happening {
	return happening{reason: "Started", action: actionRun, note: fmt.Sprintf("%d runners were told to start", asked)}
}

func eventLost(note string) happening {
	return happening{warning: true, reason: v1alpha1.ReasonRunnerLost, action: actionRun, note: note}
}

func eventFinished(reason string, v *v1alpha1.Verdict) happening {
	warning := v.Outcome != string(runnerv1alpha1.OutcomePassed) && v.Outcome != string(runnerv1alpha1.OutcomeStopped)
	return happening{warning: warning, reason: reason, action: actionFinish, note: v.Outcome + ": " + v.Message}
}

func eventRateChanged(note string) happening {
	return happening{reason: "RateChanged", action: actionRun, note: note}
}

func eventSuspended(note string) happening {
	return happening{reason: v1alpha1.ReasonSuspended, action: actionRun, note: note}
}

func eventResumed(note string) happening {
	return happening{reason: "Resumed", action: actionRun, note: note}
}

func eventScaled(note string) happening {
	return happening{reason: "Scaled", action: actionRun, note: note}
}

func eventJoined(note string) happening {
	return happening{reason: "RunnerJoined", action: actionRun, note: note}
}

func eventLeft(note string) happening {
	return happening{reason: "RunnerLeft", action: actionRun, note: note}
}

func eventRedealt(note string) happening {
	return happening{reason: "LoadRedealt", action: actionRun, note: note}
}

func eventSpecChanged(note string) happening {
	return happening{warning: true, reason: v1alpha1.ConditionSpecChanged, action: actionFinish, note: note}
}

// happenings are what became true between two statuses, in the order of a run. A condition that
// keeps its status and reason tells nothing, whatever its message says.
func happenings(before, after *v1alpha1.LoadTestStatus) []happening {
	var out []happening
	if c := turned(before, after, v1alpha1.ConditionPlanReady); c != nil {
		if c.Status == metav1.ConditionTrue {
			out = append(out, eventPlanReady(c.Message))
		} else {
			out = append(out, eventObstacle(c.Reason, c.Message))
		}
	}
	out = append(out, holdHappenings(before, after)...)
	out = append(out, runnerHappenings(before, after)...)
	out = append(out, changeHappenings(before, after)...)
	if before.CompletionTime == nil && after.CompletionTime != nil {
		c := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionFinished)
		out = append(out, eventFinished(c.Reason, after.Verdict))
	}
	if c := turned(before, after, v1alpha1.ConditionSpecChanged); c != nil {
		out = append(out, eventSpecChanged(c.Message))
	}
	return out
}

func runnerHappenings(before, after *v1alpha1.LoadTestStatus) []happening {
	var out []happening
	c := turned(before, after, v1alpha1.ConditionRunnersReady)
	starts := before.StartTime == nil && after.StartTime != nil
	switch {
	case starts || before.StartTime == nil && c != nil && c.Status == metav1.ConditionTrue && after.CompletionTime == nil:
		if !meta.IsStatusConditionTrue(before.Conditions, v1alpha1.ConditionRunnersReady) {
			out = append(out, eventRunnersReady(after.Shards.Ready))
		}
	case c != nil && (c.Reason == v1alpha1.ReasonPodTrouble || c.Reason == v1alpha1.ReasonTargetUnreachable) && after.CompletionTime == nil:
		out = append(out, eventRunnerTrouble(c.Reason, c.Message))
	}
	if starts {
		out = append(out, eventStarted(members(after.Runners)))
	}
	if after.Shards != nil && after.Shards.Lost > lostIn(before) {
		out = append(out, eventLost(lostMessage(after.Runners)))
	}
	if before.StartTime != nil {
		out = append(out, dealHappenings(before.Runners, after.Runners)...)
	}
	return out
}

func members(runners []v1alpha1.RunnerStatus) (n int32) {
	for i := range runners {
		if runners[i].Member {
			n++
		}
	}
	return n
}

// dealHappenings are runners that got a part of the load while the test ran, or have one no more.
func dealHappenings(before, after []v1alpha1.RunnerStatus) []happening {
	var joined, left, redealt []string
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
			redealt = append(redealt, name)
		case a.Member && !b.Member && a.State != stateLost:
			joined = append(joined, name)
		}
	}
	var out []happening
	if len(redealt) > 0 {
		out = append(out, eventRedealt("the others have the part of "+strings.Join(redealt, ", ")+" too"))
	}
	if len(joined) > 0 {
		out = append(out, eventJoined("a part of the load is with "+strings.Join(joined, ", ")))
	}
	if len(left) > 0 {
		out = append(out, eventLeft("the load is dealt away from "+strings.Join(left, ", ")+", with what it has counted stored"))
	}
	return out
}

// holdHappenings are those of spec.suspend before the start.
func holdHappenings(before, after *v1alpha1.LoadTestStatus) []happening {
	c := turned(before, after, v1alpha1.ConditionRunning)
	if c == nil || before.StartTime != nil || after.CompletionTime != nil {
		return nil
	}
	old := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionRunning)
	switch {
	case c.Reason == v1alpha1.ReasonSuspended && after.StartTime == nil:
		return []happening{eventSuspended(c.Message)}
	case old != nil && old.Reason == v1alpha1.ReasonSuspended:
		return []happening{eventResumed("the test may start")}
	}
	return nil
}

// changeHappenings are the changes that have come into force. Those of several rates are one.
func changeHappenings(before, after *v1alpha1.LoadTestStatus) (out []happening) {
	told := func(c *v1alpha1.Change) bool {
		return slices.ContainsFunc(before.Changes, func(b v1alpha1.Change) bool {
			return b.AppliedAt != nil && b.Generation == c.Generation && b.Field == c.Field
		})
	}
	var rates []string
	for i := range after.Changes {
		c := &after.Changes[i]
		switch {
		case c.AppliedAt == nil || told(c):
		case c.Field == fieldShards:
			out = append(out, eventScaled(fmt.Sprintf("the load is dealt to %s shards, before to %s", c.To, c.From)))
		case c.Field != fieldSuspend:
			rates = append(rates, fmt.Sprintf("%s: %s, was %s", c.Field, c.To, c.From))
		case c.To == "true":
			out = append(out, eventSuspended("nothing comes due until spec.suspend is false"))
		default:
			out = append(out, eventResumed("the load goes on where it was"))
		}
	}
	if len(rates) > 0 {
		out = append([]happening{eventRateChanged(strings.Join(rates, "; "))}, out...)
	}
	return out
}

func lostIn(st *v1alpha1.LoadTestStatus) int32 {
	if st.Shards == nil {
		return 0
	}
	return st.Shards.Lost
}

// turned returns a condition whose status or reason is not what it was; nil: it is, or it is
// not there.
func turned(before, after *v1alpha1.LoadTestStatus, kind string) *metav1.Condition {
	b, a := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
	if a == nil || b != nil && b.Status == a.Status && b.Reason == a.Reason {
		return nil
	}
	return a
}

// maxNote is the API's bound on an event's note.
const maxNote = 1024

func (r *reconciler) tell(lt *v1alpha1.LoadTest, all []happening) {
	for _, h := range all {
		kind := corev1.EventTypeNormal
		if h.warning {
			kind = corev1.EventTypeWarning
		}
		r.events.Eventf(lt, nil, kind, h.reason, h.action, "%s", clip(h.note, maxNote))
	}
}
