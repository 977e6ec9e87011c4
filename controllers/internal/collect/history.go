package collect

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// HadSlots returns whether a runner reports that it had a share of the load.
func HadSlots(s *runnerv1alpha1.Snapshot) bool {
	return slices.ContainsFunc(s.Stages, func(c runnerv1alpha1.StageCounters) bool { return c.Slots > 0 || c.Sent > 0 })
}

// takeStored marks the runners that are over and whose counts are stored. Another pod of the
// same shard is another runner.
func (r *run) takeStored() {
	for i := range r.d.Recorded {
		rec := &r.d.Recorded[i]
		s := r.runnerOf(rec)
		r.news = r.news || !s.stored // the view says that its counts are in it
		s.stored = true
		if n := rec.Snapshot; n != nil && (s.snapshot == nil || s.snapshot.Sequence < n.Sequence) {
			r.restore(s, n)
		}
		if s.loss == nil {
			s.loss = rec.Loss
		}
		if s.pod.Address == "" && rec.Address != "" {
			s.pod.Address = rec.Address
		}
		if rec.Loss == nil {
			r.happen(s, shards.Ended)
			r.happen(s, shards.Departed)
		} else {
			r.happen(s, shards.GaveUp)
		}
	}
	for i, s := range r.shards {
		if p := r.d.Pods[i]; s.stored && p.UID != "" && p.UID != s.pod.UID {
			r.former = append(r.former, s)
			r.shards[i] = r.newRunner(i)
			r.shards[i].member = slices.Contains(r.newest().Members, i) && r.d.Owners[i] == p.UID
			r.news = true
		}
	}
}

// restore takes over the stored snapshot of a runner that is over. It can be newer than the last one that this process got: a former
// operator polls runners until it knows that it is replaced.
func (r *run) restore(s *runner, n *runnerv1alpha1.Snapshot) {
	if err := r.merge.Add(n); err != nil {
		r.log.Error(err, "Cannot use the stored counts of a runner", "shard", s.index)
		return
	}
	if err := r.limits.Add(n); err != nil {
		r.log.Error(err, "Cannot compare the thresholds with the stored counts of a runner", "shard", s.index)
	}
	s.snapshot = n
}

// runnerOf is the runner whose counts are stored.
func (r *run) runnerOf(rec *Recorded) *runner {
	for _, s := range r.former {
		if s.index == rec.Shard && s.pod.UID == rec.Pod {
			return s
		}
	}
	s := r.at(rec.Shard)
	if s.pod.UID != rec.Pod && s.pod.UID != "" { // another runner has its place
		s = r.newRunner(rec.Shard)
		s.pod.UID, s.member = rec.Pod, rec.Member
		r.former = append(r.former, s)
		return s
	}
	s.pod.UID, s.member = rec.Pod, rec.Member
	return s
}

// at is the present runner of a shard.
func (r *run) at(i int) *runner {
	for len(r.shards) <= i {
		r.shards = append(r.shards, r.newRunner(len(r.shards)))
	}
	return r.shards[i]
}
