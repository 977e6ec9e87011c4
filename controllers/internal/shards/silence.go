package shards

import "time"

// silentAfter is how long a runner does not answer until it is silent. Polls of a silent runner renew no lease, so that its lease
// ends.
const silentAfter = 5 * time.Second

// silentAfter returns how long a runner does not answer until it is silent. It is longer if there are many runners, so that one
// poll without an answer does not make a runner silent. With the default times of an operator it is 5 to 7 seconds.
func (g *Group) silentAfter() time.Duration {
	return max(silentAfter, g.m.Pace.Regular+2*g.opts.Timeout)
}

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

// reached: the operator reaches a runner other than s, so that its own network is not the cause.
func (g *Group) reached(s *runner) bool {
	for other := range g.all() {
		if other != s && other.snapshot != nil && g.now.Sub(other.lastSeen) <= silentAfter {
			return true
		}
	}
	return false
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
