// Package runtest has facts of runs for tests.
package runtest

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/load/split"
)

// Now is the time of the pass.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// New returns a run of two shards that nothing has been done for yet, after some changes.
func New(changes ...func(*run.Facts)) *run.Facts {
	f := &run.Facts{Now: Now, LoadTest: &v1alpha1.LoadTest{}, View: &shards.View{}, Pods: map[int]*corev1.Pod{}}
	f.LoadTest.Namespace, f.LoadTest.Name, f.LoadTest.Generation = "core", "pcf", 1
	f.LoadTest.Spec.Runner.Shards = 2
	f.PlanHash = strings.Repeat("ab", 32)
	f.Record = &record.Record{State: record.Pending}
	f.Plan = &runnerv1alpha1.Plan{
		Shards: 2,
		Chains: []runnerv1alpha1.Chain{{Name: "session", Steps: []runnerv1alpha1.Step{{Name: "create"}, {Name: "delete"}}}},
		Rates:  []runnerv1alpha1.Rate{{Name: "hold", Count: 100, Period: time.Second, Duration: time.Minute}},
	}
	for _, change := range changes {
		change(f)
	}
	return f
}

// WithJob gives the run a Job with two pods.
func WithJob(f *run.Facts) {
	f.Job = &batchv1.Job{}
	f.Job.Name, f.Job.CreationTimestamp = "pcf-1", metav1.NewTime(Now)
	f.Record = &record.Record{
		Version: record.Version, State: record.Preparing, Attempt: 1, Plan: record.Plan{Hash: f.PlanHash, Generation: 1},
		Changes: []record.Change{{Revision: 1, Generation: 1, Members: split.All(f.Plan.Shards),
			Rates: record.RatesOf(f.Plan.Rates), DecidedAt: metav1.NewMicroTime(Now)}},
	}
	f.Stored = true
	for i := range 2 {
		f.Pods[i] = &corev1.Pod{}
	}
}

// PodsRun makes the runners of all pods run.
func PodsRun(f *run.Facts) {
	for _, pod := range f.Pods {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name:  desired.RunnerContainer,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now)}},
		}}
	}
}

// Started decides the start.
func Started(f *run.Facts) {
	live := record.Live{Generation: 1, Rates: record.RatesOf(f.Plan.Rates), Shards: f.Plan.Shards}
	f.Record.State, f.Record.Live, f.Record.Start = record.Running, live, &record.Start{Time: metav1.NewMicroTime(Now),
		Job: f.Job.UID, Live: live}
}

// RunnersAre gives each shard a snapshot in a state, with 100 requests sent from Running on.
func RunnersAre(states ...runnerv1alpha1.State) func(*run.Facts) {
	return func(f *run.Facts) {
		for i, said := range states {
			snap := &runnerv1alpha1.Snapshot{Protocol: runnerv1alpha1.ProtocolVersion, Shard: i, Boot: "boot", Sequence: 1,
				State: said, Clock: int64(time.Minute)}
			switch said {
			case runnerv1alpha1.StateConnecting, runnerv1alpha1.StateSettingUp, runnerv1alpha1.StateReady:
			default:
				snap.StartedAt = 1
				snap.Counters.Requests.Outcomes = runnerv1alpha1.Outcomes{Sent: 100, Done: 90, Succeeded: 90, InFlightAtEnd: 10}
			}
			f.View.Shards = append(f.View.Shards, shards.Shard{Index: i, Pod: shards.Pod{Name: "pod"}, Snapshot: snap,
				Member: true})
			f.View.Members = append(f.View.Members, i)
		}
		Summarize(f)
	}
}

// Summarize does what the collector does with snapshots.
func Summarize(f *run.Facts) {
	if err := f.View.Summarize(f.Plan, f.ToleratesLoss()); err != nil {
		panic(err)
	}
	f.See(f.View)
}

// ShardLost loses the runner of a shard.
func ShardLost(i int) func(*run.Facts) {
	return func(f *run.Facts) {
		f.View.Shards[i].Lost = &record.Loss{Message: "OOMKilled"}
		Summarize(f)
	}
}
