package record

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// LoadEnd returns when the runners of a plan have had their last response, if they get no more orders; zero: that is
// not known, because the load has not begun, a stage ends by requests, the operator ends the probes of a search, or the
// load is suspended.
func (r *Record) LoadEnd(p *runnerv1alpha1.Plan) time.Time {
	if end := r.LastDue(p); !end.IsZero() {
		return end.Add(p.GracefulStop + p.Drain)
	}
	return time.Time{}
}

// LastDue returns until when runners of a plan send, if they get no more orders; zero: as LoadEnd.
func (r *Record) LastDue(p *runnerv1alpha1.Plan) time.Time {
	if r.Start == nil {
		return time.Time{}
	}
	end, known := p.Length()
	if known = known && p.Search == nil; known {
		end, known = r.withPauses(end)
	}
	if deadline := p.Deadline; deadline > 0 && (!known || deadline < end) {
		end, known = deadline, true
	}
	if !known {
		return time.Time{}
	}
	return r.Start.Time.Add(end)
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
