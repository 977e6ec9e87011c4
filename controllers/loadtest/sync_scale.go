package loadtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// followInterval is how often a pass looks whether the collector follows a new number of shards.
const followInterval = 200 * time.Millisecond

// syncScale gives the Job its number of indices. It adds indices at once: their runners get a share when they are ready. It removes an index
// only when its runner has no share any more and its counts are stored.
func (r *reconciler) syncScale(ctx context.Context, s *scope) (bool, error) {
	if !s.scales() {
		return true, nil
	}
	n := s.indices(s.view.ShardsRevision == r.capacityRevision(s))
	if n == completions(s.job) {
		if n != s.capacity() {
			s.again(followInterval)
		}
		return true, nil
	}
	what := fmt.Sprintf("Job %s with %d indices", s.job.Name, n)
	_, err := r.attempt(ctx, s, what, func() error {
		return r.client.Apply(ctx, desired.ApplyScale(s.job, int32(n)), fieldOwner+"-scale", client.ForceOwnership)
	})
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return false, nil // the Job is another one by now; its event brings the next pass
	case err != nil:
		return false, fmt.Errorf("scaling Job %s to %d indices: %w", s.job.Name, n, err)
	}
	return true, nil
}

// capacityRevision returns the number of the last change of the capacity.
func (r *reconciler) capacityRevision(s *scope) int64 {
	c := r.memory.of(s.lt)
	if capacity := s.capacity(); c.capacityRevision == 0 || c.capacity != capacity {
		c.capacity, c.capacityRevision = capacity, c.capacityRevision+1
	}
	return c.capacityRevision
}

// scales returns whether the number of shards can change.
func (s *scope) scales() bool {
	return s.job != nil && s.job.DeletionTimestamp == nil && s.run.Stop == nil && !s.takenOver() && loading(s)
}

func completions(job *batchv1.Job) int {
	if job.Spec.Completions == nil {
		return 0
	}
	return int(*job.Spec.Completions)
}

// capacity returns how many shards the collector may give a share. It is the desired number, unless a shard needs another pod, and the Job
// creates it only after it had fewer indices. Then it is the number of that shard: if shard 1 of 4 was scaled away before, it returns 1 until
// the Job has at most one index. The same holds for a shard above the Job's indices whose pod still exists.
func (s *scope) capacity() int {
	n := s.shards()
	if !s.startDecided() || s.job == nil {
		return n
	}
	have := completions(s.job)
	for i := range n {
		if i < have && s.vacant(i) && spent(s.job, i) {
			return i
		}
		if i >= have && s.pods[i] != nil {
			return have
		}
	}
	return n
}

// vacant returns whether the last runner of a shard was scaled away, and no other pod of it exists.
func (s *scope) vacant(shard int) bool {
	last := s.run.Last(shard)
	return last != nil && last.Loss == nil && s.pods[shard] == nil && s.ownerRecorded(shard)
}

// ownerRecorded returns whether the runner that got the share of a shard last is recorded. If not, its counts are not stored.
func (s *scope) ownerRecorded(shard int) bool {
	owner, ok := s.run.Pods[shard]
	return !ok || s.isRecorded(shard, owner.UID)
}

// spent returns whether the Job counts an index as ended. It creates no pod for the index until it had fewer indices.
func spent(job *batchv1.Job, index int) bool {
	lists := []string{job.Status.CompletedIndexes}
	if job.Status.FailedIndexes != nil {
		lists = append(lists, *job.Status.FailedIndexes)
	}
	return slices.ContainsFunc(lists, func(list string) bool { return listed(list, index) })
}

// listed returns whether a list of a Job's status, such as "0,3-5", contains an index.
func listed(list string, index int) bool {
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err1 == nil && err2 == nil && low <= index && index <= high {
			return true
		}
	}
	return false
}

// indices returns how many indices the Job must have now. settled is true if the collector knows the capacity, so that no shard above it gets
// a share.
func (s *scope) indices(settled bool) int {
	have, want := completions(s.job), s.capacity()
	for i := range have {
		switch {
		case i >= want && !s.mayGo(i, settled), i < want && want > have && (s.vacant(i) || s.leaving(i)):
			return have
		}
	}
	for i := have; i < want; i++ {
		if spent(s.job, i) { // of a time when it had more; its controller has not taken notice of fewer yet
			return have
		}
	}
	return want
}

// mayGo returns whether the pod of a shard can go without a loss of counts.
func (s *scope) mayGo(shard int, settled bool) bool {
	if s.pods[shard] == nil && s.run.Last(shard) != nil && s.ownerRecorded(shard) {
		return true
	}
	if shard >= len(s.view.Shards) {
		return settled
	}
	sh := &s.view.Shards[shard]
	if sh.Lost != nil || sh.Left {
		return s.isRecorded(shard, sh.Pod.UID)
	}
	return settled && !sh.Member && (sh.Pod.Address == "" || sh.Snapshot != nil && !collect.HadSlots(sh.Snapshot))
}

// leaving returns whether a change took the share of a shard, and its runner waits for responses.
func (s *scope) leaving(shard int) bool {
	if shard >= len(s.view.Shards) {
		return false
	}
	sh := &s.view.Shards[shard]
	return sh.Member && !sh.Left && sh.Lost == nil && !slices.Contains(s.view.Members, shard)
}
