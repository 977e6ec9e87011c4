package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/test/golden"
)

var now = runtest.Now

// at computes the status at a time.
func at(f *run.Facts, now time.Time) *v1alpha1.LoadTestStatus {
	f.Now = now
	return Of(f)
}

func shardSilent(i int) func(*run.Facts) {
	return func(s *run.Facts) {
		s.View.Shards[i].Silent, s.View.Shards[i].Trouble = true, "connection refused"
	}
}

// over ends the run with a verdict.
func over(outcome runnerv1alpha1.Outcome, reason string, thresholds ...runnerv1alpha1.ThresholdResult) func(*run.Facts) {
	return func(s *run.Facts) {
		s.Record.End = End(s, &runnerv1alpha1.Verdict{Outcome: outcome, Reason: reason, Message: "so it is", Thresholds: thresholds})
	}
}

func suspendedBySpec(s *run.Facts) { s.LoadTest.Spec.Suspend = true }

// nothingIsDue makes the runners that have requests to send say so.
func nothingIsDue(s *run.Facts) {
	for i := range s.View.Shards {
		s.View.Shards[i].Snapshot.Suspended = s.View.Shards[i].Snapshot.State == runs
	}
}

func oneMoreIsWanted(s *run.Facts) {
	s.Record.Live.Shards = 3
	s.View.Shards = append(s.View.Shards, shards.Shard{})
}

func has(b *run.Blocker) func(*run.Facts) {
	return func(s *run.Facts) { s.Blocked, s.Plan, s.PlanHash = b, nil, "" }
}

func unschedulable(s *run.Facts) {
	s.Problem = run.NotReady(v1alpha1.ReasonUnschedulable, "pod pcf-1-0 cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu.")
}

func refused(what string) func(*run.Facts) {
	return func(s *run.Facts) { s.Refused = append(s.Refused, run.Refusal{What: what, Text: "exceeded quota: q"}) }
}

func queuedJob(s *run.Facts) { s.Job.Spec.Suspend = ptr.To(true) }

func lockHeld(s *run.Facts) {
	s.LoadTest.Spec.Lock = "core"
	s.Block(run.NotReady(v1alpha1.ReasonWaitingForLock, "lock core is held by LoadTest ns/other"))
}

func lockNotGiven(s *run.Facts) {
	lockHeld(s)
	s.Block(run.NotReady(v1alpha1.ReasonLockNotGiven, "lock core is held by LoadTest ns/other, whose pod other-1-0 has not ended"))
}

func changeRefused(s *run.Facts) { s.NotApplied = "spec.runner.shards: too many" }

func warned(s *run.Facts) { s.Warnings = "spec.rates[0]: no warm-up" }

func passesFail(s *run.Facts) {
	s.Failing = "The operator failed 3 times in a row, and tries again: connection refused"
}

func searches(s *run.Facts) {
	s.Plan.Search = &runnerv1alpha1.Search{Start: 1000, Min: 1000, Max: 2000, Precision: 0.1, MaxProbes: 3, Duration: time.Second}
	s.Record.Search.Begun = 1
}

func noTarget(s *run.Facts) {
	s.View.Shards[0].Snapshot.Problem = runnerv1alpha1.ProblemConnect
	s.View.Shards[0].Snapshot.Message = "connection refused"
}

func noToken(s *run.Facts) {
	s.View.Shards[0].Snapshot.Problem = runnerv1alpha1.ProblemAuthorization
	s.View.Shards[0].Snapshot.Message = `target udm: auth.oauth2.tokenURL http://nrf/token: answered 400: "invalid_client"`
}

var (
	met      = runnerv1alpha1.ThresholdResult{Name: "fast", Limit: "<= 20ms", Observed: "8ms", Passed: true}
	exceeded = runnerv1alpha1.ThresholdResult{Name: "fast", Limit: "<= 20ms", Observed: "80ms"}
)

const (
	connecting  = runnerv1alpha1.StateConnecting
	settingUp   = runnerv1alpha1.StateSettingUp
	readyState  = runnerv1alpha1.StateReady
	runs        = runnerv1alpha1.StateRunning
	drains      = runnerv1alpha1.StateDraining
	drained     = runnerv1alpha1.StateDrained
	tearingDown = runnerv1alpha1.StateTearingDown
	done        = runnerv1alpha1.StateDone
)

