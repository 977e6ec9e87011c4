package loop

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
)

// selections are the parts of the requests that thresholds are on. Without such thresholds, counting costs one
// comparison.
type selections struct {
	of []rv.Selection
	// steps is the number of steps. requests has the indices of the selections of a request, at stage * steps + step. slots
	// has the indices of those that a slot of a stage belongs to if it was not given to a step.
	steps           int
	requests, slots [][]int32
}

func newSelections(of []rv.Selection, p *chain.Program, rates []rv.Rate) selections {
	s := selections{of: of, steps: len(p.Steps)}
	if !slices.ContainsFunc(of, func(sel rv.Selection) bool { return !sel.Derived() }) {
		return s
	}
	s.slots = make([][]int32, len(rates))
	s.requests = make([][]int32, len(rates)*s.steps)
	for k := range of {
		for i := range rates {
			if !of[k].Derived() && !rates[i].WarmUp && (of[k].Stage == "" || of[k].Stage == rates[i].Name) {
				s.add(int32(k), i, p)
			}
		}
	}
	return s
}

// add notes that selection k has requests of a stage.
func (s *selections) add(k int32, stage int, p *chain.Program) {
	of := &s.of[k].Selector
	if of.Target == "" && of.Chain == "" {
		s.slots[stage] = append(s.slots[stage], k)
	}
	for i := range p.Steps {
		if p.Selects(of, i) {
			at := stage*s.steps + i
			s.requests[at] = append(s.requests[at], k)
		}
	}
}

// ofRequests returns whether there are selections of requests.
func (s *selections) ofRequests() bool { return s.requests != nil }

// selected returns the indices of the selections that a request of a measured stage belongs to.
func (w *Worker) selected(r *request) []int32 {
	if !w.selections.ofRequests() {
		return nil
	}
	return w.selections.requests[int(r.stage)*w.selections.steps+int(r.step)]
}

func (w *Worker) selectSent(r *request) {
	for _, k := range w.selected(r) {
		s := &w.rec.Selections[k]
		s.Sent++
		if w.schedules.Over() {
			s.SentInDrain++
		}
	}
}

// selectDone counts a whole response.
func (w *Worker) selectDone(r *request, succeeded bool) {
	for _, k := range w.selected(r) {
		s, of := &w.rec.Selections[k], &w.selections.of[k]
		s.Done++
		if succeeded {
			s.Succeeded++
		}
		if of.StatusClass != 0 && of.StatusClass != min(int(r.status)/100, 5) {
			continue
		}
		s.InClass++
		switch of.Time {
		case rv.MetricResponseTime:
			s.Time.Record((w.now - r.due) / 1000)
		case rv.MetricServiceTime:
			s.Time.Record((w.now - r.sent) / 1000)
		case rv.MetricTimeToFirstByte:
			s.Time.Record((r.first - r.sent) / 1000)
		}
	}
}

// selectFailed counts a request without a whole response.
func (w *Worker) selectFailed(r *request, why unanswered) {
	for _, k := range w.selected(r) {
		s := &w.rec.Selections[k]
		switch why {
		case byTimeout:
			s.TimedOut++
		case byReset:
			s.Reset++
		default:
			s.ConnectionLost++
		}
	}
}

// selectDropped counts slots of a measured stage that were never sent.
func (w *Worker) selectDropped(stage int, n int64) {
	if w.selections.slots == nil {
		return
	}
	for _, k := range w.selections.slots[stage] {
		w.rec.Selections[k].Dropped += n
	}
}
