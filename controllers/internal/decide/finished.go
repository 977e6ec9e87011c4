package decide

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Released returns whether the operator needs the runners of a run that has ended no more. A runner exits after the
// operator has acknowledged its final snapshot, and the operator waits for that until podGrace after the end.
func Released(f *run.Facts) bool {
	if f.Job == nil || f.Job.DeletionTimestamp != nil || !f.Record.End.Started || podsEnded(f) {
		return true
	}
	left := f.Record.End.Time.Add(f.Config.Report.PodGrace.Duration).Sub(f.Now)
	if left > 0 {
		f.Again(left)
	}
	return left <= 0
}

// Finished returns what remains to do after the end of a run.
func Finished(f *run.Facts) (out []Operation) {
	noRecord := f.Record.End.Reason == v1alpha1.ReasonRunRecordMissing
	if f.Record.End.Started || noRecord {
		out = append(out, Operation{What: "the deletion of the counts", DropCounts: true,
			Once: late(f, f.Record.End.Time.Time)})
	}
	out = append(out, deleteSecret(f, f.Record.End.Time.Time))
	if noRecord { // its runners may still send, and nothing else stops them
		out = append(append(out, DeleteFormer(f)...), DeleteBudget(f))
	} else {
		out = append(out, expireFormer(f, f.Record.End.Time.Time)...)
	}
	switch {
	case f.Job == nil || !Released(f):
	case podsEnded(f):
		out = append(out, expire(f, f.Job, true, f.Record.End.Time.Time)...)
	default:
		out = append(out, DeleteJobs(f.Job)...)
	}
	return out
}

// Leftovers deletes the budget, the Secret and the Jobs of a finished test whose record was deleted, when they would go
// with a record.
func Leftovers(f *run.Facts) []Operation {
	finished := f.LoadTest.Status.CompletionTime.Time
	return append([]Operation{DeleteBudget(f), deleteSecret(f, finished)}, expireFormer(f, finished)...)
}

// expire deletes a Job of a test that finished at a time: after ttlAfterFinished if its pods have ended, so that users
// can read their logs, else after podGrace.
func expire(f *run.Facts, job *batchv1.Job, podsEnded bool, finished time.Time) []Operation {
	keep := f.Config.Report.PodGrace.Duration
	if podsEnded {
		keep = f.Config.Runner.TTLAfterFinished.Duration
	}
	if left := finished.Add(keep).Sub(f.Now); left > 0 {
		f.Again(left)
		return nil
	}
	return DeleteJobs(job)
}

// expireFormer does so for the Jobs of earlier attempts and for those of a test whose record was deleted after the end.
func expireFormer(f *run.Facts, finished time.Time) (out []Operation) {
	for _, job := range f.FormerJobs {
		out = append(out, expire(f, job, run.JobEnded(job), finished)...)
	}
	return out
}

// podsEnded returns whether all pods of the Job have ended without a deletion. The Job then stays for ttlAfterFinished,
// because the logs of its pods go with it. A pod whose runner has ended and whose sidecar continues has not ended.
func podsEnded(f *run.Facts) bool {
	if run.JobEnded(f.Job) {
		return true
	}
	shards := map[string]bool{}
	for _, pod := range f.AllPods {
		if !run.PodFinished(pod) {
			return false
		}
		shards[pod.Annotations[batchv1.JobCompletionIndexAnnotation]] = true
	}
	for i := range run.Completions(f.Job) {
		if !shards[strconv.Itoa(i)] {
			return false
		}
	}
	return true
}