// TestStatusIsAsStored: the API server has seconds, while a run starts and ends within one. A status that differs from what it stored is
// written in each pass, and each time at once.
func TestStatusIsAsStored(t *testing.T) {
	for name, scopes := range states() {
		for _, s := range scopes {
			if s.Record.Start != nil {
				s.Record.Start.Time.Time = s.Record.Start.Time.Add(345 * time.Millisecond)
			}
			if s.Record.End != nil {
				s.Record.End.Time.Time = s.Record.End.Time.Add(678 * time.Millisecond)
				start := metav1.NewTime(s.Record.End.Time.Add(-time.Minute))
				s.Record.End.StartTime = &start
			}
			want := at(s, now.Add(789*time.Millisecond))
			raw, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			stored := &v1alpha1.LoadTestStatus{}
			if err := json.Unmarshal(raw, stored); err != nil {
				t.Fatal(err)
			}
			if !equality.Semantic.DeepEqual(want, stored) {
				t.Errorf("%s (-computed +stored):\n%s", name, cmp.Diff(want, stored))
			}
		}
	}
}

// states are those of the truth table in docs/reference/loadtest/status.md, by its first column. Where a
// cell has two values, there is a scope for each.
func states() map[string][]*run.Facts {
	started := func(f ...func(*run.Facts)) *run.Facts {
		return runtest.New(append([]func(*run.Facts){runtest.WithJob, runtest.PodsRun, runtest.Started}, f...)...)
	}
	starting := func(f ...func(*run.Facts)) *run.Facts {
		return runtest.New(append([]func(*run.Facts){runtest.WithJob}, f...)...)
	}
	passed, failed := runnerv1alpha1.OutcomePassed, runnerv1alpha1.OutcomeFailed
	erred, stopped, unclear := runnerv1alpha1.OutcomeError, runnerv1alpha1.OutcomeStopped, runnerv1alpha1.OutcomeInconclusive
	bothDone := runtest.RunnersAre(done, done)
	return map[string][]*run.Facts{
		"pending":                             {runtest.New(), runtest.New(warned)},
		"invalid":                             {runtest.New(has(run.Invalid(v1alpha1.ReasonInvalidSpec, "x")))},
		"plan too large":                      {runtest.New(has(run.Invalid(v1alpha1.ReasonPlanTooLarge, "x")))},
		"a name is taken":                     {runtest.New(has(&run.Blocker{Condition: v1alpha1.ConditionPlanReady, Reason: v1alpha1.ReasonNameConflict, Message: "Job pcf-1 exists"}))},
		"suspended before the start":          {runtest.New(suspendedBySpec), starting(suspendedBySpec)},
		"the API server refuses an object":    {runtest.New(refused("Job pcf-1")), runtest.New(refused("ConfigMap pcf-plan-0123456789"))},
		"starting: pods":                      {starting()},
		"starting: in a queue":                {starting(queuedJob)},
		"waiting for its lock":                {runtest.New(lockHeld), runtest.New(lockNotGiven)},
		"starting: a pod cannot be scheduled": {starting(unschedulable)},
		"starting: connecting":                {starting(runtest.PodsRun, runtest.RunnersAre(readyState, connecting))},
		"starting: no token yet":              {starting(runtest.PodsRun, runtest.RunnersAre(connecting, readyState), noToken)},
		"starting: no connection yet":         {starting(runtest.PodsRun, runtest.RunnersAre(connecting, readyState), noTarget)},
		"starting: setting up":                {starting(runtest.PodsRun, runtest.RunnersAre(settingUp, readyState)), starting(runtest.PodsRun, runtest.RunnersAre(settingUp, connecting))},
		"running":                             {started(runtest.RunnersAre(runs, runs)), started(runtest.RunnersAre(runs, drains)), started(runtest.RunnersAre(done, runs)), started(runtest.RunnersAre(runs, runs), searches)},
		"running, a change has no effect":     {started(runtest.RunnersAre(runs, runs), changeRefused)},
		"running, an object is refused":       {started(runtest.RunnersAre(runs, runs), refused("PodDisruptionBudget pcf"))},
		"running, passes fail":                {started(runtest.RunnersAre(runs, runs), passesFail)},
		"running, a runner was lost":          {started(runtest.RunnersAre(runs, runs), runtest.ShardLost(1))},
		"running, a runner is silent":         {started(runtest.RunnersAre(runs, runs), shardSilent(1))},
		"running, a runner joins":             {started(runtest.RunnersAre(runs, runs), oneMoreIsWanted)},
		"suspended":                           {started(runtest.RunnersAre(runs, runs), nothingIsDue), started(runtest.RunnersAre(done, runs), nothingIsDue, suspendedBySpec)},
		"draining":                            {started(runtest.RunnersAre(drains, drains)), started(runtest.RunnersAre(done, drains)), started(bothDone)},
		"draining, the report is refused":     {started(bothDone, refused("ConfigMap pcf-report"))},
		"tearing down":                        {started(runtest.RunnersAre(tearingDown, done)), started(runtest.RunnersAre(drained, drains)), started(runtest.RunnersAre(drained, done))},
		"finished, passed":                    {started(bothDone, over(passed, "Passed", met))},
		"finished, a deletion is refused":     {started(bothDone, over(passed, "Passed", met), refused("deleting Job pcf-1"))},
		"finished, no thresholds":             {started(bothDone, over(passed, "NoThresholds"))},
		"finished, too many errors":           {started(bothDone, over(failed, "TooManyErrors"))},
		"finished, teardown failed":           {started(bothDone, over(failed, "TeardownFailed", met))},
		"finished, threshold exceeded": {
			started(bothDone, over(failed, "ThresholdsFailed", exceeded)),
		},
		"finished, inconclusive": {
			started(bothDone, over(unclear, "GeneratorBound", met)), started(bothDone, over(unclear, "GeneratorBound", exceeded)),
		},
		"finished, a shard never joined": {started(bothDone, oneMoreIsWanted, over(passed, "Passed", met))},
		"finished, a loss tolerated": {
			started(bothDone, runtest.ShardLost(1), over(unclear, "PartialResult", met)),
			started(bothDone, runtest.ShardLost(1), over(unclear, "PartialResult", exceeded)), // a least rate
		},
		"finished, a loss tolerated, threshold exceeded": {
			started(bothDone, runtest.ShardLost(1), over(failed, "ThresholdsFailed", exceeded)),
		},
		"stopped":                    {started(bothDone, over(stopped, "Stopped", exceeded))},
		"stopped before the start":   {starting(over(stopped, "Stopped"))},
		"ended with a runner lost":   {started(bothDone, runtest.ShardLost(1), over(erred, "RunnerLost", met))},
		"deadline, while running":    {started(bothDone, over(erred, "DeadlineExceeded"))},
		"deadline, before the start": {starting(over(erred, "DeadlineExceeded"))},
		"setup failed":               {starting(runtest.PodsRun, runtest.RunnersAre(done, readyState), over(erred, "SetupFailed"))},
		"target unreachable":         {starting(over(erred, "TargetUnreachable"))},
		"pods were never scheduled":  {starting(over(erred, "Unschedulable"))},
		"no success":                 {started(bothDone, over(erred, "NoSuccess"))},
	}
}

