package collect

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
)

// series has the windows of a run. They are in memory only: whoever takes over from another operator
// begins them anew.
type series struct {
	*result.Windows
	ended bool
	list  []runnerv1alpha1.Window
	from  int64
}

func newSeries(d *Desired, shards int) *series {
	return &series{Windows: result.NewWindows(d.Plan, shards)}
}

// of a view in which there is nothing more to come: the windows, and from when on there are some.
func (s *series) of(v *View) ([]runnerv1alpha1.Window, int64) {
	if !s.ended && v.Every((*Shard).Final) {
		s.ended = true
		// What cannot be read did not get as far as here: result.Fits.
		s.list, s.from, _ = s.List()
	}
	return s.list, s.from
}

// note tells the windows what is asked from an offset on.
func (r *run) note(l *Live, at time.Duration) {
	if len(l.Rates) != len(r.d.Plan.Rates) {
		return // those of the plan
	}
	rates := l.Rates
	if l.Suspended {
		rates = make([]runnerv1alpha1.Rate, len(l.Rates)) // nothing is asked
	}
	r.windows.Change(at, rates)
}

// sinceStart is the offset of an instant of our clock; zero before the start.
func (r *run) sinceStart(at int64) time.Duration {
	begun := at
	for _, s := range r.shards {
		if s.snapshot != nil && s.snapshot.StartedAt != 0 {
			begun = min(begun, s.snapshot.StartedAt+s.offset)
		}
	}
	return time.Duration(at - begun)
}
