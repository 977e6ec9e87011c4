package collect

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// changeLead lies between the choice of the instant of a change and the instant, so that every
	// runner hears of it before. One that does not makes up for it.
	changeLead = 500 * time.Millisecond
	// changeGap keeps the instants of two changes in their order.
	changeGap = 10 * time.Millisecond
	// maxApplied bounds View.Applied; status keeps no more.
	maxApplied = 32
)

// Live is what of a run may change while it runs.
type Live struct {
	// Generation of the spec orders changes. Zero: there is nothing to tell.
	Generation int64
	// Rates are those of all stages; they must not be changed.
	Rates     []runnerv1alpha1.Rate
	Suspended bool
}

// Applied is a change that every runner has accepted, with the instant from which it is in force and the
// shards that have a part since.
type Applied struct {
	Generation int64
	Members    []int
	At         time.Time
}

// change is one update as all runners get it, but for their shares. Those before the start have no
// instant; later ones are told when theirs has been chosen.
type change struct {
	runnerv1alpha1.Update
	// early: it was made before the start, and is in force at once.
	early bool
	// accepted by every runner that still works.
	accepted bool
}

func (r *run) newest() *change { return r.changes[len(r.changes)-1] }

// add puts a change behind all others. It is told at once before the start, else when its instant is chosen.
func (r *run) add(u runnerv1alpha1.Update) {
	u.Revision = r.newest().Revision + 1
	c := &change{Update: u, early: r.startAt == 0}
	r.changes = append(r.changes, c)
	if c.early { // nobody has had a part yet
		for _, s := range r.shards {
			s.member = false
		}
	}
	r.addMembers(u.Members)
	r.pollNow()
}

// enlist notes that shards have a part of the load.
func (r *run) addMembers(members []int) {
	for _, i := range members {
		if s := r.at(i); !s.over() {
			s.member = true
		}
	}
}

// enqueue takes over what is desired, when it is newer than what was. Changes stay, so that one that hears
// late, or joins, does the same as the others in the same order.
func (r *run) enqueue() {
	last := r.newest()
	if r.changes[0].Generation == 0 && !r.d.MayStart {
		r.changes[0].Generation = r.d.Live.Generation // nobody was told anything else
	}
	if !r.mayTell() || r.changes[0].Generation == 0 || r.d.Live.Generation <= last.Generation {
		return
	}
	r.add(runnerv1alpha1.Update{
		Generation: r.d.Live.Generation, Members: last.Members, Rates: r.d.Live.Rates, Suspended: r.d.Live.Suspended,
	})
}

// mayTell: everything that the runners have heard is known, so that a new change comes after it. Those that
// come later have heard of nobody else.
func (r *run) mayTell() bool {
	for _, s := range r.shards {
		switch {
		case s.over() || s.pod.Address == "" || s.pod.Ended:
		case s.snapshot == nil && s.trouble == "" && !r.synced:
			return false
		case s.snapshot != nil && s.snapshot.Revision > r.newest().Revision:
			return false
		}
	}
	r.synced = true
	return true
}

// begun: the start instant is known, and some runner was told it.
func (r *run) begun() bool {
	return r.startAt != 0 && slices.ContainsFunc(r.shards, func(s *runner) bool { return s.knowsStart() })
}

// schedule chooses the instants of changes that have none, once for all.
func (r *run) schedule() {
	if !r.begun() {
		return
	}
	last := int64(0)
	for _, c := range r.changes {
		if c.At == 0 && !c.early {
			c.At = max(r.clock()-r.startAt+int64(changeLead), last+int64(changeGap))
			r.changeWindows(c)
			r.pollNow()
			r.log.Info("Changing the load", "revision", c.Revision, "generation", c.Generation, "suspended", c.Suspended, "shards", c.Members)
		}
		last = max(last, c.At)
	}
}

// pollNow makes the next round call every runner, without delay.
func (r *run) pollNow() {
	for _, s := range r.shards {
		s.pollAt = time.Time{}
	}
	r.nextRound = time.Time{}
}

// pending is the oldest change that a shard with a share has not accepted; nil: none. What was changed
// after the start is told to those that have started; the others hear of it with their start.
func (r *run) pending(s *runner) *change {
	if !s.sends() || s.snapshot == nil || s.snapshot.Revision == 0 {
		return nil
	}
	for _, c := range r.changes {
		if c.Revision > s.snapshot.Revision && c.early != s.knowsStart() {
			return c
		}
	}
	return nil
}

// due is the change to tell a shard now; nil: none.
func (r *run) due(s *runner) *change {
	if c := r.pending(s); c != nil && (c.early || c.At != 0) {
		return c
	}
	return nil
}

// settle notes which changes every runner has accepted. One that is made before the start is in force at
// the start.
func (r *run) settle() {
	for _, c := range r.changes {
		if c.accepted || !c.early && c.At == 0 || !r.allHave(c.Revision) {
			continue
		}
		c.accepted = true
		r.news = true
		if c.At != 0 {
			r.applied = append(r.applied, Applied{c.Generation, c.Members, r.zero.Add(time.Duration(r.startAt + c.At))})
		}
	}
	r.applied = r.applied[max(0, len(r.applied)-maxApplied):]
}

// allHave: every shard that has a part and still works has accepted a revision.
func (r *run) allHave(revision int64) bool {
	for _, s := range r.shards {
		if s.member && s.sends() && (s.snapshot == nil || s.snapshot.Revision < revision) {
			return false
		}
	}
	return true
}

// generations are the least and the greatest that the shards have which still work, or, when none does,
// that all have. Zero: one of them was not asked yet.
func (r *run) generations() (least, greatest int64) {
	first := true
	for _, all := range []bool{false, true} {
		for _, s := range r.shards {
			if !s.member || s.over() || !all && !s.sends() {
				continue
			}
			var has int64
			if s.snapshot != nil {
				has = s.snapshot.Generation
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