// TestTruthTable holds situation.go and the documentation against each other, cell by cell.
func TestTruthTable(t *testing.T) {
	header, rows := documented(t)
	all := states()
	for name, cells := range rows {
		scopes := all[name]
		if len(scopes) == 0 {
			t.Errorf("the documentation has a state %q that is not tested", name)
		}
		for column, cell := range cells {
			var got []string
			for _, s := range scopes {
				got = append(got, cellOf(Of(s), header[column]))
			}
			slices.Sort(got)
			want := strings.Split(cell, " or ")
			slices.Sort(want)
			if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
				t.Errorf("%s, %s (-documented +computed):\n%s", name, header[column], diff)
			}
		}
	}
	for name := range all {
		if _, ok := rows[name]; !ok {
			t.Errorf("state %q is not documented", name)
		}
	}
}

// documented reads the table: the names of the columns behind the first, and the cells by state.
func documented(t *testing.T) (header []string, rows map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/loadtest/status.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| state |")
	if !found {
		t.Fatal("docs/reference/loadtest/status.md has no truth table")
	}
	lines := strings.Split(table, "\n")
	header = split(lines[0])
	rows = map[string][]string{}
	for _, line := range lines[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := split(strings.TrimPrefix(line, "|"))
		for i, c := range cells {
			c = strings.NewReplacer(" IP", " InProgress", " NS", " NotSucceeded").Replace(c)
			cells[i] = c
		}
		rows[cells[0]] = cells[1:]
	}
	return header, rows
}

