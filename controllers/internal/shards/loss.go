package shards

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// findEnds finds the runners that are lost, and those whose counts are final.
func (g *Group) findEnds(m *round) {
	for _, s := range g.runners {
		if s.state.Final() || s.state.Over() {
			continue
		}
		why := s.findLoss(m)
		switch {
		case why != "":
			s.loss = &record.Loss{Message: why, Time: g.now}
			g.happen(s, GaveUp)
		case s.final() && (g.d.Record.Start != nil || g.d.Record.End != nil):
			g.happen(s, Ended)
			g.slim(s)
		}
	}
}

// findLeft finds the runners that are done because a change removed their share.
func (g *Group) findLeft() {
	for i, s := range g.runners {
		if s.state == Done && s.member && s.snapshot.Stopped == "" && !slices.Contains(g.changes.newest().Members, i) &&
			s.snapshot.Revision >= g.changes.leftWith(i) {
			g.happen(s, Departed)
		}
	}
}

// findLoss returns why the runner is lost; empty: it is not. A runner has stopped if the kubelet reports it, or if its
// lease is over. Without leases, a runner is lost if it does not answer for a time while others do, or after the test
// should have ended.
func (s *runner) findLoss(m *round) string {
	silence, apart := m.Now.Sub(s.lastSeen), s.apartFor(m.d, m.Now)
	switch {
	case m.d.Record.End != nil:
		return ""
	case s.final():
		return s.early(m.d)
	case s.pod.Ended:
		if s.calling != CallNone { // the call may bring the last snapshot
			return ""
		}
		return cmp.Or(s.pod.Why, "the pod has ended")
	case !s.member && s.pod.Address == "", m.d.Record.Start == nil:
		return ""
	case m.d.leases() && s.leaseOver(m.clock) && apart > silentAfter:
		return fmt.Sprintf("no answer for %s, and its lease is over: %s", silence.Round(time.Second), s.why())
	case !m.d.leases() && apart > m.unreachable:
		return fmt.Sprintf("no answer for %s: %s%s", silence.Round(time.Second), s.why(), m.d.maySend(m.Now))
	}
	return ""
}

// early returns why a runner that is done ended before its time: it never started, or something else than the operator
// stopped it, for example SIGTERM. Its deadline is not an early end. Empty: it ended in time.
func (s *runner) early(d *Desired) string {
	switch {
	case s.snapshot.StartedAt == 0 && d.Record.Start != nil && d.Record.Stop == nil:
		return cmp.Or(s.snapshot.Message, "ended before the start")
	case s.snapshot.Stopped != "" && d.Record.Stop == nil && s.snapshot.Problem != runnerv1alpha1.ProblemDeadline:
		return "stopped: " + s.snapshot.Stopped
	case s.snapshot.Problem == runnerv1alpha1.ProblemInternal, s.snapshot.Problem == runnerv1alpha1.ProblemPolicy:
		return cmp.Or(s.snapshot.Message, "the runner failed")
	}
	return ""
}

// apartFor returns how long the runner has been out of reach although the operator's own network works: another runner
// answers, or there is no pod. If the test should have ended, that is not asked, because no answer of any runner can be
// awaited for ever.
func (s *runner) apartFor(d *Desired, now time.Time) time.Duration {
	silence := now.Sub(s.lastSeen)
	switch {
	case s.pod.Name == "" || s.pod.Gone, d.Record.Stop != nil,
		d.Retention > 0 && silence > d.Retention && d.loadEnded(now):
		return silence
	case s.apart.IsZero():
		return 0
	}
	return now.Sub(s.apart)
}

// why the runner does not answer.
func (s *runner) why() string {
	if s.pod.Gone || s.pod.Name == "" {
		return "the pod was deleted"
	}
	return cmp.Or(s.trouble, "no details")
}

// loadEnded returns whether the load has ended. If its end is not known, the runners may still send.
func (d *Desired) loadEnded(now time.Time) bool {
	end := d.Record.LoadEnd(d.Plan)
	return !end.IsZero() && now.After(end)
}

// maySend says what a runner without a lease can do while it does not answer.
func (d *Desired) maySend(now time.Time) string {
	switch end := d.Record.LoadEnd(d.Plan); {
	case end.IsZero():
		return "; it may still send requests"
	case end.After(now):
		return "; it may send requests until " + end.UTC().Format(time.RFC3339)
	}
	return ""
}
