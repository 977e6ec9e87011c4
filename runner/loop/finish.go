package loop

// failure is an outcome of a request that got no whole response.
type failure uint8

const (
	byTimeout failure = iota
	byReset
	byLoss
)

// finishDone gives a request with a whole response its outcome and its chain the next step.
func (w *Worker) finishDone(tok int32) {
	r := &w.requests.all[tok]
	s := &w.program.Steps[r.step]
	good := s.Accepts(int(r.status))
	w.observe(w.now - r.sent)
	w.countDone(r, good)
	for i := range s.Captures {
		good = good && r.captured(i)
	}
	c := &w.conns[r.conn]
	c.worked, c.failures = true, 0
	i := r.instance
	w.expiries[s.TimeoutClass].remove(&w.requests, tok)
	w.requests.release(tok)
	switch {
	case !good:
		w.end(i, false)
	case s.Last:
		w.end(i, true)
	default:
		w.instances.all[i].Step++
		w.targets[s.Target].ready.push(readyInstance{i, w.now})
	}
}

// countDone records a whole response. Its times are those of the measured stages only.
func (w *Worker) countDone(r *request, good bool) {
	if w.warm(r) {
		w.rec.WarmUpDone++
		if good {
			w.rec.WarmUpSucceeded++
		}
		return
	}
	st := &w.rec.Steps[r.step]
	st.Done++
	if good {
		st.Succeeded++
	}
	w.rec.Status[r.status]++
	if class := r.status/100 - 1; class >= 0 && class < 5 {
		st.Classes[class]++
	}
	st.ResponseTime.Record((w.now - r.due) / 1000)
	w.rec.ServiceTime.Record((w.now - r.sent) / 1000)
	w.rec.TimeToFirstByte.Record((r.first - r.sent) / 1000)
}

// finishFailed gives a request without a whole response its outcome and aborts its chain.
func (w *Worker) finishFailed(tok int32, why failure) {
	r := &w.requests.all[tok]
	w.countFailed(r, why)
	i := r.instance
	w.expiries[w.program.Steps[r.step].TimeoutClass].remove(&w.requests, tok)
	w.requests.release(tok)
	w.end(i, false)
}

func (w *Worker) countFailed(r *request, why failure) {
	if w.warm(r) {
		w.rec.WarmUpDone++
		return
	}
	st := &w.rec.Steps[r.step]
	switch why {
	case byTimeout:
		st.TimedOut++
	case byReset:
		st.Reset++
	default:
		st.ConnectionLost++
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
	if !c.session.Cancel(r.stream, w.now) && !w.warm(r) {
		w.rec.Abandoned++
	}
	w.finishFailed(tok, byTimeout)
	if c.broken() {
		w.lose(c, "a request timed out")
		return
	}
	w.touch(c)
	w.offer(c.index)
	w.drained(c)
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
