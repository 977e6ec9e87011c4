package build

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// TestBetweenIsTheStageAlone: the difference of two looks at all runners is what a run of one stage would have counted.
func TestBetweenIsTheStageAlone(t *testing.T) {
	plan := testPlan()
	plan.Rates = append(plan.Rates, runnerv1alpha1.Rate{Name: "next", Count: 10, Period: time.Second, Duration: 10 * time.Second})
	settled := []string{"succeeded", "succeeded", "failed", "timedOut", "reset", "lost", "dropped"} // nothing is in flight
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var before, after, alone []runnerv1alpha1.Snapshot
		for shard := range 1 + r.IntN(3) {
			whole, only := newRecorder(plan, shard), newRecorder(plan, shard)
			request := func(to ...*recorder) {
				step, outcome, us := r.IntN(3), settled[r.IntN(len(settled))], r.Int64N(1<<r.IntN(30))
				for _, r := range to {
					r.request(step, outcome, us)
					r.chain(step / 2)
					r.aborted(step/2, outcome)
				}
			}
			for range r.IntN(200) {
				request(whole)
			}
			whole.snapshot.Generator = runnerv1alpha1.Generator{Workers: 2, CPUSeconds: 2, ThrottledMicroseconds: 5, LagP99: 17}
			if joined := shard > 0 && r.IntN(3) == 0; !joined {
				before = append(before, running(whole))
			} else {
				whole = newRecorder(plan, shard)
			}
			whole.snapshot.Stages[1] = runnerv1alpha1.StageCounters{}
			for range 1 + r.IntN(200) {
				request(whole, only)
			}
			for _, r := range []*recorder{whole, only} {
				r.snapshot.Stages[2] = r.snapshot.Stages[1]
				r.snapshot.Stages[2].Slots = r.snapshot.Stages[1].Sent + r.snapshot.Stages[1].Dropped
				r.snapshot.Stages[2].Begun, r.snapshot.Stages[2].Ended = 11*second, 21*second
			}
			whole.snapshot.Stages[1] = runnerv1alpha1.StageCounters{Begun: second, Ended: 11 * second, Sent: 77}
			whole.snapshot.Generator.CPUSeconds += 3
			whole.snapshot.Sequence = 2
			after = append(after, running(whole))
			only.snapshot.Changed = true
			only.snapshot.Stages, only.snapshot.StageSelections, only.stages = only.snapshot.Stages[2:], nil, nil
			alone = append(alone, only.done())
		}
		only, snapshots, err := Between(plan, 2, before, after)
		if err != nil {
			t.Fatal(err)
		}
		got := build(t, Input{Plan: only, Snapshots: snapshots})
		want := build(t, Input{Plan: only, Snapshots: alone})
		if err := Check(got); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if got.Rate.WindowSeconds != 10 || got.Rate.Asked*10 != float64(got.Requests.Sent+got.Requests.Dropped) {
			t.Errorf("seed %d: rate %+v of %d requests", seed, got.Rate, got.Requests.Sent)
		}
		for _, of := range []func(*runnerv1alpha1.Report) any{
			func(r *runnerv1alpha1.Report) any { return r.Requests },
			func(r *runnerv1alpha1.Report) any { return r.Chains },
			func(r *runnerv1alpha1.Report) any { return r.StatusCodes },
			func(r *runnerv1alpha1.Report) any { return r.Causes },
			func(r *runnerv1alpha1.Report) any { return r.Failures },
			func(r *runnerv1alpha1.Report) any { return r.Stages },
			func(r *runnerv1alpha1.Report) any { return r.ResponseTime },
			func(r *runnerv1alpha1.Report) any { return r.Lag },
			func(r *runnerv1alpha1.Report) any { // histogram.Without needs exact extremes, which a difference does not have
				out := slices.Clone(r.Steps)
				for i := range out {
					out[i].SuccessfulResponseTime = runnerv1alpha1.Times{}
				}
				return out
			},
		} {
			if diff := cmp.Diff(of(want), of(got), nearly); diff != "" {
				t.Errorf("seed %d (-want +got):\n%s", seed, diff)
			}
		}
	}
}

// nearly compares times with a tolerance: the extremes of a difference are those of buckets.
var nearly = cmp.Comparer(func(a, b runnerv1alpha1.Times) bool {
	near := func(x, y int64) bool { return max(x-y, y-x) <= 1+max(x, y)/500 }
	return a.Count == b.Count && near(a.Mean, b.Mean) && near(a.P50, b.P50) && near(a.P90, b.P90) && near(a.P95, b.P95) && near(a.P99, b.P99) && near(a.Max, b.Max)
})

