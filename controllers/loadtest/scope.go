package loadtest

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/storage"
)

// scope is what one pass knows.
type scope struct {
	// now, cfg, lt, address and podsGrace (see Options; zero: its default) are set by read and do not change.
	now       time.Time
	cfg       *configv1alpha1.OperatorConfig
	lt        *v1alpha1.LoadTest
	podsGrace time.Duration
	// address returns where the runner of a pod answers.
	address func(*corev1.Pod) string
	// run is the run record. Only decide replaces it. hasRecord is false if it is not stored yet.
	run       *record.Record
	hasRecord bool
	// configMaps are those that the run owns.
	configMaps []child
	// endedRunners are the runners that ended before the test, oldest first.
	endedRunners []endedRunner
	// job is the Job of the current attempt; nil: there is none.
	job *batchv1.Job
	// formerJobs are the Jobs of earlier attempts, which a pass deletes.
	formerJobs []*batchv1.Job
	// pods are the pods of job by shard. If a shard has several, it is the oldest one whose runner is not recorded.
	pods map[int]*corev1.Pod
	// allPods are all pods of job.
	allPods []*corev1.Pod
	// end is how the run ended; nil: it has not.
	end *record.End

	// plan is nil until a pass compiled or read it. planHash is its hash, planDigest its digest; see plan.Canonical.
	plan                 *runnerv1alpha1.Plan
	planHash, planDigest string
	warnings             string
	// canonical are the canonical bytes of a plan that was compiled now.
	canonical []byte
	// addresses is the policy of the plan.
	addresses *runnerv1alpha1.AddressPolicy
	// blocked is why the run does not go on; nil: it does.
	blocked *blocker

	// present is what the spec says of rates and shards while the test runs. edits are the differences to the record that take effect.
	present *present
	edits   []record.Edit
	// notApplied is why rates or shards of the spec have no effect on the run; empty: they have.
	notApplied string

	// refused are the writes that the API server refuses.
	refused []refusedWrite
	// podsError and mountError are events about missing pods and volumes; empty: none.
	podsError, mountError string
	// waits has since when the runners could be ready.
	waits waits
	// problem is what keeps pods from running; nil: nothing known.
	problem *blocker
	// view is what the collector knows of the runners. It is empty before syncCollector, and never nil.
	view *collect.View
	// report sums up all snapshots; nil before the start.
	report *runnerv1alpha1.Report
	// chains are the counters of the plan's chains, in its order.
	chains []runnerv1alpha1.ChainCounters
	// errorsSoFar is the error rate without the requests in flight.
	errorsSoFar float64

	// failing says how often, and why, passes fail; empty: they do not.
	failing string
	// upload is the state of the upload of the report, as this process knows it.
	upload storage.State
	// edited is true if the spec changed after the end.
	edited bool
	// requeue is the time until the next pass; zero: an event brings it.
	requeue time.Duration
	// gone is true if the LoadTest was deleted.
	gone bool
}

// again makes the next pass come no later than after d.
func (s *scope) again(d time.Duration) {
	d = max(d, time.Millisecond)
	if s.requeue == 0 || d < s.requeue {
		s.requeue = d
	}
}

func (s *scope) key() client.ObjectKey { return client.ObjectKeyFromObject(s.lt) }

// startDecided returns whether the record has the start. The run cannot start again.
func (s *scope) startDecided() bool { return s.run.Start != nil }

// held returns whether spec.suspend keeps the test from starting.
func (s *scope) held() bool {
	return s.lt.Spec.Suspend && !s.startDecided() && s.end == nil && s.planError() == nil
}

// firstSeen is when the operator saw the first valid spec, by its own clock.
func (s *scope) firstSeen() time.Time {
	if !s.hasRecord {
		return s.now
	}
	return s.run.Created.Time
}

// overdue returns whether spec.activeDeadlineSeconds passed since the operator first saw the LoadTest.
func (s *scope) overdue() bool {
	d := s.lt.Spec.ActiveDeadlineSeconds
	if d == nil {
		return false
	}
	if s.inQueue() {
		return false
	}
	from := s.firstSeen()
	if s.run.Admitted != nil {
		from = s.run.Admitted.Time
	}
	wait := from.Add(time.Duration(*d) * time.Second).Sub(s.now)
	if wait > 0 {
		s.again(wait)
	}
	return wait <= 0
}

// inQueue returns whether the test did not start because it needs its lock, or because a queue suspends its Job.
func (s *scope) inQueue() bool {
	switch {
	case s.startDecided() || s.end != nil:
		return false
	case s.lt.Spec.Lock != "" && s.run.Admitted == nil:
		return true
	}
	return s.job != nil && jobSuspended(s.job)
}

// Reasons of an early end, as runners get them with Stop and a report shows them in Stopped.
const (
	stopBySpec     = "spec.stop"
	stopByDeadline = "spec.activeDeadlineSeconds"
	stopByLoss     = "spec.runner.onShardLost"
	stopByTooFew   = "spec.runner.minShards"
)

// stop returns why the run must end early whatever the runners do; empty: it must not. A recorded decision stays.
func (s *scope) stop() string {
	switch {
	case s.run.Stop != nil:
		return s.run.Stop.Reason
	case s.lt.Spec.Stop:
		return stopBySpec
	case s.overdue():
		return stopByDeadline
	}
	return ""
}

// stopByLosses returns why the losses of a record end the run; empty: they do not.
func (s *scope) stopByLosses(run *record.Record) string {
	switch {
	case !slices.ContainsFunc(run.Shards, func(rec record.Shard) bool { return rec.Loss != nil && rec.Member }):
		return ""
	case s.policy() == v1alpha1.ShardLostFail:
		return stopByLoss
	case s.policy() == v1alpha1.ShardLostContinue && s.lt.Spec.Search != nil: // the others cannot send the load of a probe
		return stopByLoss
	case s.lt.Spec.Runner.MinShards != nil && !s.takenOver() && s.remaining() < int(*s.lt.Spec.Runner.MinShards):
		return stopByTooFew
	}
	return ""
}

// remaining returns the number of shards that have a share of the load and are not lost.
func (s *scope) remaining() int {
	n := 0
	for _, i := range s.view.Members {
		if i < len(s.view.Shards) && s.view.Shards[i].Lost == nil {
			n++
		}
	}
	return n
}

// policy returns spec.runner.onShardLost.
func (s *scope) policy() v1alpha1.ShardLostAction {
	if p := s.lt.Spec.Runner.OnShardLost; p != "" {
		return p
	}
	return v1alpha1.ShardLostFail
}

// shards returns the desired number of shards: before the start that of the plan, then the recorded one.
func (s *scope) shards() int {
	switch {
	case s.plan == nil:
		return int(s.lt.Spec.Runner.Shards)
	case s.startDecided():
		return s.run.Live.Shards
	}
	return s.plan.Shards
}
