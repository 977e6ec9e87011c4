package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

func TestRampAndSetupExtendTheTimeToGetReady(t *testing.T) {
	plan := &runnerv1alpha1.Plan{Targets: []runnerv1alpha1.Target{
		{Connections: 10, ConnectTimeout: 5 * time.Second},
		{Connections: 100, ConnectTimeout: time.Second, Connecting: runnerv1alpha1.Connecting{RampCount: 10, RampPeriod: time.Minute}},
	}}
	if got, want := readyWithin(plan, 2*time.Minute), 11*time.Minute; got != want {
		t.Errorf("%v, want %v: nine periods of the ramp on top", got, want)
	}
	plan.Chains = []runnerv1alpha1.Chain{
		{Phase: runnerv1alpha1.PhaseSetup, Steps: []runnerv1alpha1.Step{{Timeout: time.Second, Repeat: 30}}},
		{Steps: []runnerv1alpha1.Step{{Timeout: time.Second}}},
	}
	if got, want := readyWithin(plan, 2*time.Minute), 11*time.Minute+30*time.Second; got != want {
		t.Errorf("%v, want %v: thirty requests of setup on top", got, want)
	}
}

// TestStarters: two of three runners are ready, the third has a pod that is not.
func TestStarters(t *testing.T) {
	tests := map[string]struct {
		minShards int32
		timeout   time.Duration
		after     time.Duration
		edit      func(*run.Facts)
		want      []int
		fails     string // a reason
	}{
		"all are wanted":     {after: time.Hour, fails: v1alpha1.ReasonStartTimeout},
		"a pod does not run": {after: time.Hour, edit: func(f *run.Facts) { delete(f.Pods, 1) }, fails: v1alpha1.ReasonStartTimeout},
		"a pod finds no node": {after: time.Hour, edit: func(f *run.Facts) {
			delete(f.Pods, 1)
			f.Problem = run.NotReady(v1alpha1.ReasonUnschedulable, "pod pcf-1-1 cannot be scheduled")
		}, fails: v1alpha1.ReasonUnschedulable},
		"in time":                  {minShards: 2, after: time.Minute},
		"after the limit":          {minShards: 2, after: 3 * time.Minute, want: []int{0, 2}},
		"too few":                  {minShards: 3, after: 3 * time.Minute, fails: v1alpha1.ReasonStartTimeout},
		"within startTimeout":      {minShards: 2, timeout: 5 * time.Second, after: 4 * time.Second},
		"after startTimeout":       {minShards: 2, timeout: 5 * time.Second, after: 5 * time.Second, want: []int{0, 2}},
		"startTimeout without":     {timeout: 5 * time.Second, after: 5 * time.Second, fails: v1alpha1.ReasonStartTimeout},
		"too late for these, too":  {minShards: 2, timeout: 5 * time.Second, after: time.Hour, want: []int{0, 2}, fails: v1alpha1.ReasonStartTimeout},
		"another attempt":          {minShards: 2, after: time.Second, edit: podEnded(1, 0)},
		"lost in the last attempt": {minShards: 2, after: time.Second, edit: podEnded(1, 2), want: []int{0, 2}},
		"too many lost":            {minShards: 2, after: time.Second, edit: func(f *run.Facts) { podEnded(1, 2)(f); podEnded(2, 2)(f) }, fails: v1alpha1.ReasonRunnerLost},
		"a pod was replaced":       {after: time.Second, edit: podReplaced(0), fails: v1alpha1.ReasonRunnerLost},
		"chosen by another":        {minShards: 1, after: time.Second, edit: chosen(0), want: []int{0, 2}},
		"chosen of earlier pods":   {minShards: 2, after: time.Second, edit: chosen(-time.Minute)},
		"chosen before a takeover": {minShards: 2, after: time.Second, edit: tookOver(-2 * time.Minute), want: []int{0, 2}},
		"chosen before a queue":    {minShards: 2, after: time.Second, edit: tookOver(-30 * time.Second)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := runtest.New(func(f *run.Facts) { f.Plan.Shards = 3 }, runtest.WithJob, runtest.RunnersAre(runnerv1alpha1.StateReady, runnerv1alpha1.StateConnecting, runnerv1alpha1.StateReady))
			for i := range 3 {
				f.Pods[i] = &corev1.Pod{}
			}
			runtest.PodsRun(f)
			f.Now = runtest.Now.Add(tt.after)
			if tt.minShards > 0 {
				f.LoadTest.Spec.Runner.MinShards = &tt.minShards
			}
			if tt.timeout > 0 {
				f.LoadTest.Spec.Runner.StartTimeout = &v1alpha1.Duration{Duration: tt.timeout}
			}
			if tt.edit != nil {
				tt.edit(f)
			}
			f.Config = &configv1alpha1.OperatorConfig{}
			f.Config.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
			if f.Waits.Admitted = runtest.Now; run.AllRunning(f) {
				f.Waits.Running = runtest.Now
			}
			Starters(f, f.Record)
			if diff := cmp.Diff(tt.want, f.Starters()); diff != "" {
				t.Errorf("starts with (-want +got):\n%s", diff)
			}
			reason := ""
			if b := StartFailure(f); b != nil {
				reason = b.Reason
			}
			if reason != tt.fails {
				t.Errorf("fails by %q, want %q", reason, tt.fails)
			}
		})
	}
}