// running returns a snapshot that shares no memory with the recorder, of a runner that has not ended.
func running(r *recorder) runnerv1alpha1.Snapshot {
	s := r.done()
	s.State, s.EndedAt = runnerv1alpha1.StateRunning, 0
	s.Lag, s.ServiceTime, s.Histograms = s.Histograms.Lag, s.Histograms.ServiceTime, nil
	raw, err := json.Marshal(&s)
	if err != nil {
		panic(err)
	}
	out := runnerv1alpha1.Snapshot{}
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	out.Stages = slices.Clone(out.Stages)
	return out
}

// TestBetweenChangesNothing: the two sets of snapshots stay as they are, because they are the base of the next difference.
func TestBetweenChangesNothing(t *testing.T) {
	plan := testPlan()
	plan.Listeners = []runnerv1alpha1.Listener{{Name: "calls"}}
	r := newRecorder(plan, 0)
	heard := func(n int64) {
		r.snapshot.Listeners[0].ByRule, r.snapshot.Listeners[0].FailedBy = map[string]int64{"any": n}, map[string]int64{"status": n}
		r.snapshot.Authorizations = []runnerv1alpha1.Authorization{{Target: "front", Tokens: n}}
	}
	r.request(0, "failed", 100)
	heard(3)
	before := []runnerv1alpha1.Snapshot{running(r)}
	r.request(1, "reset", 300)
	heard(5)
	r.snapshot.Sequence++
	after := []runnerv1alpha1.Snapshot{running(r)}
	first, err := json.Marshal([]any{before, after})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Between(plan, 1, before, after); err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal([]any{before, after})
	if err != nil || string(first) != string(second) {
		t.Errorf("%v: the snapshots changed:\n%s\n%s", err, first, second)
	}
	if _, _, err := Between(plan, 1, after, before); err == nil {
		t.Error("the other way round: no error")
	}
}

func TestBetweenSelections(t *testing.T) {
	plan := testPlan()
	plan.Thresholds = []runnerv1alpha1.Threshold{{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Max: "1s", Of: runnerv1alpha1.Selector{StatusClass: 2}}}
	r := newRecorder(plan, 0)
	selected := func(n, us int64) []runnerv1alpha1.SelectionCounters {
		h := histogram.New()
		h.RecordN(us, n)
		return []runnerv1alpha1.SelectionCounters{{SelectionCounts: runnerv1alpha1.SelectionCounts{Sent: n, Done: n, Succeeded: n, InClass: n}, Time: h.Encode()}}
	}
	r.snapshot.Selections = selected(10, 100)
	before := []runnerv1alpha1.Snapshot{running(r)}
	r.snapshot.Selections = selected(30, 100)
	r.snapshot.Sequence++
	after := []runnerv1alpha1.Snapshot{running(r)}
	_, out, err := Between(plan, 1, before, after)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(selected(20, 100), out[0].Selections); diff != "" {
		t.Errorf("selections (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(selected(30, 100), after[0].Selections); diff != "" {
		t.Errorf("the snapshot changed (-want +got):\n%s", diff)
	}
}

// TestBetweenAuthorizations: a request without its authorization counts only between the snapshots around it.
func TestBetweenAuthorizations(t *testing.T) {
	plan := testPlan()
	of := func(tokens, failures, sentWithout int64) []runnerv1alpha1.Authorization {
		return []runnerv1alpha1.Authorization{{Target: "front", Tokens: tokens, Failures: failures, LastFailure: "answered 400", SentWithout: sentWithout}}
	}
	for name, tt := range map[string]struct {
		after, want []runnerv1alpha1.Authorization
	}{
		"none since": {of(2, 3, 7), of(0, 0, 0)},
		"some since": {of(3, 4, 9), of(1, 1, 2)},
	} {
		r := newRecorder(plan, 0)
		r.snapshot.Authorizations = of(2, 3, 7)
		before := []runnerv1alpha1.Snapshot{running(r)}
		r.snapshot.Authorizations = tt.after
		r.snapshot.Sequence++
		_, out, err := Between(plan, 1, before, []runnerv1alpha1.Snapshot{running(r)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, out[0].Authorizations); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBetweenStages: the plan of one stage has no selection of a stage, whatever the whole plan has.
func TestBetweenStages(t *testing.T) {
	plan := stagedPlan()
	r := newRecorder(plan, 0)
	r.requestIn(1, 0, "succeeded", 100)
	before := []runnerv1alpha1.Snapshot{cloneOf(t, running(r))}
	r.snapshot.Sequence++
	r.requestIn(2, 0, "succeeded", 200)
	only, out, err := Between(plan, 2, before, []runnerv1alpha1.Snapshot{running(r)})
	if err != nil {
		t.Fatal(err)
	}
	s := build(t, Input{Plan: only, Snapshots: out}).Stages[0]
	if s.Figures == nil || s.Figures.Succeeded != 1 || s.Figures.ResponseTime.Max != 200 {
		t.Errorf("%+v, figures %+v", s, s.Figures)
	}
}
