package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
)

// unanswered is an outcome of a request that got no whole response.
type unanswered uint8

const (
	byTimeout unanswered = iota
	byReset
	byLoss
)

// abortReason says why a chain instance ends by such an outcome.
var abortReason = [...]string{byTimeout: rv.AbortTimedOut, byReset: rv.AbortReset, byLoss: rv.AbortConnectionLost}

// finishDone gives a request with a whole response its outcome and its chain the next step.
func (w *Worker) finishDone(tok int32) {
	r := &w.requests.all[tok]
	s := &w.program.Steps[r.step]
	failed := w.judge(r, s)
	w.sampleFailed(r, s, failed)
	w.observe(w.now - r.sent)
	w.countDone(r, failed)
	why := ""
	switch {
	case failed != "":
		why = rv.AbortFailedCheck
	case w.lacksCapture(r, s):
		why = rv.AbortMissingCapture
	}
	if w.trial != nil {
		w.showDone(tok, s, failed, why)
	}
	c := &w.conns[r.conn]
	c.worked, c.failures = true, 0
	w.stall.progressAt = w.now
	a := r.activation
	if s.Inspect {
		w.remember(r)
	}
	w.expiries[s.TimeoutClass].remove(&w.requests, tok)
	w.releaseRequest(tok)
	w.stepEnded(a, why)
}

// judge says under which name a response has failed, or "".
func (w *Worker) judge(r *request, s *chain.Step) string {
	if !s.Inspect && r.exchange == nil {
		if s.Accepts(int(r.status)) {
			return ""
		}
		return rv.CheckStatus
	}
	x := r.exchange.complete(int(r.status), w.now-r.due)
	if r.status >= 400 && w.measured(r) {
		w.countCause(x)
	}
	if !s.Inspect {
		if s.Accepts(int(r.status)) {
			return ""
		}
		return rv.CheckStatus
	}
	in := w.instances.all[r.instance]
	failed := s.Judge(w.program, &in.Instance, w.sources, x)
	if failed == "" && s.Script >= 0 && w.program.Scripts[s.Script].Validates() && !w.validate(in, s, x) {
		return rv.CheckScript
	}
	return failed
}

// lacksCapture takes the captures that look at a whole response, and says whether one that must be
// there is not.
func (w *Worker) lacksCapture(r *request, s *chain.Step) bool {
	if s.Inspect {
		in := w.instances.all[r.instance]
		return s.TakeCaptures(w.program, &in.Instance, w.sources, &r.exchange.Exchange)
	}
	for i := range s.Captures {
		if !r.captured(i) && !s.Captures[i].Otherwise(&w.instances.all[r.instance].Instance) {
			return true
		}
	}
	return false
}

// remember keeps the exchange for the scripts of the instance's next steps.
func (w *Worker) remember(r *request) {
	in := w.instances.all[r.instance]
	if !w.program.Chains[in.Chain].Scripted {
		return
	}
	w.exchanges.release(in.previous)
	in.previous, r.exchange = r.exchange, nil
}

// releaseRequest ends a request's record.
func (w *Worker) releaseRequest(tok int32) {
	w.exchanges.release(w.requests.all[tok].exchange)
	w.requests.release(tok)
}

// countDone records a whole response. Its times are those of the measured stages only.
func (w *Worker) countDone(r *request, failed string) {
	switch {
	case r.stage < 0:
		w.onceFailed, w.onceStatus = failed, int(r.status)
		if failed == "" {
			w.onceCounters(r.stage).Succeeded++
		}
		return
	case w.warm(r):
		w.rec.WarmUpDone++
		if failed == "" {
			w.rec.WarmUpSucceeded++
		}
		return
	}
	st := &w.rec.Steps[r.step]
	r.state = counted
	st.Occupied += w.now - r.sent
	st.Done++
	if failed == "" {
		st.Succeeded++
	} else {
		st.FailedBy.Add(failed)
	}
	w.rec.Status[r.status]++
	st.Classes[min(r.status/100, 5)-1]++
	st.ResponseTime.Record((w.now - r.due) / 1000)
	w.rec.ServiceTime.Record((w.now - r.sent) / 1000)
	w.rec.TimeToFirstByte.Record((r.first - r.sent) / 1000)
}

// finishFailed gives a request without a whole response its outcome, and the chain the failure.
func (w *Worker) finishFailed(tok int32, why unanswered, cause failure.Cause) {
	r := &w.requests.all[tok]
	if why != byLoss {
		w.stall.progressAt = w.now
	}
	w.countFailed(r, why, cause)
	if w.trial != nil {
		w.showFailed(tok, abortReason[why], cause)
	}
	a := r.activation
	w.expiries[w.program.Steps[r.step].TimeoutClass].remove(&w.requests, tok)
	w.releaseRequest(tok)
	w.stepEnded(a, abortReason[why])
}

func (w *Worker) countFailed(r *request, why unanswered, cause failure.Cause) {
	switch {
	case r.stage < 0:
		w.onceCause = cause
		return
	case w.warm(r):
		w.rec.WarmUpDone++
		return
	}
	st := &w.rec.Steps[r.step]
	if r.state == inFlight {
		st.Occupied += w.now - r.sent
	}
	r.state = counted
	switch why {
	case byTimeout:
		st.TimedOut++
	case byReset:
		st.Reset++
		w.countRequest(rv.FailureReset, r, cause)
	default:
		st.ConnectionLost++
		w.countRequest(rv.FailureConnectionLost, r, cause)
	}
}

// expire gives up the requests whose timeout has passed. The lists are in the order of sending,
// so only their heads are looked at.
func (w *Worker) expire() {
	for i := range w.expiries {
		e := &w.expiries[i]
		for e.first != none && w.requests.all[e.first].sent+e.timeout <= w.now {
			w.timeOut(e.first)
		}
	}
}

func (w *Worker) timeOut(tok int32) {
	r := &w.requests.all[tok]
	c := &w.conns[r.conn]
	if !c.session.Cancel(r.stream, w.now) && w.measured(r) {
		w.rec.Abandoned++
	}
	w.finishFailed(tok, byTimeout, failure.Cause{})
	w.again = true // a stream has come free after this turn's requests were made
	if c.broken() {
		w.lose(c, w.brokenBy(c, rv.CauseOtherTimedOut, ""))
		return
	}
	w.touch(c)
	w.watchAbandoned(c)
	w.offer(c.index)
	w.drain(c)
}

// nextExpiry is when the next timeout passes.
func (w *Worker) nextExpiry() int64 {
	next := int64(never)
	for i := range w.expiries {
		if e := &w.expiries[i]; e.first != none {
			next = min(next, w.requests.all[e.first].sent+e.timeout)
		}
	}
	return next
}

// captured and markCaptured note which of the step's captures this response has filled; a step
// has at most 16.
func (r *request) captured(i int) bool { return r.captures&(1<<i) != 0 }
func (r *request) markCaptured(i int)  { r.captures |= 1 << i }
