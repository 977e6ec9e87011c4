package shards

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// errRestarted: the process behind an address is another one than before.
var errRestarted = errors.New("the runner has been restarted")

// Heard takes over the answer to a call.
func (g *Group) Heard(id ID, a Answer, now time.Time) {
	s := g.find(id)
	if s == nil {
		return
	}
	g.now = now
	kind, err := s.calling, a.Err
	s.calling, s.clock = CallNone, a.Clock
	switch {
	case err == nil && kind == CallAck:
		s.acked, s.trouble = true, ""
		return
	case err == nil:
		err = g.take(s, a.Snapshot)
	}
	trouble := ""
	if err = cmp.Or(err, a.Refused); err != nil {
		trouble = err.Error()
	}
	g.news = g.news || (trouble == "") != (s.trouble == "")
	if s.trouble = trouble; trouble != "" {
		s.pollAt = g.m.Pace.again(s.pollAt, now)
	}
}

// Waits says that a runner has answered, and that its large snapshot waits to be read.
func (g *Group) Waits(id ID, now time.Time) {
	if s := g.find(id); s != nil {
		s.lastSeen = now
	}
}

// take accepts a snapshot of a runner. It returns what is wrong with it.
func (g *Group) take(s *runner, n *runnerv1alpha1.Snapshot) error {
	before, wasFinal := s.snapshot, s.final()
	if err := s.refuse(g.d.Plan, n); err != nil {
		g.news = g.news || errors.Is(err, errRestarted)
		return err
	}
	s.lastSeen, s.answered = g.now, g.now
	if before != nil && n.Sequence < before.Sequence {
		return nil // overtaken
	}
	if err := g.add(n); err != nil {
		return err
	}
	s.meter.add(n)
	if n.Globals != nil {
		s.globals, n.Globals = n.Globals, nil
	}
	n.ServiceTime = runnerv1alpha1.Histogram{} // only runners show it while they run
	s.snapshot, s.received = n, s.answered
	s.member = s.member || HadSlots(n) // an earlier operator gave it a share, and perhaps took it again
	switch {
	case !s.final():
		g.happen(s, reported(n))
	case s.state == Lost && !wasFinal: // otherwise it ended early, and its load is missing
		g.happen(s, Ended)
	default:
		g.slim(s)
	}
	if before == nil || n.State != before.State || n.Revision != before.Revision {
		s.pollAt = time.Time{} // the next step need not wait
		g.news = true
	}
	return nil
}

// add adds a snapshot to the sum of the run, until its report is stored.
func (g *Group) add(n *runnerv1alpha1.Snapshot) error {
	if g.d.Record.End != nil {
		return nil
	}
	if err := g.merge.Add(n); err != nil {
		return err
	}
	if err := g.limits.Add(n); err != nil {
		g.note(err, "Cannot compare the thresholds while the test runs", "shard", n.Shard)
	}
	return nil
}

// refuse returns why a snapshot cannot be the runner's; nil: it can.
func (s *runner) refuse(plan *runnerv1alpha1.Plan, n *runnerv1alpha1.Snapshot) error {
	if err := oversized(plan, n); err != nil {
		return err
	}
	switch {
	case n.Shard != s.index && n.Revision != 0:
		return fmt.Errorf("the snapshot belongs to shard %d", n.Shard)
	case s.snapshot != nil && s.snapshot.Boot != n.Boot:
		s.pod.Ended, s.pod.Why = true, errRestarted.Error()
		return errRestarted
	}
	return nil
}
