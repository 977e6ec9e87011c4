package shards

import (
	"slices"
	"time"
)

// silentAfter is how long a runner does not answer until it is silent. Polls of a silent runner renew no lease, so that
// its lease ends.
const silentAfter = 5 * time.Second

// silentAfter returns how long a runner does not answer until it is silent. It is longer if there are many runners, so
// that one poll without an answer does not make a runner silent. With the default times of an operator it is 5 to 7
// seconds.
func (p Pace) silentAfter(timeout time.Duration) time.Duration {
	return max(silentAfter, p.Regular+2*timeout)
}

// findSilent finds the runners that do not answer, and returns whether there are any.
func (g *Group) findSilent() (found bool) {
	all, after := g.all(), g.m.Pace.silentAfter(g.opts.Timeout)
	reached := slices.ContainsFunc(all,
		func(s *runner) bool { return s.snapshot != nil && g.now.Sub(s.lastSeen) <= silentAfter })
	for _, s := range all {
		switch {
		case g.now.Sub(s.lastSeen) <= silentAfter || !reached: // the operator's own network can be the cause
			s.apart = time.Time{}
		case s.apart.IsZero():
			s.apart = g.now
		}
		silent := s.snapshot != nil && !s.final() && !s.state.Final() && s.pod.Address != "" && !s.pod.Ended &&
			s.trouble != "" && g.now.Sub(s.lastSeen) > after
		if silent != s.silent {
			s.silent, g.news = silent, true
			g.silence.add(s)
		}
		found = found || silent
	}
	g.notes = append(g.notes, g.silence.report(g.now)...)
	return found
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

// report returns at most one note a second of each kind.
func (c *silence) report(now time.Time) (out []Note) {
	if now.Before(c.next) || len(c.silent)+len(c.answering) == 0 {
		return nil
	}
	if len(c.silent) > 0 {
		out = append(out, Note{Message: "Runners do not answer", Values: []any{"count", len(c.silent), "shards", c.silent,
			"reason", c.reason}})
	}
	if len(c.answering) > 0 {
		out = append(out, Note{Message: "Runners answer again", Values: []any{"count", len(c.answering), "shards",
			c.answering}})
	}
	*c = silence{next: now.Add(time.Second)}
	return out
}
