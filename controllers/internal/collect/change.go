package collect

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// changeLead lies between the choice of the instant of a change and the instant, so that every
	// runner hears of it before. One that does not makes up for it.
	changeLead = 400 * time.Millisecond
	// changeGap keeps the instants of two changes in their order on every runner's clock, however
	// well that was measured.
	changeGap = 10 * time.Millisecond
	// maxApplied bounds View.Applied; status keeps no more.
	maxApplied = 32
)

// Live is what of a run may change while it runs.
type Live struct {
	// Revision orders changes. Zero: there is nothing to tell.
	Revision int64
	// Rates are those of all stages; they must not be changed.
	Rates     []runnerv1alpha1.Rate
	Suspended bool
}

// Applied is a change that every runner has accepted, with the instant from which it is in force.
type Applied struct {
	Revision int64
	At       time.Time
}

// scheduled is a change of a run.
type scheduled struct {
	Live
	at int64 // in our clock; zero: nobody had to be told yet
	// accepted by every runner that still works.
	accepted bool
}

// enqueue takes over what is desired, when it is newer than what was. Changes stay until every runner
// has accepted them, so that one that hears late does the same as the others in the same order.
func (r *run) enqueue() {
	if n := len(r.changes); n == 0 || r.d.Live.Revision > r.changes[n-1].Revision {
		r.changes = append(r.changes, scheduled{Live: r.d.Live})
		if n == 0 {
			r.note(&r.d.Live, 0)
		}
	}
}

// works says that a change matters to the shard: it has requests of the load to send.
func (s *stateful) works() bool {
	if s.lost != nil {
		return false
	}
	if s.snapshot == nil {
		return true
	}
	switch s.snapshot.State {
	case runnerv1alpha1.StateDraining, runnerv1alpha1.StateDrained, runnerv1alpha1.StateTearingDown, runnerv1alpha1.StateDone:
		return false
	}
	return true
}

// pending is the oldest change that a shard with a share has not accepted; nil: none.
func (r *run) pending(s *stateful) *scheduled {
	if !s.works() || s.snapshot == nil || s.snapshot.Revision == 0 {
		return nil
	}
	for i := range r.changes {
		if r.changes[i].Revision > s.snapshot.Revision {
			return &r.changes[i]
		}
	}
	return nil
}

// due is the change to tell a shard now; nil: none.
func (r *run) due(s *stateful) *scheduled {
	if c := r.pending(s); c != nil && c.at != 0 {
		return c
	}
	return nil
}

// schedule chooses the instant of each change that somebody has to be told, once for all. A change
// that some runner has already was told by an earlier process, which knew the instant: the others
// get it at once.
func (r *run) schedule() {
	if !r.asked() {
		return
	}
	var last int64
	for i := range r.changes {
		c := &r.changes[i]
		if c.at == 0 && r.anyPending(c) {
			c.at = r.clock()
			if !r.anyHas(c.Revision) {
				c.at += int64(changeLead)
			}
			c.at = max(c.at, last+int64(changeGap))
			r.note(&c.Live, r.sinceStart(c.at))
			r.log.Info("Changing the load", "revision", c.Revision, "suspended", c.Suspended)
		}
		last = max(last, c.at)
	}
}

// asked: every shard has been looked at, or does not answer.
func (r *run) asked() bool {
	for _, s := range r.shards {
		if s.lost == nil && s.snapshot == nil && s.trouble == "" {
			return false
		}
	}
	return true
}

func (r *run) anyPending(c *scheduled) bool {
	for _, s := range r.shards {
		if r.pending(s) == c {
			return true
		}
	}
	return false
}

func (r *run) anyHas(revision int64) bool {
	for _, s := range r.shards {
		if s.lost == nil && s.snapshot != nil && s.snapshot.Revision >= revision {
			return true
		}
	}
	return false
}

// settle notes which changes every runner has accepted, and forgets those that newer ones follow.
func (r *run) settle() {
	for i := range r.changes {
		c := &r.changes[i]
		if c.accepted || !r.allHave(c.Revision) {
			continue
		}
		c.accepted = true
		if c.at != 0 {
			r.applied = append(r.applied, Applied{c.Revision, r.zero.Add(time.Duration(c.at))})
		}
	}
	r.applied = r.applied[max(0, len(r.applied)-maxApplied):]
	for len(r.changes) > 1 && r.changes[0].accepted {
		r.changes = r.changes[1:]
	}
}

// allHave: every shard that still works has accepted a revision.
func (r *run) allHave(revision int64) bool {
	for _, s := range r.shards {
		if s.works() && (s.snapshot == nil || s.snapshot.Revision < revision) {
			return false
		}
	}
	return true
}

// update is what to tell a shard: its share, with what is desired now, or the change that comes next.
func (r *run) update(s *stateful) (u runnerv1alpha1.Update, at int64) {
	c := r.due(s)
	if c == nil {
		c = &r.changes[len(r.changes)-1]
	} else {
		at = c.at
	}
	return runnerv1alpha1.Update{
		Revision: max(firstRevision, c.Revision), Share: s.share, Rates: c.Rates, Suspended: c.Suspended,
	}, at
}

// revisions are the least and the greatest that the shards have which still work, or, when none does,
// that all have. Zero: one of them was not asked yet.
func (r *run) revisions() (least, greatest int64) {
	first := true
	for _, all := range []bool{false, true} {
		for _, s := range r.shards {
			if s.lost != nil || !all && !s.works() {
				continue
			}
			var has int64
			if s.snapshot != nil {
				has = s.snapshot.Revision
			}
			if first || has < least {
				least = has
			}
			first, greatest = false, max(greatest, has)
		}
		if !first {
			break
		}
	}
	return least, greatest
}