func split(line string) (out []string) {
	for _, c := range strings.Split(strings.TrimSuffix(strings.TrimSpace(line), "|"), "|") {
		out = append(out, strings.TrimSpace(c))
	}
	return out
}

func cellOf(st *v1alpha1.LoadTestStatus, column string) string {
	if column == "phase" {
		return string(st.Phase)
	}
	c := meta.FindStatusCondition(st.Conditions, column)
	if c == nil {
		return "-"
	}
	return string(c.Status[0]) + " " + c.Reason
}

func TestStatusIsPure(t *testing.T) {
	for name, scopes := range states() {
		for _, s := range scopes {
			before := s.LoadTest.DeepCopy()
			first := Of(s)
			if diff := cmp.Diff(before, s.LoadTest); diff != "" {
				t.Errorf("%s: computing the status changed the LoadTest:\n%s", name, diff)
			}
			s.LoadTest.Status = *first
			if diff := cmp.Diff(first, at(s, now.Add(time.Hour))); diff != "" {
				t.Errorf("%s: nothing has happened, but the status changes (-first +second):\n%s", name, diff)
			}
			for _, c := range first.Conditions {
				if c.ObservedGeneration != 1 || c.LastTransitionTime.IsZero() || c.Message == "" && c.Type != v1alpha1.ConditionPlanReady && c.Type != v1alpha1.ConditionStalled {
					t.Errorf("%s: condition %+v lacks a generation, time or message", name, c)
				}
			}
		}
	}
}

func TestLiveFigures(t *testing.T) {
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(runs, runs))
	s.View.StartedAt, s.View.Rate = now, 60003.4
	st := Of(s)
	want := &v1alpha1.Summary{Shards: "2/2", Rate: "60003", Errors: "0%"}
	if diff := cmp.Diff(want, st.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if r := st.Results.Requests; r.Sent != 200 || r.InFlightAtEnd != 20 {
		t.Errorf("requests %+v, want those of both shards", r)
	}
	if step := st.Results.Chains[0].Steps[0]; st.Results.ErrorRate != 0 || step.ErrorRate != 0 {
		t.Errorf("error rate %v, of a step %v; want 0, because what is in flight is not an error yet", st.Results.ErrorRate, step.ErrorRate)
	}
	if !st.StartTime.Time.Equal(now) || st.StartedGeneration != 1 {
		t.Errorf("start %v of generation %d", st.StartTime, st.StartedGeneration)
	}
}

// After a take-over, figures of only a part of the runners must not replace better ones.
func TestTakeOverKeepsFigures(t *testing.T) {
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(runs, runs))
	s.LoadTest.Status = *Of(s)
	fresh := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started)
	fresh.LoadTest = s.LoadTest
	if diff := cmp.Diff(&s.LoadTest.Status, at(fresh, now.Add(time.Minute))); diff != "" {
		t.Errorf("status before anybody was asked (-before +after):\n%s", diff)
	}
	runtest.RunnersAre(runs)(fresh)
	fresh.View.Shards = append(fresh.View.Shards, shards.Shard{Member: true})
	if diff := cmp.Diff(s.LoadTest.Status.Results, at(fresh, now.Add(time.Minute)).Results); diff != "" {
		t.Errorf("results when one of two was asked (-before +after):\n%s", diff)
	}
}

