package shards

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// runners are the present ones by shard.
type runners []*runner

// pollNow makes the next round call every runner.
func (l runners) pollNow() {
	for _, s := range l {
		s.pollAt = time.Time{}
	}
}

// globals are what setup captured, on the shard that ran it.
func (l runners) globals() []string {
	for _, s := range l {
		if s.globals != nil {
			return s.globals
		}
	}
	return nil
}

// know: some runner knows the start.
func (l runners) know() bool { return slices.ContainsFunc(l, (*runner).knowsStart) }

// start is the start of the test by the operator's clock, from a runner that knows it; zero: none does.
func (l runners) start() int64 {
	for _, s := range l {
		if s.knowsStart() && s.clock.RTT > 0 {
			return s.snapshot.StartAt + s.clock.Offset
		}
	}
	return 0
}

// sent: some runner has slots of a stage.
func (l runners) sent(stage int) bool {
	return slices.ContainsFunc(l, func(s *runner) bool {
		return s.snapshot != nil && stage < len(s.snapshot.Stages) && s.snapshot.Stages[stage].Slots > 0
	})
}

// drained: no runner has a request of the load in flight any more, so that teardown may begin.
func (l runners) drained() bool {
	for _, s := range l {
		if (s.member || s.knowsStart()) && !s.state.Over() && !s.final() && (s.snapshot == nil ||
			s.snapshot.State != runnerv1alpha1.StateDrained) {
			return false
		}
	}
	return true
}

// have: every member that may still send, and is not lost, accepted a revision.
func (l runners) have(revision int64) bool {
	for _, s := range l {
		if s.member && s.sends() && (s.snapshot == nil || s.snapshot.Revision < revision) {
			return false
		}
	}
	return true
}

// atWork: every member knows the start, and some members still send.
func (l runners) atWork(members []int) bool {
	sending := false
	for _, i := range members {
		s := l[i]
		if s.state.Over() {
			continue
		}
		if !s.knowsStart() {
			return false
		}
		sending = sending || s.sends()
	}
	return sending
}

// snapshots are those of the members that are not lost.
func (l runners) snapshots(members []int) (out []runnerv1alpha1.Snapshot) {
	for _, i := range members {
		if s := l[i]; s.member && s.state != Lost && s.snapshot != nil {
			out = append(out, *s.snapshot)
		}
	}
	return out
}

// generation is the least of the members that may still send or, when none does, of all. Zero: one of them did not
// answer yet.
func (l runners) generation() int64 {
	var sending, all []int64
	for _, s := range l {
		if !s.member || s.state.Over() {
			continue
		}
		var has int64
		if s.snapshot != nil {
			has = s.snapshot.Generation
		}
		all = append(all, has)
		if s.sends() {
			sending = append(sending, has)
		}
	}
	switch {
	case len(sending) > 0:
		return slices.Min(sending)
	case len(all) > 0:
		return slices.Min(all)
	}
	return 0
}
