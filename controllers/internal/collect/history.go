package collect

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// recall takes over what a runner was told by whoever worked here before.
func (r *run) recall(told []runnerv1alpha1.Update) {
	if len(told) == 0 || told[len(told)-1].Revision <= r.newest().Revision {
		return
	}
	r.changes = nil
	for _, u := range told {
		c := &change{Update: u, early: u.At == 0}
		r.changes = append(r.changes, c)
		if !c.early {
			r.note(c)
		}
	}
	r.recognize()
	r.hasten()
}

// recognize finds out who has or had a part: who is in the last deal, and of the others who has had
// slots. That an earlier runner of the same shard had a part says nothing.
func (r *run) recognize() {
	for i, s := range r.shards {
		if !s.over() {
			s.member = slices.Contains(r.newest().Members, i) || s.snapshot != nil && HadSlots(s.snapshot)
		}
	}
}

// HadSlots says that by its snapshot a runner has had a part of the load. Who has just taken over knows
// no better for a moment.
func HadSlots(s *runnerv1alpha1.Snapshot) bool {
	return slices.ContainsFunc(s.Stages, func(c runnerv1alpha1.StageCounters) bool { return c.Slots > 0 || c.Sent > 0 })
}

// remember marks the runners that are over, of which is stored what they have counted. Another pod of the
// same shard is another runner.
func (r *run) remember() {
	for i := range r.d.Recorded {
		rec := &r.d.Recorded[i]
		s := r.recorded(rec)
		s.recorded, s.snapshot = true, orSnapshot(s.snapshot, rec.Snapshot)
		s.left = rec.Loss == nil
		if s.lost == nil {
			s.lost = rec.Loss
		}
	}
	for i, s := range r.shards {
		if p := r.d.Pods[i]; s.recorded && p.UID != "" && p.UID != s.pod.UID {
			r.former = append(r.former, s)
			r.shards[i] = newStateful(i)
		}
	}
}

// recorded is the runner that a record is about.
func (r *run) recorded(rec *Recorded) *stateful {
	for _, s := range r.former {
		if s.index == rec.Shard && s.pod.UID == rec.Pod {
			return s
		}
	}
	s := r.at(rec.Shard)
	if s.pod.UID != rec.Pod && s.pod.UID != "" { // another one has its place
		s = newStateful(rec.Shard)
		s.pod.UID, s.member = rec.Pod, true
		r.former = append(r.former, s)
		return s
	}
	s.pod.UID, s.member = rec.Pod, s.member || rec.Loss == nil || rec.Snapshot != nil && HadSlots(rec.Snapshot)
	return s
}

// at is the present runner of a shard.
func (r *run) at(i int) *stateful {
	for len(r.shards) <= i {
		r.shards = append(r.shards, newStateful(len(r.shards)))
	}
	return r.shards[i]
}

func orSnapshot(s, fallback *runnerv1alpha1.Snapshot) *runnerv1alpha1.Snapshot {
	if s == nil {
		return fallback
	}
	return s
}
