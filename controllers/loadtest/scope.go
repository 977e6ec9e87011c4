package loadtest

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// scope is all that one pass knows. It lives as long as the pass.
type scope struct {
	// Set by read, before the first phase; lt and now never change after that.
	now time.Time
	lt  *v1alpha1.LoadTest
	// run is the run record. Only decide replaces it. recorded is false if it is not stored yet.
	run      *record.Record
	recorded bool
	// plans are the ConfigMaps of plans that the run owns, oldest first.
	plans []*corev1.ConfigMap
	// endedRunners are the runners that ended before the test, oldest first. Phase records adds to
	// it.
	endedRunners []endedRunner
	// job is the Job of the current attempt; nil: there is none. Phase runners may create or replace it.
	job *batchv1.Job
	// formerJobs are those of earlier attempts; phase runners deletes them.
	formerJobs []*batchv1.Job
	// pods of job by shard; of several of a shard the oldest whose runner is not recorded. allPods are
	// those of job, recorded or not.
	pods    map[int]*corev1.Pod
	allPods []*corev1.Pod
	// end is how the run ended; nil: it has not. Phase finish may set it.
	end *record.End

	// Facts of phase plan; plan is nil as long as there is none.
	plan     *runnerv1alpha1.Plan
	planHash string
	warnings string
	// obstacle keeps the run from beginning; nothing changes it but somebody else.
	obstacle *obstacle
	// waiting says what is in the way for a moment; empty: nothing.
	waiting string

	// live is what the runners are to have in force; a generation of zero: nothing is to be told.
	live collect.Live
	// behind: runners were told of a newer spec than the cache has.
	behind bool
	// startWith are the shards that the test is to start with, sorted; nil: all.
	startWith []int
	// notApplied is why rates or shards of the spec have no effect on the run; empty: they have.
	notApplied string

	// refused are the writes that the API server refuses.
	refused []refusedWrite
	// podsError and mountError are events about missing pods and volumes; empty: none.
	podsError, mountError string
	// problem is what keeps pods from running; nil: nothing known.
	problem *problem
	// view is what is known of the runners; never nil after phase collect.
	view *collect.View
	// report is that of all snapshots so far; nil before the start.
	report *runnerv1alpha1.Report
	// chains has the counts of the plan's chains, which a Report sums up; in its order.
	chains []runnerv1alpha1.ChainCounters
	// errorsSoFar leaves out what is in flight.
	errorsSoFar float64

	// edited: the run has ended and the spec is another one since.
	edited bool
	// requeue is when to look again at the latest; zero: when something happens.
	requeue time.Duration
	// gone: nothing of the run is left to have a status.
	gone bool
}

// obstacle is a reason of PlanReady=False.
type obstacle struct {
	reason, message string
	// invalid: the spec itself is at fault, which is an end until it is edited.
	invalid bool
}

// again makes the next pass come no later than after d.
func (s *scope) again(d time.Duration) {
	d = max(d, time.Millisecond)
	if s.requeue == 0 || d < s.requeue {
		s.requeue = d
	}
}

func (s *scope) key() client.ObjectKey { return client.ObjectKeyFromObject(s.lt) }

// mayStart returns whether the start is decided. The run cannot start again.
func (s *scope) mayStart() bool { return s.run.Start != nil }

// held: spec.suspend keeps the test from starting.
func (s *scope) held() bool {
	return s.lt.Spec.Suspend && !s.mayStart() && s.end == nil && s.obstacle == nil
}

// firstSeen is when the operator saw the first valid spec, by its own clock.
func (s *scope) firstSeen() time.Time {
	if !s.recorded {
		return s.now
	}
	return s.run.Created.Time
}

// overdue: spec.activeDeadlineSeconds have passed since the LoadTest was first seen.
func (s *scope) overdue() bool {
	d := s.lt.Spec.ActiveDeadlineSeconds
	if d == nil {
		return false
	}
	left := s.firstSeen().Add(time.Duration(*d) * time.Second).Sub(s.now)
	if left > 0 {
		s.again(left)
	}
	return left <= 0
}

// Reasons that runners are told when they are stopped, and that a report has in Stopped.
const (
	stopBySpec     = "spec.stop"
	stopByDeadline = "spec.activeDeadlineSeconds"
	stopByLoss     = "spec.runner.onShardLost"
	stopByTooFew   = "spec.runner.minShards"
)

// stop is why the run must end early; empty: it must not. A decision that is stored stays.
func (s *scope) stop() string {
	switch {
	case s.run.Stop != nil:
		return s.run.Stop.Reason
	case s.lt.Spec.Stop:
		return stopBySpec
	case s.overdue():
		return stopByDeadline
	}
	return s.stopByLosses()
}

// stopByLosses is why losses end the run; empty: they do not.
func (s *scope) stopByLosses() string {
	lost := 0
	for i := range s.endedRunners {
		if s.endedRunners[i].Loss != nil && s.endedRunners[i].member {
			lost++
		}
	}
	switch {
	case lost == 0:
		return ""
	case s.policy() == v1alpha1.ShardLostFail:
		return stopByLoss
	case s.lt.Spec.Runner.MinShards != nil && !s.takenOver() && s.left() < int(*s.lt.Spec.Runner.MinShards):
		return stopByTooFew
	}
	return ""
}

// left is the number of shards that have a part of the load and are not lost.
func (s *scope) left() int {
	n := 0
	for _, i := range s.view.Members {
		if i < len(s.view.Shards) && s.view.Shards[i].Lost == nil {
			n++
		}
	}
	return n
}

// policy is what becomes of the test when a shard is lost.
func (s *scope) policy() v1alpha1.ShardLostAction {
	if p := s.lt.Spec.Runner.OnShardLost; p != "" {
		return p
	}
	return v1alpha1.ShardLostFail
}

// shards is how many there are to be: those of the plan before the start, what spec asks for after it.
func (s *scope) shards() int {
	switch {
	case s.plan == nil:
		return int(s.lt.Spec.Runner.Shards)
	case s.mayStart():
		return s.run.Live.Shards
	}
	return s.plan.Shards
}
