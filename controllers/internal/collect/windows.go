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

func newSeries(d *Desired) *series {
	return &series{Windows: result.NewWindows(d.Plan, d.Plan.Shards)}
}

// of a view in which there is nothing more to come: the windows, and from when on there are some.
func (s *series) of(v *View) ([]runnerv1alpha1.Window, int64) {
	if !s.ended && v.Over() {
		s.ended = true
		// What cannot be read did not get as far as here: result.Fits.
		s.list, s.from, _ = s.List()
	}
	return s.list, s.from
}

// note tells the windows what is asked from a change on.
func (r *run) note(c *change) {
	rates := c.Rates
	if len(rates) == 0 {
		rates = r.d.Plan.Rates
	}
	if c.Suspended {
		rates = make([]runnerv1alpha1.Rate, len(rates)) // nothing is asked
	}
	r.windows.Change(time.Duration(c.At), rates)
}