// TestBeginOfAnEditedSpec: an edit that needs no other plan, such as that of a TTL, leaves the plan that is stored.
func TestBeginOfAnEditedSpec(t *testing.T) {
	f := runtest.New(runtest.WithJob, runtest.RunnersAre(runnerv1alpha1.StateReady, runnerv1alpha1.StateReady))
	f.LoadTest.Generation = 2
	if err := Begin(f, f.Record); err != nil || f.StartedGeneration() != 2 || f.Record.Live.Generation != 2 {
		t.Errorf("started with generation %d, live %d (%v); want 2", f.StartedGeneration(), f.Record.Live.Generation, err)
	}
}

// TestNoPodOfAReadyRunner: the pod was deleted, or a queue suspended the Job and its watch is behind that of pods.
func TestNoPodOfAReadyRunner(t *testing.T) {
	for name, tt := range map[string]struct {
		queued            bool
		failed, succeeded int32
		another           bool // there is another pod
		want              string
	}{
		"by a user":                         {want: "Runner 0 (pod pcf-1-0-x) was deleted before the start"},
		"by a queue":                        {queued: true},
		"by a queue, and is back":           {queued: true, another: true},
		"by a user, after a queue":          {queued: true, succeeded: 1, want: "A runner was lost before the start"},
		"by a user by force, after a queue": {queued: true, failed: 1, want: "A runner was lost before the start"},
	} {
		f := runtest.New(runtest.WithJob, runtest.RunnersAre(runnerv1alpha1.StateReady, runnerv1alpha1.StateReady))
		f.Pods[0], f.Pods[1] = &corev1.Pod{}, &corev1.Pod{}
		runtest.PodsRun(f)
		f.View.Shards[0].Pod = shards.Pod{Name: "pcf-1-0-x", UID: "x"}
		if f.Pods[0].UID = "y"; !tt.another {
			delete(f.Pods, 0)
		}
		if f.Job.Status.Failed, f.Job.Status.Succeeded = tt.failed, tt.succeeded; tt.queued {
			f.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}
		}
		if got := lostBeforeStart(f); got != tt.want || CanStart(f) {
			t.Errorf("%s: lost %q, can start %t; want %q, false", name, got, CanStart(f), tt.want)
		}
	}
}

// chosen makes the test start with two shards, by a decision some time after that for the Job.
func chosen(after time.Duration) func(*run.Facts) {
	return func(f *run.Facts) {
		f.Record.Append(record.Change{Revision: 2, Members: []int{0, 2}, DecidedAt: metav1.NewMicroTime(runtest.Now.Add(after))})
	}
}

// tookOver is another operator's choice, one minute ago, after a queue had admitted the Job at a time. This operator has
// not reached the runners yet.
func tookOver(admitted time.Duration) func(*run.Facts) {
	return func(f *run.Facts) {
		at := metav1.NewMicroTime(runtest.Now.Add(admitted))
		f.Record.Changes[0].DecidedAt, f.Record.Admitted = metav1.NewMicroTime(runtest.Now.Add(-time.Hour)), &at
		chosen(-time.Minute)(f)
		f.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}
		f.View = &shards.View{}
	}
}

// podReplaced makes the pod of a shard another one than that of its runner, as after a deletion by force.
func podReplaced(shard int) func(*run.Facts) {
	return func(f *run.Facts) {
		f.View.Shards[shard].Pod = shards.Pod{Name: f.Job.Name + "-0-x", UID: "x"}
		f.Pods[shard].UID, f.Record.Losses = "y", 2
	}
}

// podEnded ends a pod after some Jobs were lost before.
func podEnded(shard, losses int) func(*run.Facts) {
	return func(f *run.Facts) {
		f.Pods[shard].Status.Phase = corev1.PodFailed
		f.Pods[shard].Status.ContainerStatuses = nil
		f.Record.Losses = losses
	}
}
