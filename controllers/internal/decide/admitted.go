package decide

import (
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Admitted records whether the test waits for its lock or in a queue, and when a wait ended: activeDeadlineSeconds
// counts from then. A wait also ends because the test needs the lock no more, or its suspended Job was deleted.
func Admitted(f *run.Facts, next *record.Record) error {
	waits := f.Unlocked != nil || f.Job != nil && run.JobSuspended(f.Job)
	missed := next.Admitted == nil && f.Job != nil && run.WasSuspended(f.Job) // no pass saw the Job suspended
	if !waits && (next.Queued || missed) {
		now := f.MicroTime()
		next.Admitted = &now
	}
	next.Queued = waits
	return nil
}
