package loadtest

import (
	"context"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// collectPhase tells the collector what is wanted and takes over what it knows.
func (r *reconciler) collectPhase(_ context.Context, s *scope) (bool, error) {
	if s.job == nil || s.plan == nil || s.obstacle != nil {
		return true, nil
	}
	return true, r.look(s)
}

func (r *reconciler) look(s *scope) error {
	if view := r.registry.View(s.lt.UID); view != nil {
		s.view = view // what follows from it goes to the collector at once
	}
	if s.behind {
		return nil
	}
	s.startWith = startWithOf(s.job)
	if !s.mayStart() {
		s.startWith = r.starters(s)
	}
	d := r.wanted(s)
	if d.MayStart {
		d.Stop = s.stop()
	}
	view, err := r.registry.Ensure(d)
	if err != nil {
		return err
	}
	s.view = view
	if !s.mayStart() {
		s.problem = diagnose(s)
	}
	return nil
}

// wanted is what the collector is to know of the run. It shares nothing that changes.
func (r *reconciler) wanted(s *scope) collect.Desired {
	d := collect.Desired{
		Name: s.key(), UID: s.lt.UID, Attempt: attemptOf(s.job), Job: s.job.UID, Plan: s.plan,
		Shards: s.room(), ShardsRevision: r.roomRevision(s), StartWith: s.startWith, Redeal: s.policy() == v1alpha1.ShardLostRebalance,
		Pods: map[int]collect.Pod{}, Recorded: s.recorded(), MayStart: s.mayStart(), Stored: s.end != nil,
	}
	if d.Live = s.live; d.Live.Generation == 0 {
		d.Live = s.beforeStart()
	}
	for shard, pod := range s.pods {
		d.Pods[shard] = r.observe(pod)
	}
	return d
}

// listOf writes shards as an annotation has them: "0,2"; nothing for all.
func listOf(shards []int) string {
	var out []string
	for _, i := range shards {
		out = append(out, strconv.Itoa(i))
	}
	return strings.Join(out, ",")
}

// startWithOf are the shards that a Job was started with; nil: all.
func startWithOf(job *batchv1.Job) []int {
	list := job.Annotations[desired.AnnotationStartWith]
	if list == "" {
		return nil
	}
	var out []int
	for text := range strings.SplitSeq(list, ",") {
		i, err := strconv.Atoi(text)
		if err != nil {
			return nil // somebody has spoilt it: what the runners say counts
		}
		out = append(out, i)
	}
	return out
}