// TestTakeOverWithoutStatus: the API server refused each status of the former operator, so there are no figures to keep.
func TestTakeOverWithoutStatus(t *testing.T) {
	st := Of(runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started))
	if st.Shards == nil || st.Shards.Desired != 2 || st.Summary.Shards != "0/2" {
		t.Errorf("shards %+v, summary %+v, want 0 of 2", st.Shards, st.Summary)
	}
	Events(&v1alpha1.LoadTestStatus{}, st)
}

func TestEndedWithoutReportStaysEnded(t *testing.T) {
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(done, done), over(runnerv1alpha1.OutcomePassed, "Passed", met))
	s.LoadTest.Status = *Of(s)
	later := runtest.New()
	later.LoadTest = s.LoadTest
	if diff := cmp.Diff(&s.LoadTest.Status, at(later, now.Add(time.Hour))); diff != "" {
		t.Errorf("status (-before +after):\n%s", diff)
	}
	later.Failing = "passes fail"
	failing := Of(later)
	if c := current(failing, v1alpha1.ConditionReconciling); c != (cell{yes, v1alpha1.ReasonRetryingAfterError, "passes fail"}) {
		t.Errorf("while passes fail: Reconciling says %+v", c)
	}
	before := s.LoadTest.Status
	later.Failing, later.LoadTest.Status = "", *failing
	if diff := cmp.Diff(&before, Of(later)); diff != "" {
		t.Errorf("passes fail no more (-before +after):\n%s", diff)
	}
	later.Edited, later.LoadTest.Generation = true, 2
	st := Of(later)
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionFinished); c.Message != "so it is"+v1alpha1.EditedAfterFinish || st.Phase != v1alpha1.PhaseCompleted {
		t.Errorf("phase %s, conditions %+v", st.Phase, st.Conditions)
	}
	if got := Events(&s.LoadTest.Status, st); len(got) != 1 || got[0].Reason != v1alpha1.ReasonChangeNotApplied {
		t.Errorf("events %+v, want one that the edit has no effect", got)
	}
	later.LoadTest.Status = *st
	if diff := cmp.Diff(st, Of(later)); diff != "" {
		t.Errorf("an edit is reported twice (-before +after):\n%s", diff)
	}
	later.Edited = false
	if c := meta.FindStatusCondition(Of(later).Conditions, v1alpha1.ConditionFinished); c.Message != "so it is" {
		t.Errorf("after the edit was taken back: %q", c.Message)
	}
}

