package loop

// sendWaiting sends waiting requests, oldest first, as long as a stream is free.
func (w *Worker) sendWaiting() {
	for i := range w.targets {
		t := &w.targets[i]
		for t.waiting.len() > 0 {
			c := w.takeAvailable(t)
			if c == none {
				break
			}
			w.send(t.waiting.pop(), c)
		}
	}
	w.dropWaiting(w.now)
}

// send renders a request on a connection that has a free stream.
func (w *Worker) send(tok, ci int32) {
	r, c := &w.requests.all[tok], &w.conns[ci]
	s := &w.program.Steps[r.step]
	in := w.instances.all[r.instance]
	r.stream = c.openRequest(w, uint32(tok), s, &in.Instance)
	r.conn, r.state, r.sent = ci, inFlight, w.now
	w.expiries[s.TimeoutClass].append(&w.requests, tok)
	w.touch(c)
	if c.opened++; c.opened == w.targets[s.Target].plan.Connecting.MaxRequests {
		w.retiring = append(w.retiring, ci)
	} else {
		w.offer(ci)
	}
	if !r.retried {
		w.countSent(r)
	}
}

func (w *Worker) countSent(r *request) {
	st := &w.rec.Stages[r.stage]
	st.Sent++
	if w.stage.over() {
		st.SentInDrain++
	}
	if w.warm(r) {
		w.rec.WarmUpSent++
		return
	}
	w.rec.Steps[r.step].Sent++
	w.rec.Blocked.Record((r.sent - r.picked) / 1000)
}

// dropWaiting drops requests that have waited too long at an instant; at never, all of them.
func (w *Worker) dropWaiting(at int64) {
	for i := range w.targets {
		t := &w.targets[i]
		for t.waiting.len() > 0 {
			tok := t.waiting.front()
			if at != never && w.requests.all[tok].due+int64(w.cfg.MaxWait) > at {
				break
			}
			t.waiting.pop()
			w.drop(tok)
		}
	}
}

// drop gives up a request that no stream came free for. One that the peer has given back was
// sent, so it is lost.
func (w *Worker) drop(tok int32) {
	r := &w.requests.all[tok]
	if r.retried {
		w.countFailed(r, byLoss)
	} else {
		w.countDropped(int(r.stage))
	}
	w.end(r.instance, false)
	w.requests.release(tok)
}

// nextDrop is when the first waiting request has waited too long.
func (w *Worker) nextDrop() int64 {
	next := int64(never)
	for i := range w.targets {
		if t := &w.targets[i]; t.waiting.len() > 0 {
			next = min(next, w.requests.all[t.waiting.front()].due+int64(w.cfg.MaxWait))
		}
	}
	return next
}
