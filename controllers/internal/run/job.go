package run

import (
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// JobSuspended returns whether a queue such as Kueue holds the Job back.
func JobSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// JobEnded returns whether the Job controller reports the end of a Job.
func JobEnded(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// Completions returns the number of indices of a Job.
func Completions(job *batchv1.Job) int {
	if job.Spec.Completions == nil {
		return 0
	}
	return int(*job.Spec.Completions)
}

// Spent returns whether the Job counts an index as ended. It creates no pod for the index until it had fewer indices.
func Spent(job *batchv1.Job, index int) bool {
	lists := []string{job.Status.CompletedIndexes}
	if job.Status.FailedIndexes != nil {
		lists = append(lists, *job.Status.FailedIndexes)
	}
	return slices.ContainsFunc(lists, func(list string) bool { return listed(list, index) })
}

// listed returns whether a list of a Job's status, such as "0,3-5", contains an index.
func listed(list string, index int) bool {
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err1 == nil && err2 == nil && low <= index && index <= high {
			return true
		}
	}
	return false
}

// Waits has when a test began to wait for its runners. All times are of the operator's clock: those in the status of
// Jobs and pods are of the clocks of other machines, and startTimeout can be a second.
type Waits struct {
	Job types.UID
	// Admitted is when this process first saw the Job without a queue that suspends it.
	Admitted time.Time
	// Running is when this process first saw the runners of all shards running; zero: they do not all run.
	Running time.Time
}

// JobSince returns since when the Job can create pods: since the operator decided it, or since a queue admitted it. A
// decision in the future is of a clock that was ahead: the time would not end before this one is there.
func (f *Facts) JobSince() time.Time {
	if !WasSuspended(f.Job) && len(f.Record.Changes) > 0 {
		decided := f.Record.Changes[0].DecidedAt.Time // stored, so that a restart of the operator does not extend the time
		if !decided.After(f.Now) || f.Waits.Admitted.IsZero() {
			return decided
		}
	}
	return f.Waits.Admitted
}

// WasSuspended returns whether a queue suspended the Job at any time. The Job controller keeps the condition.
func WasSuspended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions,
		func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
}

// LabelQueue on a Job is the queue of Kueue that manages it. AnnotationElastic allows a change of the number of its
// indices meanwhile.
const (
	LabelQueue        = "kueue.x-k8s.io/queue-name"
	AnnotationElastic = "kueue.x-k8s.io/elastic-job"
)

// fixedByQueue returns whether the number of indices of a Job that runs cannot change. Kueue suspends a Job whose
// number differs from that which it admitted, which ends the runners, unless the Job is elastic. If Kueue admitted the
// Job before the Job controller saw it, only the label shows the queue.
func fixedByQueue(job *batchv1.Job) bool {
	return (WasSuspended(job) || job.Labels[LabelQueue] != "") && job.Annotations[AnnotationElastic] != "true"
}
