package build

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestProblems(t *testing.T) {
	many := map[string]int64{"other": 3, "": 1, "99 A": 1, "403 a\xff": 2, "403 a\xfe": 3}
	for i := range int64(2 * runnerv1alpha1.MaxProblems) {
		many[fmt.Sprintf("500 C%02d", i)] = 100 - i
	}
	var all int64
	for _, n := range many {
		all += n
	}
	got := Problems(many)
	if len(got) != runnerv1alpha1.MaxProblems+1 || got[0] != (runnerv1alpha1.ProblemResult{Status: 500, Cause: "C00", Count: 100}) || problemCount(got) != all {
		t.Errorf("%d of %d problems: %v", problemCount(got), all, got)
	}
	want := []runnerv1alpha1.ProblemResult{
		{Status: 403, Cause: "a\ufffd", Count: 5}, {Status: 404, Cause: "A", Count: 2}, {Status: 409, Cause: "A", Count: 2}, {Cause: "other", Count: 5},
	}
	few := map[string]int64{"403 a\xff": 2, "403 a\xfe": 3, "409 A": 2, "404 A": 2, "other": 4, "99 A": 1}
	if diff := cmp.Diff(want, Problems(few)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Problems(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// TestOperations: the steps of a target with the same operation are one operation, and the steps without one are operations of
// their own. All requests are in them, on any number of shards.
func TestOperations(t *testing.T) {
	plan := testPlan()
	plan.Chains[0].Steps[0].Operation, plan.Chains[1].Steps[0].Operation = "Nsvc_Create", "Nsvc_Create"
	plan.Chains[1].Steps[0].Target = plan.Chains[0].Steps[0].Target
	var snapshots []runnerv1alpha1.Snapshot
	for shard := range 3 {
		r := newRecorder(plan, shard)
		for i, o := range outcomes {
			for step := range 3 {
				r.request(step, o, int64(1+i))
			}
		}
		snapshots = append(snapshots, r.done())
	}
	r := build(t, Input{Plan: plan, Snapshots: snapshots})
	if err := Check(r); err != nil {
		t.Error(err)
	}
	var names []string
	for i := range r.Operations {
		o := &r.Operations[i]
		names = append(names, o.Target+" "+o.Operation)
	}
	target := plan.Targets[plan.Chains[0].Steps[0].Target].Name
	want := []string{target + " Nsvc_Create", plan.Targets[plan.Chains[0].Steps[1].Target].Name + " " + plan.Chains[0].Name + "/" + plan.Chains[0].Steps[1].Name}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	both, a, b := &r.Operations[0], &r.Steps[0], &r.Steps[2]
	if both.Sent != a.Sent+b.Sent || both.StatusCodes["503"] != a.StatusCodes["503"]+b.StatusCodes["503"] || problemCount(both.Problems) != 6 || both.ResponseTime.Count == 0 {
		t.Errorf("%+v", *both)
	}
	plan.Chains[0].Steps[0].Operation, plan.Chains[1].Steps[0].Operation = "", ""
	if r := build(t, Input{Plan: plan, Snapshots: snapshots}); r.Operations != nil {
		t.Errorf("operations of a plan without them: %v", r.Operations)
	}
}

// TestOperationsByTarget: the operations of a target follow one another, also if a step of another target is between their steps.
func TestOperationsByTarget(t *testing.T) {
	plan := testPlan()
	first, second, third := &plan.Chains[0].Steps[0], &plan.Chains[0].Steps[1], &plan.Chains[1].Steps[0]
	first.Operation, second.Operation, third.Operation = "Subscribe", "Update", "Unsubscribe"
	first.Target, second.Target, third.Target = 1, 0, 1
	r := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{newRecorder(plan, 0).done()}})
	var names []string
	for i := range r.Operations {
		names = append(names, r.Operations[i].Target+" "+r.Operations[i].Operation)
	}
	a, b := plan.Targets[0].Name, plan.Targets[1].Name
	if diff := cmp.Diff([]string{b + " Subscribe", b + " Unsubscribe", a + " Update"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
