package tally

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
)

// selections are the parts of the requests that thresholds are on. Without such thresholds, counting costs one
// comparison.
type selections struct {
	of []rv.Selection
	// steps is the number of steps. requests has the indices of the selections of a request, at stage * steps + step.
	// slots has the indices of those that a slot of a stage belongs to if it was not given to a step.
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
func (s *selections) selected(q *book.Request) []int32 {
	if !s.ofRequests() {
		return nil
	}
	return s.requests[int(q.Stage)*s.steps+int(q.Step)]
}

func (r *Recorder) selectSent(q *book.Request, over bool) {
	for _, k := range r.selections.selected(q) {
		s := &r.Selections[k]
		s.Sent++
		if over {
			s.SentInDrain++
		}
	}
}

// selectDone counts a whole response.
func (r *Recorder) selectDone(q *book.Request, succeeded bool, now int64) {
	for _, k := range r.selections.selected(q) {
		s, of := &r.Selections[k], &r.selections.of[k]
		s.Done++
		if succeeded {
			s.Succeeded++
		}
		if of.StatusClass != 0 && of.StatusClass != min(int(q.Status)/100, 5) {
			continue
		}
		s.InClass++
		switch of.Time {
		case rv.MetricResponseTime:
			s.Time.Record((now - q.Due) / 1000)
		case rv.MetricServiceTime:
			s.Time.Record((now - q.Sent) / 1000)
		case rv.MetricTimeToFirstByte:
			s.Time.Record((q.First - q.Sent) / 1000)
		}
	}
}

// selectFailed counts a request without a whole response.
func (r *Recorder) selectFailed(q *book.Request, why Unanswered) {
	for _, k := range r.selections.selected(q) {
		s := &r.Selections[k]
		switch why {
		case ByTimeout:
			s.TimedOut++
		case ByReset:
			s.Reset++
		default:
			s.ConnectionLost++
		}
	}
}

// selectDropped counts slots of a measured stage that were never sent.
func (r *Recorder) selectDropped(stage int, n int64) {
	if r.selections.slots == nil {
		return
	}
	for _, k := range r.selections.slots[stage] {
		r.Selections[k].Dropped += n
	}
}