// TestShareEvents: runners that got or gave up a share of the load.
func TestShareEvents(t *testing.T) {
	runner := func(shard int32, state string, member bool) v1alpha1.RunnerStatus {
		return v1alpha1.RunnerStatus{Shard: shard, Pod: "pod", State: state, Member: member}
	}
	two := []v1alpha1.RunnerStatus{runner(0, "Running", true), runner(1, "Running", true)}
	tests := map[string]struct {
		before, after []v1alpha1.RunnerStatus
		want          []string
	}{
		"nothing":        {two, two, nil},
		"one is made":    {two[:1], []v1alpha1.RunnerStatus{two[0], runner(1, stateJoining, false)}, nil},
		"it joins":       {[]v1alpha1.RunnerStatus{two[0], runner(1, stateJoining, false)}, two, []string{"RunnerJoined"}},
		"told at once":   {two[:1], two, []string{"RunnerJoined"}},
		"is told to go":  {two, []v1alpha1.RunnerStatus{two[0], runner(1, "Draining", false)}, nil},
		"has left":       {two, []v1alpha1.RunnerStatus{two[0], runner(1, stateLeft, false)}, []string{"RunnerLeft"}},
		"comes again":    {[]v1alpha1.RunnerStatus{two[0], runner(1, stateLeft, false)}, two, []string{"RunnerJoined"}},
		"is lost":        {two, []v1alpha1.RunnerStatus{two[0], runner(1, stateLost, true)}, nil},
		"is dealt out":   {[]v1alpha1.RunnerStatus{two[0], runner(1, stateLost, true)}, []v1alpha1.RunnerStatus{two[0], runner(1, stateLost, false)}, []string{"LoadRebalanced"}},
		"lost and dealt": {two, []v1alpha1.RunnerStatus{two[0], runner(1, stateLost, false)}, []string{"LoadRebalanced"}},
		"never had one":  {[]v1alpha1.RunnerStatus{two[0], runner(1, stateJoining, false)}, []v1alpha1.RunnerStatus{two[0], runner(1, stateLost, false)}, nil},
	}
	for name, tt := range tests {
		var got []string
		for _, h := range shareEvents(tt.before, tt.after) {
			got = append(got, h.Reason)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEvents walks through runs and lists the events of each step.
func TestEvents(t *testing.T) {
	all := states()
	walks := map[string]struct {
		states []string
		want   []string
	}{
		"passed": {
			[]string{"pending", "starting: pods", "starting: connecting", "running", "running", "draining", "finished, passed", "finished, passed"},
			[]string{"PlanReady", "RunnersReady", "Started", "Completed"},
		},
		"set up and torn down": {
			[]string{"starting: pods", "starting: connecting", "starting: setting up", "running", "draining", "tearing down", "finished, passed"},
			[]string{"PlanReady", "RunnersReady", "Started", "Completed"},
		},
		"setup failed":       {[]string{"starting: setting up", "setup failed"}, []string{"PlanReady", "!SetupFailed"}},
		"everything at once": {[]string{"finished, passed"}, []string{"PlanReady", "RunnersReady", "Started", "Completed"}},
		"mended":             {[]string{"invalid", "invalid", "pending"}, []string{"!InvalidSpec", "PlanReady"}},
		"trouble that passes": {
			[]string{"starting: pods", "starting: a pod cannot be scheduled", "starting: a pod cannot be scheduled", "running"},
			[]string{"PlanReady", "!Unschedulable", "RunnersReady", "Started"},
		},
		"lost": {
			[]string{"running", "running, a runner was lost", "running, a runner was lost", "ended with a runner lost"},
			[]string{"PlanReady", "RunnersReady", "Started", "!RunnerLost", "!RunnerLost"},
		},
		"lost, but tolerated": {
			[]string{"running", "running, a runner was lost", "finished, a loss tolerated"},
			[]string{"PlanReady", "RunnersReady", "Started", "!RunnerLost", "!Completed"},
		},
		"a change has no effect": {[]string{"running", "running, a change has no effect", "running, a change has no effect", "running"}, []string{"PlanReady", "RunnersReady", "Started", "!ChangeNotApplied"}},
		"the API server refuses the Job": {
			[]string{"the API server refuses an object", "the API server refuses an object", "starting: pods"},
			[]string{"PlanReady", "!JobCreationFailed"},
		},
		"the API server refuses the report": {
			[]string{"running", "draining, the report is refused", "draining, the report is refused", "finished, passed"},
			[]string{"PlanReady", "RunnersReady", "Started", "!WriteRefused", "Completed"},
		},
		"silent, and answers again": {
			[]string{"running", "running, a runner is silent", "running"},
			[]string{"PlanReady", "RunnersReady", "Started", "!RunnerSilent", "RunnerAnswers"},
		},
		"a runner joins": {[]string{"running", "running, a runner joins", "finished, passed"}, []string{"PlanReady", "RunnersReady", "Started", "Completed"}},
		"stopped":        {[]string{"running", "stopped"}, []string{"PlanReady", "RunnersReady", "Started", "Stopped"}},
		"suspended at first": {
			[]string{"suspended before the start", "suspended before the start", "starting: pods", "running"},
			[]string{"PlanReady", "Suspended", "Resumed", "RunnersReady", "Started"},
		},
		"stopped while suspended before the start": {[]string{"suspended before the start", "stopped before the start"}, []string{"PlanReady", "Suspended", "Stopped"}},
		"exceeded":     {[]string{"draining", "finished, threshold exceeded"}, []string{"PlanReady", "RunnersReady", "Started", "!Completed"}},
		"never began":  {[]string{"starting: pods", "pods were never scheduled"}, []string{"PlanReady", "!Unschedulable"}},
		"name is free": {[]string{"a name is taken", "starting: pods"}, []string{"!NameConflict", "PlanReady"}},
	}
	for name, walk := range walks {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.LoadTestStatus{}
			var got []string
			for _, state := range walk.states {
				s := all[state][0]
				s.LoadTest = s.LoadTest.DeepCopy()
				s.LoadTest.Status = *status
				next := Of(s)
				for _, h := range Events(status, next) {
					mark := ""
					if h.Warning {
						mark = "!"
					}
					if h.Action == "" || h.Note == "" {
						t.Errorf("event %+v lacks an action or a note", h)
					}
					got = append(got, mark+h.Reason)
				}
				status = next
			}
			if diff := cmp.Diff(walk.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRounded(t *testing.T) {
	for in, want := range map[float64]float64{0: 0, 60000: 60000, 59999.5: 59999.5, 0.000123: 0.000123, 1.0 / 3: 0.333333, math.Inf(1): 0, math.NaN(): 0} {
		if got := rate(in); got != want {
			t.Errorf("rate(%v) = %v, want %v", in, got, want)
		}
	}
	if got := share(1.0 / 3); got != 0.333333333 {
		t.Errorf("a share is %v", got)
	}
}

// TestMessages has a golden of the conditions, the summary and the events of each state, so that each message
// can be read in one place.
func TestMessages(t *testing.T) {
	all := states()
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for i, s := range all[name] {
			fmt.Fprintf(&out, "# %s (%d)\n", name, i+1)
			st := Of(s)
			for _, c := range st.Conditions {
				fmt.Fprintf(&out, "%s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
			}
			for _, e := range Events(&v1alpha1.LoadTestStatus{}, st) {
				fmt.Fprintf(&out, "event %s: %s\n", e.Reason, e.Note)
			}
			out.WriteString("\n")
		}
	}
	out.WriteString("# events while the test runs\n")
	applied := metav1.NewMicroTime(now)
	runner := func(shard int32, state string, member bool) v1alpha1.RunnerStatus {
		return v1alpha1.RunnerStatus{Shard: shard, Pod: fmt.Sprintf("pcf-1-%d", shard), State: state, Member: member}
	}
	before := &v1alpha1.LoadTestStatus{
		StartTime: &metav1.Time{Time: now},
		Runners:   []v1alpha1.RunnerStatus{runner(0, "Running", true), runner(1, "Running", true), runner(2, stateJoining, false), runner(3, "Draining", false)},
	}
	after := before.DeepCopy()
	after.Runners[1], after.Runners[2], after.Runners[3] = runner(1, stateLost, false), runner(2, "Running", true), runner(3, stateLeft, false)
	for _, c := range [][3]string{{"rates[1].requestsPerSecond", "1000", "2000"}, {run.FieldShards, "2", "4"}, {run.FieldSuspend, "false", "true"}, {run.FieldSuspend, "true", "false"}} {
		after.Changes = append(after.Changes, v1alpha1.Change{Generation: int64(len(after.Changes)), Field: c[0], From: c[1], To: c[2], AppliedAt: &applied})
	}
	for _, e := range Events(before, after) {
		fmt.Fprintf(&out, "event %s: %s\n", e.Reason, e.Note)
	}
	fmt.Fprintf(&out, "\n# its shard has another runner\n%s\n", lostMessage(after.Runners[:1]))
	golden.Compare(t, "messages.txt", out.String())
}

// TestLostRunnerThatWasReachedAgain: its counts are in the result, so Succeeded does not report a partial one.
func TestLostRunnerThatWasReachedAgain(t *testing.T) {
	for _, partial := range []bool{true, false} {
		s := states()["finished, a loss tolerated"][0]
		want := v1alpha1.ReasonCompleted
		if s.Record.End.Results.Partial = partial; partial {
			want = v1alpha1.ReasonPartialResult
		}
		c := meta.FindStatusCondition(Of(s).Conditions, v1alpha1.ConditionSucceeded)
		if c == nil || c.Reason != want {
			t.Errorf("partial %t: Succeeded %v, want %s", partial, c, want)
		}
	}
}
