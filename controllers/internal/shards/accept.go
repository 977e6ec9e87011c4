package shards

import "time"

// Accept takes over what is desired, and what is new about pods.
func (g *Group) Accept(d Desired, now time.Time) {
	before := g.d
	g.d, g.now, g.probing.stored = d, now, d.Record.Search
	if d.Record.End != nil && before.Record.End == nil {
		g.clear()
	}
	for i := range d.Pods {
		g.at(i)
	}
	g.at(max(0, d.Shards-1))
	g.acceptChanges()
	for _, i := range g.changes.newest().Members {
		g.at(i)
	}
	g.takeStored()
	for i, s := range g.runners {
		if p := d.Pods[i]; !s.stored || p.UID == s.pod.UID {
			s.see(p, now)
		}
		// A former operator may have removed its share, and this process did not ask it yet.
		if s.pod.UID != "" && d.Record.Pods[i].UID == s.pod.UID && !s.state.Over() && !s.member {
			s.member = true
			g.happen(s, Removed)
		}
	}
	g.nextRound = time.Time{}
	if !before.sameOrders(&g.d) {
		g.runners.pollNow()
	}
}

// sameOrders returns whether two Desired ask the runners for the same. Pods can differ.
func (d *Desired) sameOrders(other *Desired) bool {
	is, was := d.Record, other.Record
	return (is.Start == nil) == (was.Start == nil) && (is.Stop == nil) == (was.Stop == nil) &&
		(is.End == nil) == (was.End == nil) &&
		is.Live.Generation == was.Live.Generation && len(is.Search.Probes) == len(was.Search.Probes) &&
		len(d.Ended) == len(other.Ended) &&
		d.Shards == other.Shards && d.ShardsRevision == other.ShardsRevision && d.Policy == other.Policy
}

// at is the present runner of a shard.
func (g *Group) at(i int) *runner {
	for len(g.runners) <= i {
		g.runners = append(g.runners, g.newRunner(len(g.runners)))
	}
	return g.runners[i]
}

// newRunner is one that did not answer yet. An earlier operator may have sent it a lease.
func (g *Group) newRunner(index int) *runner {
	s := &runner{index: index, state: Absent, lastSeen: g.now}
	if g.d.leases() && g.d.Record.Start != nil {
		s.leaseEnd = g.clock() + int64(g.d.Plan.LeaseDuration)
	}
	return s
}

// happen takes a runner along the transition of an event. A new state is published, and acted on, at once.
func (g *Group) happen(s *runner, on Event) {
	next, ok := s.state.Next(on)
	if !ok || next == s.state {
		return
	}
	s.state = next
	s.pollAt = time.Time{}
	g.news = true
}
