package collect

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// silentAfter is how long a runner does not answer until it is silent. Polls of a silent runner renew no lease, so that its lease
	// ends.
	silentAfter = 5 * time.Second
	// leaseMargin is how long after the end of its lease a runner has stopped, for the difference of clocks.
	leaseMargin = time.Second
)

// leases: each runner sends requests only while it has a lease.
func (r *run) leases() bool { return r.d.Plan.LeaseDuration > 0 }

// lease is the lease to send to a runner; zero: none. The runner gets an instant of its own clock, so that a message which it reads late
// renews nothing after it. An operator that may have been replaced renews no lease: the next one assumes that the leases end at the latest
// LeaseDuration after it began to lead, and gives the share of a runner that it does not reach to others then.
func (r *run) lease(s *runner, now time.Time) runnerv1alpha1.Lease {
	if !r.leases() || !r.opts.leading() || !r.d.MayStart || s.clock.RTT == 0 || s.state.Over() || s.final() || now.Sub(s.lastSeen) > silentAfter {
		return runnerv1alpha1.Lease{}
	}
	end := r.clock() + int64(r.d.Plan.LeaseDuration)
	s.leaseEnd = max(s.leaseEnd, end)
	return runnerv1alpha1.Lease{Until: end, Term: r.opts.term()}
}

// leaseOver: the runner has stopped because its lease is over.
func (r *run) leaseOver(s *runner) bool { return r.clock() > s.leaseEnd+int64(leaseMargin) }

// findSilent finds the runners that do not answer.
func (r *run) findSilent(now time.Time) {
	for s := range r.all() {
		if s.link != nil && s.link.Waits() {
			s.lastSeen = now
		}
		switch {
		case now.Sub(s.lastSeen) <= silentAfter || !r.reached(s, now):
			s.apart = time.Time{}
		case s.apart.IsZero():
			s.apart = now
		}
		silent := s.snapshot != nil && !s.final() && !s.state.Final() && s.pod.Address != "" && !s.pod.Ended &&
			s.trouble != "" && now.Sub(s.lastSeen) > r.silentAfter()
		if silent != s.silent {
			s.silent, r.news = silent, true
			r.silence.add(s)
		}
	}
	r.silence.log(r.log, now)
}

// silence gathers the runners that fell silent or answer again, because all runners can do so in the same second.
type silence struct {
	silent, answering []int // shards
	reason            string
	next              time.Time
}

func (c *silence) add(s *runner) {
	if s.silent {
		c.silent, c.reason = append(c.silent, s.index), s.trouble
	} else {
		c.answering = append(c.answering, s.index)
	}
}

// log writes at most one line a second of each kind.
func (c *silence) log(log logr.Logger, now time.Time) {
	if now.Before(c.next) || len(c.silent)+len(c.answering) == 0 {
		return
	}
	if len(c.silent) > 0 {
		log.Info("Runners do not answer", "count", len(c.silent), "shards", c.silent, "reason", c.reason)
	}
	if len(c.answering) > 0 {
		log.Info("Runners answer again", "count", len(c.answering), "shards", c.answering)
	}
	*c = silence{next: now.Add(time.Second)}
}

// reached: the operator reaches a runner other than s, so that its own network is not the cause.
func (r *run) reached(s *runner, now time.Time) bool {
	for other := range r.all() {
		if other != s && other.snapshot != nil && now.Sub(other.lastSeen) <= silentAfter {
			return true
		}
	}
	return false
}

// apartFor returns how long the runner has been out of reach although the operator's own network works: another runner answers, or there is no
// pod. If the test should have ended, that is not asked, because no answer of any runner can be awaited for ever.
func (r *run) apartFor(s *runner, now time.Time) time.Duration {
	silence := now.Sub(s.lastSeen)
	switch {
	case s.pod.Name == "" || s.pod.Gone, r.d.Stop != "", r.d.Retention > 0 && silence > r.d.Retention && now.After(r.d.LoadEnd):
		return silence
	case s.apart.IsZero():
		return 0
	}
	return now.Sub(s.apart)
}

// maySend says what a runner without a lease can do while it does not answer.
func (r *run) maySend(now time.Time) string {
	switch end := r.d.LoadEnd; {
	case end.IsZero():
		return "; it may still send requests"
	case end.After(now):
		return "; it may send requests until " + end.UTC().Format(time.RFC3339)
	}
	return ""
}

// findLoss returns why the runner is lost; empty: it is not. A runner has stopped if the kubelet reports it, or if its lease is over. Without
// leases, a runner is lost if it does not answer for a time while others do, or after the test should have ended.
func (r *run) findLoss(s *runner, now time.Time) string {
	silence, apart := now.Sub(s.lastSeen), r.apartFor(s, now)
	switch {
	case r.d.Stored:
		return ""
	case s.final():
		return s.early(&r.d)
	case s.pod.Ended:
		if s.busy { // the call may bring the last snapshot
			return ""
		}
		return orElse(s.pod.Why, "the pod has ended")
	case !s.member && s.pod.Address == "", !r.d.MayStart:
		return ""
	case r.leases() && r.leaseOver(s) && apart > silentAfter:
		return fmt.Sprintf("no answer for %s, and its lease is over: %s", silence.Round(time.Second), s.why())
	case !r.leases() && apart > r.opts.Unreachable:
		return fmt.Sprintf("no answer for %s: %s%s", silence.Round(time.Second), s.why(), r.maySend(now))
	}
	return ""
}

// why the runner does not answer.
func (s *runner) why() string {
	if s.pod.Gone || s.pod.Name == "" {
		return "the pod was deleted"
	}
	return orElse(s.trouble, "no details")
}

// all are the present runners, and the lost ones whose shard has another runner.
func (r *run) all() func(yield func(*runner) bool) {
	return func(yield func(*runner) bool) {
		for _, list := range [][]*runner{r.shards, r.former} {
			if slices.ContainsFunc(list, func(s *runner) bool { return !yield(s) }) {
				return
			}
		}
	}
}
