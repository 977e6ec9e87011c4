package shards

import (
	"fmt"
	"slices"
	"time"

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
func (g *Group) leases() bool { return g.d.Plan.LeaseDuration > 0 }

// lease is the lease to send to a runner; zero: none. The runner gets an instant of its own clock, so that a message which it reads late
// renews nothing after it. An operator that may have been replaced renews no lease: the next one assumes that the leases end at the latest
// LeaseDuration after it began to lead, and gives the share of a runner that it does not reach to others then.
func (g *Group) lease(s *runner) runnerv1alpha1.Lease {
	if !g.leases() || !g.m.Leading || !g.d.MayStart || s.clock.RTT == 0 || s.state.Over() || s.final() || g.now.Sub(s.lastSeen) > silentAfter {
		return runnerv1alpha1.Lease{}
	}
	end := g.clock() + int64(g.d.Plan.LeaseDuration)
	s.leaseEnd = max(s.leaseEnd, end)
	return runnerv1alpha1.Lease{Until: end, Term: g.m.Term}
}

// leaseOver: the runner has stopped because its lease is over.
func (g *Group) leaseOver(s *runner) bool { return g.clock() > s.leaseEnd+int64(leaseMargin) }

// findSilent finds the runners that do not answer.
func (g *Group) findSilent() {
	for s := range g.all() {
		switch {
		case g.now.Sub(s.lastSeen) <= silentAfter || !g.reached(s):
			s.apart = time.Time{}
		case s.apart.IsZero():
			s.apart = g.now
		}
		silent := s.snapshot != nil && !s.final() && !s.state.Final() && s.pod.Address != "" && !s.pod.Ended &&
			s.trouble != "" && g.now.Sub(s.lastSeen) > g.silentAfter()
		if silent != s.silent {
			s.silent, g.news = silent, true
			g.silence.add(s)
		}
	}
	g.silence.note(g)
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

// note makes at most one note a second of each kind.
func (c *silence) note(g *Group) {
	if g.now.Before(c.next) || len(c.silent)+len(c.answering) == 0 {
		return
	}
	if len(c.silent) > 0 {
		g.note(nil, "Runners do not answer", "count", len(c.silent), "shards", c.silent, "reason", c.reason)
	}
	if len(c.answering) > 0 {
		g.note(nil, "Runners answer again", "count", len(c.answering), "shards", c.answering)
	}
	*c = silence{next: g.now.Add(time.Second)}
}

// reached: the operator reaches a runner other than s, so that its own network is not the cause.
func (g *Group) reached(s *runner) bool {
	for other := range g.all() {
		if other != s && other.snapshot != nil && g.now.Sub(other.lastSeen) <= silentAfter {
			return true
		}
	}
	return false
}

// apartFor returns how long the runner has been out of reach although the operator's own network works: another runner answers, or there is no
// pod. If the test should have ended, that is not asked, because no answer of any runner can be awaited for ever.
func (g *Group) apartFor(s *runner) time.Duration {
	silence := g.now.Sub(s.lastSeen)
	switch {
	case s.pod.Name == "" || s.pod.Gone, g.d.Stop != "", g.d.Retention > 0 && silence > g.d.Retention && g.now.After(g.d.LoadEnd):
		return silence
	case s.apart.IsZero():
		return 0
	}
	return g.now.Sub(s.apart)
}

// maySend says what a runner without a lease can do while it does not answer.
func (g *Group) maySend() string {
	switch end := g.d.LoadEnd; {
	case end.IsZero():
		return "; it may still send requests"
	case end.After(g.now):
		return "; it may send requests until " + end.UTC().Format(time.RFC3339)
	}
	return ""
}

// findLoss returns why the runner is lost; empty: it is not. A runner has stopped if the kubelet reports it, or if its lease is over. Without
// leases, a runner is lost if it does not answer for a time while others do, or after the test should have ended.
func (g *Group) findLoss(s *runner) string {
	silence, apart := g.now.Sub(s.lastSeen), g.apartFor(s)
	switch {
	case g.d.Stored:
		return ""
	case s.final():
		return s.early(&g.d)
	case s.pod.Ended:
		if s.calling != CallNone { // the call may bring the last snapshot
			return ""
		}
		return orElse(s.pod.Why, "the pod has ended")
	case !s.member && s.pod.Address == "", !g.d.MayStart:
		return ""
	case g.leases() && g.leaseOver(s) && apart > silentAfter:
		return fmt.Sprintf("no answer for %s, and its lease is over: %s", silence.Round(time.Second), s.why())
	case !g.leases() && apart > g.opts.Unreachable:
		return fmt.Sprintf("no answer for %s: %s%s", silence.Round(time.Second), s.why(), g.maySend())
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

// findEnds finds the runners that are lost, and those whose counts are final.
func (g *Group) findEnds() {
	for i, s := range g.runners {
		if s.state.Final() || s.state.Over() {
			continue
		}
		why := g.findLoss(s)
		switch {
		case why != "":
			s.loss = &Loss{Pod: s.pod.Name, Node: s.pod.Node, Message: why, Time: g.now}
			g.happen(s, GaveUp)
		case s.final() && (g.d.MayStart || g.d.Stored):
			g.happen(s, Ended)
			if slices.Contains(g.changes.newest().Members, i) {
				s.slim()
			}
		}
	}
}
