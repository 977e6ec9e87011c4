package decide

import (
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Admit records that the test left a queue, or that it does not wait for its lock.
func Admit(f *run.Facts, next *record.Record) error {
	now := f.MicroTime()
	next.Admitted = &now
	return nil
}

// Admitted records when a queue admitted the Job of the test: activeDeadlineSeconds counts from then.
func Admitted(f *run.Facts, next *record.Record) error {
	if f.Job == nil {
		return nil
	}
	waits := run.JobSuspended(f.Job)
	missed := next.Admitted == nil && run.WasSuspended(f.Job) // no pass saw the Job suspended
	if waits == next.Queued && (waits || !missed) {
		return nil
	}
	if next.Queued = waits; waits {
		return nil
	}
	return Admit(f, next)
}
