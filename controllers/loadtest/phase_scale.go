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

// scalePhase gives the Job the number of indices that the test is to have. More are made at once: the
// collector deals the load when they are ready. Fewer are there only when the collector has dealt the load
// away from them and what they have counted is stored.
func (r *reconciler) scalePhase(ctx context.Context, s *scope) (bool, error) {
	if !s.scales() {
		return true, nil
	}
	n := s.indices(s.view.ShardsRevision == r.roomRevision(s))
	if n == completions(s.job) {
		if n != s.room() {
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

// roomRevision numbers the changes of a run's room.
func (r *reconciler) roomRevision(s *scope) int64 {
	c := r.memory.of(s.lt)
	if room := s.room(); c.roomRevision == 0 || c.room != room {
		c.room, c.roomRevision = room, c.roomRevision+1
	}
	return c.roomRevision
}

// scales: the number of shards may still change.
func (s *scope) scales() bool {
	return s.mayStart() && s.job != nil && s.end == nil && s.plan != nil && s.obstacle == nil && !s.behind && !s.takenOver() &&
		s.job.DeletionTimestamp == nil && s.stop() == "" && loading(s)
}

func completions(job *batchv1.Job) int {
	if job.Spec.Completions == nil {
		return 0
	}
	return int(*job.Spec.Completions)
}

// room is how many shards the collector may give a share: those that the test must have, but none from the first one on that must go before
// it can be made again. That is one whose index the Job counts as over, and one above the Job's indices whose pod is still there: the Job
// controller is about to delete it.
func (s *scope) room() int {
	n := s.shards()
	if !s.mayStart() || s.job == nil {
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

// vacant: the last runner of a shard was scaled away, and no other pod of it has come.
func (s *scope) vacant(shard int) bool {
	last := s.run.Last(shard)
	return last != nil && last.Loss == nil && s.pods[shard] == nil
}

// spent: the Job has counted an index as over, so that it makes no pod for it until it had fewer indices.
func spent(job *batchv1.Job, index int) bool {
	lists := []string{job.Status.CompletedIndexes}
	if job.Status.FailedIndexes != nil {
		lists = append(lists, *job.Status.FailedIndexes)
	}
	return slices.ContainsFunc(lists, func(list string) bool { return listed(list, index) })
}

// listed reads what a Job's status has: "0,3-5".
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

// indices is how many the Job must have now. settled: the view follows the number of shards, so that no shard that must go can get a
// share any more.
func (s *scope) indices(settled bool) int {
	have, want := completions(s.job), s.room()
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

// mayGo: nothing is lost with the pod of a shard.
func (s *scope) mayGo(shard int, settled bool) bool {
	if s.pods[shard] == nil && s.run.Last(shard) != nil {
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

// leaving: the load is dealt away from a shard, and it awaits its last responses.
func (s *scope) leaving(shard int) bool {
	if shard >= len(s.view.Shards) {
		return false
	}
	sh := &s.view.Shards[shard]
	return sh.Member && !sh.Left && sh.Lost == nil && !slices.Contains(s.view.Members, shard)
}
