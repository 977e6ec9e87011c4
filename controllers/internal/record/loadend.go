package record

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// LoadEnd returns when the runners of a plan have had their last response, if they get no more orders; zero: that is
// not known, because the load has not begun or is suspended, or because the plan has no deadline, and a stage ends by
// requests or the operator ends the probes of a search.
func (r *Record) LoadEnd(p *runnerv1alpha1.Plan) time.Time {
	if end, known := r.LastDue(p); known {
		return r.Start.Time.Add(end + p.GracefulStop + p.Drain)
	}
	return time.Time{}
}

// LastDue returns for how long after the start runners of a plan send, if they get no more orders; false: as LoadEnd.
// Runners count the time of a suspension neither for a stage nor for the deadline. The start that they know is later
// than Start.Time, by seconds if a successor chose it.
func (r *Record) LastDue(p *runnerv1alpha1.Plan) (end time.Duration, known bool) {
	if r.Start == nil {
		return 0, false
	}
	end, known = p.Length()
	known = known && p.Search == nil
	if deadline := p.Deadline; deadline > 0 && (!known || deadline < end) {
		end, known = deadline, true
	}
	if !known {
		return 0, false
	}
	return r.withPauses(end)
}

// withPauses adds the times in which the load was suspended; false: it is suspended.
func (r *Record) withPauses(left time.Duration) (end time.Duration, known bool) {
	for i := range r.Changes {
		c := &r.Changes[i]
		last := i+1 == len(r.Changes)
		switch {
		case c.Suspended:
		case last || c.At+int64(left) <= r.Changes[i+1].At:
			return time.Duration(c.At) + left, true
		default:
			left -= time.Duration(r.Changes[i+1].At - c.At)
		}
	}
	return 0, false
}
