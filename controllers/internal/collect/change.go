package collect

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

const (
	// changeLead is the time between the proposal of a change and the change, so that the reconciler can store it and every
	// runner gets it before. A proposal that is not stored within proposalLife is made again. A runner that gets a change late catches up.
	changeLead   = 750 * time.Millisecond
	proposalLife = 250 * time.Millisecond
	// changeGap keeps the times of two changes in their order.
	changeGap = 10 * time.Millisecond
	// maxApplied bounds View.Applied; status keeps no more.
	maxApplied = 32
)

// Live is what can change while the test runs.
type Live struct {
	// Generation of the spec orders changes.
	Generation int64
	// Rates are those of all stages; they must not be changed.
	Rates     []runnerv1alpha1.Rate
	Suspended bool
}

// Applied is a change that every runner accepted, with the time when it takes effect and the
// shards that have a share from then on.
type Applied struct {
	Generation int64
	Members    []int
	At         time.Time
}

func (r *run) newest() *runnerv1alpha1.Update { return &r.changes[len(r.changes)-1] }

// acceptChanges takes over the changes that the run record has got. The record can leave out old ones that no runner needs.
func (r *run) acceptChanges() {
	if len(r.d.Changes) == 0 || r.d.Changes[len(r.d.Changes)-1].Revision <= r.accepted {
		return
	}
	known := r.accepted
	r.changes, r.accepted = r.d.Changes, r.d.Changes[len(r.d.Changes)-1].Revision
	for i := range r.changes {
		c := &r.changes[i]
		switch {
		case c.Revision <= known:
		case c.At == 0: // before the start; no runner has had a share yet
			for _, s := range r.shards {
				s.member = false
			}
		default:
			r.changeWindows(c)
			r.log.Info("Changing the load", "revision", c.Revision, "generation", c.Generation, "suspended", c.Suspended, "shards", c.Members)
		}
	}
	for _, i := range r.newest().Members {
		if s := r.at(i); !s.state.Over() {
			s.member = true
		}
	}
	for i, s := range r.shards {
		if s.member && !slices.Contains(r.newest().Members, i) {
			r.happen(s, shards.Removed)
		}
	}
	r.proposal, r.begins, r.news = nil, false, true
	r.pollNow()
}

// propose finds the change that comes next. The reconciler stores it in the run record, and then it is among the changes.
func (r *run) propose(now time.Time) {
	next, begins := r.nextChange(now)
	since := r.clock() - r.startAt
	switch {
	case next == nil:
		r.news = r.news || r.proposal != nil
		r.proposal = nil
		return
	case r.proposal != nil && r.begins == begins && r.proposal.Generation == next.Generation && slices.Equal(r.proposal.Members, next.Members) &&
		r.proposal.At-since > int64(changeLead-proposalLife):
		return
	}
	next.Revision, next.At = r.newest().Revision+1, max(since+int64(changeLead), r.newest().At+int64(changeGap))
	if !begins {
		r.whileProbing(next)
	}
	r.proposal, r.begins, r.news = next, begins, true
}

// nextChange is what must change now, without the time, and whether it begins a probe; nil: nothing. The changes of the spec come first,
// then those of members.
func (r *run) nextChange(now time.Time) (change *runnerv1alpha1.Update, begins bool) {
	if !r.begun() || r.d.Stop != "" || r.d.Stored {
		return nil, false
	}
	next := *r.newest()
	if r.d.Live.Generation > next.Generation {
		next.Generation, next.Rates, next.Suspended = r.d.Live.Generation, r.d.Live.Rates, r.d.Live.Suspended
		return &next, false
	}
	if next.Members = r.nextMembers(now); next.Members != nil {
		return &next, false
	}
	probe := r.nextProbe()
	return probe, probe != nil
}

// begun: the time of the start is known, and some runner knows it.
func (r *run) begun() bool {
	return r.d.MayStart && r.startAt != 0 && slices.ContainsFunc(r.shards, (*runner).knowsStart)
}

// pollNow makes the next round call every runner, without delay.
func (r *run) pollNow() {
	for _, s := range r.shards {
		s.pollAt = time.Time{}
	}
	r.nextRound = time.Time{}
}

// pending is the oldest change that a runner with a share did not accept; nil: none. Changes
// after the start go to the runners that have started; the others get them with their start. A lost runner gets the change that takes
// its share when it answers again.
func (r *run) pending(s *runner) *runnerv1alpha1.Update {
	lost := s.state == shards.Lost && !s.final()
	if !s.sends() && !lost || s.snapshot == nil || s.snapshot.Revision == 0 {
		return nil
	}
	for i := range r.changes {
		if c := &r.changes[i]; c.Revision > s.snapshot.Revision && (c.At == 0) != s.knowsStart() {
			return c
		}
	}
	return nil
}

// settle finds the changes that every runner accepted.
func (r *run) settle() {
	for i := range r.changes {
		c := &r.changes[i]
		if c.Revision <= r.settled {
			continue
		}
		if c.At != 0 && r.startAt == 0 || !r.allHave(c.Revision) {
			break
		}
		r.settled, r.news = c.Revision, true
		if c.At != 0 {
			r.applied = append(r.applied, Applied{c.Generation, c.Members, r.zero.Add(time.Duration(r.startAt + c.At))})
		}
	}
	r.applied = r.applied[max(0, len(r.applied)-maxApplied):]
}

// allHave: every member that may still send, and is not lost, accepted a revision.
func (r *run) allHave(revision int64) bool {
	for _, s := range r.shards {
		if s.member && s.state != shards.Lost && s.sends() && (s.snapshot == nil || s.snapshot.Revision < revision) {
			return false
		}
	}
	return true
}

// generation is the least of the members that may still send or, when none does, of all. Zero: one of them did not answer yet.
func (r *run) generation() (least int64) {
	for _, all := range []bool{false, true} {
		found := false
		for _, s := range r.shards {
			if !s.member || s.state.Over() || !all && !s.sends() {
				continue
			}
			var has int64
			if s.snapshot != nil {
				has = s.snapshot.Generation
			}
			if !found || has < least {
				least = has
			}
			found = true
		}
		if found {
			break
		}
	}
	return least
}
