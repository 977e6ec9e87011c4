package decide

import (
	"testing"
	"time"

	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// TestAppliedAfterAPause: the time of a pause counts neither for the stages nor for the deadline of the plan.
func TestAppliedAfterAPause(t *testing.T) {
	f := runtest.New(runtest.WithJob, runtest.Started)
	f.Plan.Deadline = 2 * time.Minute // that of a plan whose stages have durations is above their sum
	f.Record.Changes = append(f.Record.Changes, record.Change{At: int64(10 * time.Second), Suspended: true},
		record.Change{At: int64(10 * time.Minute)})
	edits := []record.Edit{runtest.SuspendEdited(2, false)}
	at, end := runtest.Now.Add(-time.Second), 10*time.Minute+50*time.Second
	for since, want := range map[time.Duration]bool{end - 1: true, end: false} {
		f.View = &shards.View{Generation: 2, Applied: []shards.Applied{{Generation: 2, At: at, Since: since}}}
		if got := appliedSince(f, edits); (got != nil) != want {
			t.Errorf("applied %v after the start: %v, want a time: %v", since, got, want)
		}
	}
}
