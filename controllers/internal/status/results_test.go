package status

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// byName gives shard i what is counted by name.
func byName(i int, failed, aborted, causes map[string]int64) func(*run.Facts) {
	sum := func(counts map[string]int64) (n int64) {
		for _, c := range counts {
			n += c
		}
		return n
	}
	return func(s *run.Facts) {
		snap := s.View.Shards[i].Snapshot
		snap.Steps = []runnerv1alpha1.StepCounters{{Outcomes: runnerv1alpha1.Outcomes{FailedChecks: sum(failed)}, FailedBy: failed}, {}}
		snap.Chains = []runnerv1alpha1.ChainCounters{{Aborted: sum(aborted), AbortedBy: aborted}}
		snap.Causes = causes
		snap.Counters.Setup = runnerv1alpha1.OnceCounters{Sent: 2, Succeeded: 2}
		snap.Counters.Teardown = runnerv1alpha1.OnceCounters{Sent: 3, Succeeded: 1}
		snap.Exhausted = true
		runtest.Summarize(s)
	}
}

func TestResultsByName(t *testing.T) {
	type counts = map[string]int64
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(runs, runs),
		byName(0, counts{"status": 3, "fast": 2}, counts{"reset": 1, "timedOut": 1}, counts{"B": 1, "A": 1}),
		byName(1, counts{"fast": 5}, counts{"timedOut": 1}, counts{"B": 1, "other": 7}))
	got := Of(s).Results
	once := func(sent, succeeded int64) v1alpha1.OnceResult {
		return v1alpha1.OnceResult{Sent: sent, Succeeded: succeeded}
	}
	if !got.Exhausted || got.Setup != once(4, 4) || got.Teardown != once(6, 2) {
		t.Errorf("exhausted %v, setup %+v, teardown %+v", got.Exhausted, got.Setup, got.Teardown)
	}
	for what, tt := range map[string]struct{ got, want []v1alpha1.NamedCount }{
		"failed by":   {got.Chains[0].Steps[0].FailedBy, []v1alpha1.NamedCount{{Name: "fast", Count: 7}, {Name: "status", Count: 3}}},
		"none failed": {got.Chains[0].Steps[1].FailedBy, nil},
		"aborted by":  {got.Chains[0].AbortedBy, []v1alpha1.NamedCount{{Name: "timedOut", Count: 2}, {Name: "reset", Count: 1}}},
		"causes":      {got.Causes, []v1alpha1.NamedCount{{Name: "other", Count: 7}, {Name: "B", Count: 2}, {Name: "A", Count: 1}}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestResultsAreBounded: the API server refuses lists that are longer than the CRD allows.
func TestResultsAreBounded(t *testing.T) {
	many := map[string]int64{}
	for i := range 100 {
		many[fmt.Sprintf("n%02d", i)] = int64(100 + i)
	}
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(runs, runs), byName(1, many, many, many))
	got := Of(s).Results
	chain := got.Chains[0]
	if len(got.Causes) != 16 || len(chain.AbortedBy) != 16 || len(chain.Steps[0].FailedBy) != 8 {
		t.Errorf("%d causes, %d reasons, %d checks", len(got.Causes), len(chain.AbortedBy), len(chain.Steps[0].FailedBy))
	}
	if first := chain.Steps[0].FailedBy[0]; first.Name != "n99" || got.Causes[0].Name != "other" {
		t.Errorf("the most frequent are %+v and %+v", first, got.Causes[0])
	}
}

// TestStageResults: the status has the measured stages whose figures the report has.
func TestStageResults(t *testing.T) {
	us := func(n int64) *int64 { return &n }
	got := stageResults([]runnerv1alpha1.StageResult{
		{Name: "warm", WarmUp: true, Asked: 5, Sent: 5},
		{Name: "hold", Asked: 100, Achieved: 99.5, Sent: 995, Dropped: 5, Figures: &runnerv1alpha1.StageFigures{
			Done: 995, Succeeded: 990, FailedChecks: 5, ErrorRate: 0.01, ResponseTime: runnerv1alpha1.Times{Count: 1000, P50: 1, P90: 2, P95: 3, P99: 4, P999: 5, Max: 6},
		}},
		{Name: "own", AskedChains: 2, AchievedChains: 1, Sent: 7, Figures: &runnerv1alpha1.StageFigures{Done: 7, Succeeded: 7}, NoFigures: "no times"},
		{Name: "late", NoFigures: "no figures"},
	})
	want := []v1alpha1.StageResult{
		{
			Name: "hold", Rate: v1alpha1.RateStatus{Asked: 100, Achieved: 99.5}, Sent: 995, Dropped: 5, Succeeded: 990, ErrorRate: 0.01,
			ResponseTime: &v1alpha1.Times{P50Microseconds: us(1), P90Microseconds: us(2), P95Microseconds: us(3), P99Microseconds: us(4), P999Microseconds: us(5), MaxMicroseconds: us(6)},
		},
		{Name: "own", Rate: v1alpha1.RateStatus{Asked: 0, Achieved: 0, AskedChains: 2, AchievedChains: 1}, Sent: 7, Succeeded: 7, ErrorRate: 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSetupIsLeftOut: a status without what a test does not have stays as small as it was.
func TestSetupIsLeftOut(t *testing.T) {
	raw, err := json.Marshal(Of(runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(runs, runs))).Results)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"setup", "teardown", "causes", "exhausted"} {
		if v, ok := fields[name]; ok {
			t.Errorf("%s is %v", name, v)
		}
	}
}

// TestReportBeforeTheStartRefused: the setup chains of the runners failed, and the API server refuses the report.
func TestReportBeforeTheStartRefused(t *testing.T) {
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.RunnersAre(done, done), refused("ConfigMap pcf-report"))
	for i := range s.View.Shards {
		s.View.Shards[i].Snapshot.StartedAt, s.View.Shards[i].Snapshot.Problem = 0, runnerv1alpha1.ProblemSetup
	}
	s.View.Progress, s.Report = nil, &runnerv1alpha1.Report{}
	got := Of(s)
	if diff := cmp.Diff(&v1alpha1.Summary{Shards: "0/2"}, got.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if c := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionRunnersReady); c.Reason != v1alpha1.ReasonWriteRefused {
		t.Errorf("RunnersReady is %s because of %s", c.Status, c.Reason)
	}
}

// The counts of a lost runner are complete when it was reached again, unless its loss ended the test.
func TestIncomplete(t *testing.T) {
	for _, tt := range []struct {
		policy v1alpha1.ShardLostAction
		state  shards.State
		want   bool
	}{
		{v1alpha1.ShardLostRebalance, shards.Lost, true},
		{v1alpha1.ShardLostRebalance, shards.Recovered, false},
		{v1alpha1.ShardLostContinue, shards.Recovered, false},
		{v1alpha1.ShardLostFail, shards.Recovered, true},
	} {
		s := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(runs, runs), runtest.ShardLost(1))
		s.LoadTest.Spec.Runner.OnShardLost = tt.policy
		s.View.Shards[1].State = tt.state
		if got := s.Incomplete(); got != tt.want {
			t.Errorf("%s, %s: incomplete is %v, want %v", tt.policy, tt.state, got, tt.want)
		}
	}
}
