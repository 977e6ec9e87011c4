package run

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/report/baseline"
)

// Facts are what one pass knows of a run.
type Facts struct {
	// Now, Config, LoadTest, Address and PodsGrace (zero: its default) do not change during a pass.
	Now       time.Time
	Config    *configv1alpha1.OperatorConfig
	LoadTest  *v1alpha1.LoadTest
	PodsGrace time.Duration
	// Address returns where the runner of a pod answers.
	Address func(*corev1.Pod) string
	// Record is the run record; never nil. It is replaced when a decision is stored. Stored is false if there is none yet.
	Record *record.Record
	Stored bool
	// Ended are the runners that ended before the test, oldest first.
	Ended []shards.Recorded
	// Job is the Job of the current attempt; nil: there is none.
	Job *batchv1.Job
	// FormerJobs are the Jobs of earlier attempts, which a pass deletes.
	FormerJobs []*batchv1.Job
	// Pods are the pods of Job by shard. If a shard has several, it is the oldest one whose runner is not recorded.
	Pods map[int]*corev1.Pod
	// AllPods are all pods of Job.
	AllPods []*corev1.Pod
	// Plan is nil until a pass compiled or read it. PlanHash is its hash, PlanDigest its digest; see plan.Canonical.
	Plan                 *runnerv1alpha1.Plan
	PlanHash, PlanDigest string
	// Warnings are those of the compilation of Plan.
	Warnings string
	// Canonical are the canonical bytes of a plan that was compiled now.
	Canonical []byte
	// ConfigMaps are those that the run owns.
	ConfigMaps []Child
	// Addresses is the address policy of a plan that is compiled now.
	Addresses *runnerv1alpha1.AddressPolicy
	// Unlocked is why a test that waits for its lock does not have it; nil: it has it, or does not wait for one.
	Unlocked *Blocker
	// Blocked is why the run does not go on; nil: it does.
	Blocked *Blocker
	// Present is what the spec says of rates and shards while the test runs. Edits are the differences to the record that
	// take effect.
	Present *Present
	Edits   []record.Edit
	// NotApplied is why rates or shards of the spec have no effect on the run; empty: they have. Edited is true if the
	// spec changed after the end.
	NotApplied string
	Edited     bool
	// Refused are the writes that the API server refuses.
	Refused []Refusal
	// Failing says how often, and why, passes fail; empty: they do not.
	Failing string
	// PodsError and MountError are events about missing pods and volumes; empty: none.
	PodsError, MountError string
	// Waits has since when the runners could be ready.
	Waits Waits
	// Problem is what keeps pods from running; nil: nothing known.
	Problem *Blocker
	// View is what the collector knows of the runners. It is empty before a pass asked the collector, and never nil.
	View *shards.View
	// ShardsRevision is that of the number of shards that the collector got last.
	ShardsRevision int64
	// Report sums up all snapshots; nil before the start.
	Report *runnerv1alpha1.Report
	// Baselines are the reports that thresholds compare with. A pass reads them when the runners have ended.
	Baselines map[runnerv1alpha1.BaselineSource]baseline.Found
	// Requeue is the time until the next pass; zero: an event brings it.
	Requeue time.Duration
}

// Child names an object of a run, so that another one of the same name cannot replace it.
type Child struct {
	Name string
	UID  types.UID
}

// JobUID is the UID of the Job whose pods are the runners; empty: there is none. After the start it is known even if
// the Job was deleted.
func (f *Facts) JobUID() types.UID {
	switch {
	case f.StartDecided():
		return f.Record.Start.Job
	case f.Job != nil:
		return f.Job.UID
	}
	return ""
}

// AddPod makes a pod that of its shard, unless its runner is over, an older one is there or a queue ended it.
func (f *Facts) AddPod(shard int, pod *corev1.Pod) {
	if f.Pods[shard] == nil && !f.IsRecorded(shard, pod.UID) && !f.endedByQueue(pod) {
		f.Pods[shard] = pod
	}
}

// endedByQueue returns whether a pod is deleted before the start and the Job can be suspended for that. The pod can
// terminate while the queue admits the Job again. The Job controller counts it only if a user or a drain deleted it.
func (f *Facts) endedByQueue(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && !f.StartDecided() && WasSuspended(f.Job)
}

// IsRecorded returns whether the record has a runner that ended.
func (f *Facts) IsRecorded(shard int, pod types.UID) bool { return f.Record.Find(shard, pod) != nil }

// MicroTime is the time of the pass as the API stores it.
func (f *Facts) MicroTime() metav1.MicroTime {
	return metav1.NewMicroTime(f.Now.UTC().Truncate(time.Microsecond))
}

// Again makes the next pass come no later than after d.
func (f *Facts) Again(d time.Duration) {
	d = max(d, time.Millisecond)
	if f.Requeue == 0 || d < f.Requeue {
		f.Requeue = d
	}
}

// Key is the name of the LoadTest.
func (f *Facts) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: f.LoadTest.Namespace, Name: f.LoadTest.Name}
}

// StartDecided returns whether the record has the start. The run cannot start again.
func (f *Facts) StartDecided() bool { return f.Record.Start != nil }

// Held returns whether spec.suspend keeps the test from starting.
func (f *Facts) Held() bool {
	return f.LoadTest.Spec.Suspend && !f.StartDecided() && f.Record.End == nil && f.PlanError() == nil
}

// Policy returns spec.runner.onShardLost.
func (f *Facts) Policy() v1alpha1.ShardLostAction {
	if p := f.LoadTest.Spec.Runner.OnShardLost; p != "" {
		return p
	}
	return v1alpha1.ShardLostFail
}

// ToleratesLoss returns whether the loss of a runner does not end the test as such. Other rules can still end it:
// minShards, and Continue in a search.
func (f *Facts) ToleratesLoss() bool { return f.Policy() != v1alpha1.ShardLostFail }

// Shards returns the desired number of shards: before the start that of the plan, then the recorded one.
func (f *Facts) Shards() int {
	switch {
	case f.Plan == nil:
		return int(f.LoadTest.Spec.Runner.Shards)
	case f.StartDecided():
		return f.Record.Live.Shards
	}
	return f.Plan.Shards
}

// PodOf returns the UID of a runner's pod. The collector does not know it if the pod was deleted before this operator
// started.
func PodOf(rec *record.Record, shard int, seen *shards.Shard) types.UID {
	if seen.Pod.UID != "" {
		return seen.Pod.UID
	}
	return rec.Pods[shard].UID
}

// Present has the rates and shards of the present spec. Why says what of the spec has no effect; the values in the
// record stay for that.
type Present struct {
	Generation int64
	Rates      []runnerv1alpha1.Rate
	Shards     int
	Why        string
}

// Fields of the spec that can change while the test runs, as status shows them. The others are rates.
const (
	FieldSuspend = "suspend"
	FieldShards  = "runner.shards"
)

// Starters are the shards that a test that has not started starts with, sorted; nil: all.
func (f *Facts) Starters() []int {
	if newest := f.Record.Newest(); newest != nil && len(newest.Members) < f.Plan.Shards {
		return newest.Members
	}
	return nil
}
