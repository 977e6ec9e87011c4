package loadtest

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// waits has when a test began to wait for its runners. All times are of the operator's clock: those in the status of
// Jobs and pods are of the clocks of other machines, and startTimeout can be a second.
type waits struct {
	job types.UID
	// admitted is when this process first saw the Job without a queue that suspends it.
	admitted time.Time
	// running is when this process first saw the runners of all shards running; zero: they do not all run.
	running time.Time
}

// waitsOf updates and returns the waits of the present Job.
func (r *reconciler) waitsOf(s *scope) waits {
	c := r.memory.of(s.lt)
	if c.waits.job != s.job.UID {
		c.waits = waits{job: s.job.UID}
	}
	w := &c.waits
	if jobSuspended(s.job) {
		w.admitted = time.Time{}
	} else if w.admitted.IsZero() {
		w.admitted = s.now
	}
	if !allRunning(s) {
		w.running = time.Time{}
	} else if w.running.IsZero() {
		w.running = s.now
	}
	return *w
}

// readyLimit returns how long the test waits for all runners, and since when. The time before a queue admits the Job
// does not count.
func (s *scope) readyLimit() (from time.Time, limit time.Duration) {
	w := &s.waits
	created := w.admitted
	if !wasSuspended(s.job) && len(s.run.Changes) > 0 {
		created = s.run.Changes[0].DecidedAt.Time // stored, so that a restart of the operator does not extend the time
	}
	switch t := s.lt.Spec.Runner.StartTimeout; {
	case t != nil:
		return created, readyWithin(s.plan, t.Duration)
	case w.running.IsZero():
		return created, s.cfg.Runner.PodTimeout.Duration
	}
	return w.running, readyWithin(s.plan, s.cfg.Runner.ReadyTimeout.Duration)
}

// wasSuspended returns whether a queue suspended the Job at any time. The Job controller keeps the condition.
func wasSuspended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
}
