package simulate

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// inTime is how long an order may take to a runner that the operator reaches, and a worker to send what is due.
const inTime = 8 * time.Second

// slowest is how long packets take at most: as long, clocks of runners are known wrongly.
const slowest = 5 * time.Second

// watch checks each second what must have happened by now.
func (w *World) watch() {
	for {
		select {
		case <-w.over:
			return
		case <-time.After(time.Second):
		}
		w.faults.locked(w.lead)
		runners := w.runners.alive()
		w.rules.mu.Lock()
		for _, h := range w.rules.inOrder() {
			w.rules.orders(h, runners)
			w.rules.starts(h, runners)
			w.rules.rate(h)
			w.rules.stop(h)
		}
		w.rules.mu.Unlock()
	}
}

// inOrder returns the tests that exist, in the order of their UIDs.
func (l *rules) inOrder() (out []*history) {
	var uids []types.UID
	for uid, h := range l.tests {
		if !h.deleted && h.record != nil && h.record.Start != nil {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	for _, uid := range uids {
		out = append(out, l.tests[uid])
	}
	return out
}

// quiet returns whether nothing kept the operators and a runner from their work for a time.
func (l *rules) quiet(ip string, d time.Duration) bool {
	return time.Since(l.disturbed) > settled && time.Since(later(l.senders[ip], l.senders[""])) > settled+d
}

// orders: a runner that the operator reaches does what the record says. It has the newest change, or its engine has
// ended. One that waits for teardown needs no change.
func (l *rules) orders(h *history, runners []*process) {
	if time.Since(h.ordered) < inTime {
		return
	}
	for _, p := range runners {
		revision, since := p.position()
		if p.job != h.record.Start.Job || !l.quiet(p.ip, 0) || since <= 0 || p.ended() {
			continue
		}
		// A teardown waits for all runners, and its requests for the target.
		if (h.record.Stop != nil || h.record.End != nil) && l.paths(l.calm) {
			l.Broken("runners hear of the stop", "%s: runner %s still runs", h.lt.Name, p.pod)
		}
		if newest := h.record.Changes[len(h.record.Changes)-1]; revision < newest.Revision && h.record.State == "Running" &&
			!h.awaitsTeardown() {
			l.Broken("runners get each change", "%s: runner %s has change %d of %d", h.lt.Name, p.pod, revision, newest.Revision)
		}
	}
}

// awaitsTeardown returns whether runners can have had their last response, and wait for teardown.
func (h *history) awaitsTeardown() bool {
	return time.Now().After(h.loadEnd(h.record)) && slices.ContainsFunc(h.lt.Spec.Chains,
		func(c v1alpha1.Chain) bool { return c.Phase == v1alpha1.PhaseTeardown })
}

// stop: a test that is stopped ends, even if no runner answers.
func (l *rules) stop(h *history) {
	bound := time.Minute + settled
	if g := h.lt.Spec.GracefulStop; g != nil {
		bound += g.Duration
	}
	if h.record.Stop != nil && h.record.End == nil && time.Since(h.stopped) > bound && time.Since(l.disturbed) > bound {
		l.Broken("a stopped test ends", "%s: it was stopped at %s", h.lt.Name, h.stopped.Format(clock))
	}
}

// starts: the runners that are not lost have changes that are stored, and those that sent requests started together.
func (l *rules) starts(h *history, runners []*process) {
	var first time.Time
	for _, p := range runners {
		revision, since := p.position()
		lost := func(s shard) bool { return s.Pod == p.uid && s.Loss != nil }
		if p.job != h.record.Start.Job || since <= 0 || slices.ContainsFunc(h.record.Shards, lost) {
			continue
		}
		at := p.stopped.now().Add(-since)
		switch {
		case !l.heard[p.ip]:
		case first.IsZero():
			first = at
		case at.Sub(first).Abs() > slowest:
			l.Broken("runners start together", "%s: runner %s at %s, others at %s", h.lt.Name, p.pod, at.Format(clock),
				first.Format(clock))
		}
		if newest := h.record.Changes[len(h.record.Changes)-1].Revision; revision > newest {
			l.Broken("runners get each change", "%s: runner %s has change %d, the last stored one is %d", h.lt.Name, p.pod,
				revision, newest)
		}
	}
}

// rate: the target gets the rate of a constant stage, if nothing disturbs it.
func (l *rules) rate(h *history) {
	const window = 5
	now, s := time.Now(), &h.lt.Spec
	rate := s.Rates[0].RequestsPerSecond
	if rate == nil || s.Rates[0].RampFrom != nil || s.Rates[0].Arrivals != "" || h.record.State != "Running" ||
		h.key == scheduled ||
		s.Suspend || h.record.Live.Suspended || now.Sub(h.ordered) < 4*inTime || now.Sub(h.edited) < 4*inTime ||
		now.Sub(l.calm) < settled || now.Sub(l.disturbed) < settled || len(h.record.lost()) > 0 {
		return
	}
	for _, kept := range l.senders {
		if now.Sub(kept) < settled {
			return
		}
	}
	begin := h.started
	if now.Sub(begin) < 2*inTime || now.Add(inTime).After(begin.Add(s.Rates[0].Duration.Duration)) {
		return
	}
	arrived := int64(0)
	for i := range int64(window) {
		arrived += h.arrived[now.Unix()-1-i]
	}
	if due := *rate * window; arrived < due*8/10 || arrived > due*12/10 {
		l.Broken("what is due is sent", "%s: %d requests arrived in %d s, %d were due", h.lt.Name, arrived, window, due)
	}
}

// edit notes that a user changed a test.
func (h *history) edit(before, after *v1alpha1.LoadTest) {
	if before.Generation != after.Generation {
		h.edited = time.Now()
	}
}
