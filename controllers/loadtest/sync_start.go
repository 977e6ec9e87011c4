package loadtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
	"github.com/h2surge/h2surge/internal/version"
)

// begin decides the start. It stores the decision before the runners get it, so that another operator never starts the test again.
func (r *reconciler) begin(ctx context.Context, s *scope) (*blocker, error) {
	for _, fresh := range []func(context.Context, *scope) (bool, error){r.specIsCurrent, r.hasLock} {
		if ok, err := fresh(ctx, s); err != nil || !ok {
			return &blocker{Retry: staleInterval}, err
		}
	}
	err := r.decide(ctx, s, func(run *record.Record) error {
		live := record.Live{Generation: run.Plan.Generation, Rates: record.RatesOf(s.plan.Rates), Shards: s.plan.Shards}
		run.Start = &record.Start{Time: s.microTime(), Job: s.job.UID, With: s.starters(), Live: live}
		run.Live = live
		run.Pods = s.podsOf()
		maps.DeleteFunc(run.Pods, func(shard int, _ record.Pod) bool { return !slices.Contains(run.Newest().Members, shard) })
		return run.On(state.Begin)
	})
	if err != nil {
		return nil, err
	}
	_, err = r.order(s)
	return nil, err
}

// podsOf are the pods of the shards, as another operator needs them if they are deleted.
func (s *scope) podsOf() map[int]record.Pod {
	out := map[int]record.Pod{}
	for shard, pod := range s.pods {
		seen := s.observe(pod)
		out[shard] = record.Pod{UID: seen.UID, Name: seen.Name, Node: seen.Node, Address: seen.Address}
	}
	return out
}

// specIsCurrent returns whether the API server has the spec of this pass. An edit that the cache does not show yet leads
// to another plan. The API server refuses an edit after startTime is in status; one between this read and that write has
// no effect and is reported.
func (r *reconciler) specIsCurrent(ctx context.Context, s *scope) (bool, error) {
	lt := &v1alpha1.LoadTest{}
	err := r.reader.Get(ctx, s.key(), lt)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the LoadTest before the start: %w", err)
	}
	return lt.UID == s.lt.UID && lt.Generation == s.lt.Generation && lt.DeletionTimestamp == nil, nil
}

// canStart returns whether all shards that the test starts with are ready, with the shares that they start with.
func (s *scope) canStart() bool {
	if !s.view.AllReady() {
		return false
	}
	if with := s.starters(); with != nil {
		return slices.Equal(s.view.Members, with)
	}
	return len(s.view.Members) == s.plan.Shards && s.lostBeforeStart() == ""
}

// startFailure returns why the run cannot start any more; nil: it can, or has started.
func (s *scope) startFailure() *blocker {
	for i := range s.view.Shards {
		snap := s.view.Shards[i].Snapshot
		if snap == nil {
			continue
		}
		if why := snap.Mismatch(s.plan, version.Get().String()); why != "" {
			return never(v1alpha1.ReasonVersionMismatch, why)
		}
		switch snap.Problem {
		case runnerv1alpha1.ProblemPlan:
			return never(string(runnerv1alpha1.ProblemPlan), orText(snap.Message, "A runner cannot execute the plan"))
		case runnerv1alpha1.ProblemSetup:
			return never(v1alpha1.ReasonSetupFailed, orText(snap.Message, "A setup chain failed"))
		case runnerv1alpha1.ProblemPolicy:
			return never(v1alpha1.ReasonDeniedByPolicy, orText(snap.Message, "A runner must not connect to a target"))
		}
	}
	if why := s.lostBeforeStart(); why != "" && s.lastAttempt() && s.viable() < s.atLeast() {
		return never(v1alpha1.ReasonRunnerLost, fmt.Sprintf("%s (attempt %d of %d)", why, s.cfg.Runner.StartAttempts, s.cfg.Runner.StartAttempts))
	}
	return s.tooLate()
}

// tooLate returns the failure of a test whose runners were not ready in time. If the test starts with some of the shards, these have
// readyTimeout more, because they connect again with their larger shares.
func (s *scope) tooLate() *blocker {
	from, limit := s.readyLimit()
	if s.starters() != nil {
		limit += s.cfg.Runner.ReadyTimeout.Duration
	}
	if left := from.Add(limit).Sub(s.now); left > 0 {
		s.again(left)
		return nil
	}
	n := s.view.Count((*collect.Shard).Ready)
	late := fmt.Sprintf("Timed out after %s: %d of %d runners are ready", limit, n, s.plan.Shards)
	if !allRunning(s) {
		if s.problem != nil {
			return never(s.problem.Reason, late+": "+s.problem.Message)
		}
		return never(v1alpha1.ReasonStartTimeout, fmt.Sprintf("%s: %d of %d pods are running", late, podsRunning(s), s.plan.Shards))
	}
	if why := unreachableTarget(s); why != "" {
		return never(v1alpha1.ReasonTargetUnreachable, late+": "+why)
	}
	if why := unauthorizedTarget(s); why != "" {
		return never(v1alpha1.ReasonNotAuthorized, late+": "+why)
	}
	return never(v1alpha1.ReasonStartTimeout, late+firstTrouble(s.view))
}

// chooseStarters decides which shards the test starts with if it does not wait for all. The choice stays as long as the
// pods of these shards are healthy, because the runners connect again with their larger shares.
func (r *reconciler) chooseStarters(ctx context.Context, s *scope) error {
	gone := func(i int) bool { return !s.healthy(i) }
	if chosen := s.starters(); chosen != nil && !slices.ContainsFunc(chosen, gone) {
		return nil
	}
	with := s.enough()
	newest := s.run.Newest()
	if with == nil || newest == nil || slices.Equal(with, newest.Members) {
		return nil
	}
	return r.decide(ctx, s, func(run *record.Record) error {
		last := run.Newest()
		run.Append(record.Change{Revision: last.Revision + 1, Generation: last.Generation, Members: with, DecidedAt: s.microTime()})
		return nil
	})
}

// starters are the shards that the test starts with, sorted; nil: all.
func (s *scope) starters() []int {
	if s.startDecided() {
		return s.run.Start.With
	}
	if newest := s.run.Newest(); newest != nil && len(newest.Members) < s.plan.Shards {
		return newest.Members
	}
	return nil
}

func (s *scope) enough() []int {
	ready := s.readyShards()
	if len(ready) < s.atLeast() || len(ready) == s.plan.Shards {
		return nil
	}
	if s.lostBeforeStart() != "" {
		if !s.lastAttempt() {
			return nil // the next attempt restarts all
		}
		if len(ready) == s.viable() {
			return ready
		}
	}
	from, limit := s.readyLimit()
	if left := from.Add(limit).Sub(s.now); left > 0 {
		s.again(left)
		return nil
	}
	return ready
}

// atLeast returns with how many ready shards the test can start.
func (s *scope) atLeast() int {
	if n := s.lt.Spec.Runner.MinShards; n != nil {
		return min(int(*n), s.plan.Shards)
	}
	return s.plan.Shards
}

// healthy returns whether the shard has a pod that did not end and is not being deleted.
func (s *scope) healthy(shard int) bool {
	pod := s.pods[shard]
	if pod == nil || pod.DeletionTimestamp != nil {
		return false
	}
	over, _ := ended(pod)
	return !over
}

// readyShards are those whose pods are well and whose runners are ready.
func (s *scope) readyShards() (out []int) {
	for i := range min(s.plan.Shards, len(s.view.Shards)) {
		if s.healthy(i) && s.view.Shards[i].Ready() {
			out = append(out, i)
		}
	}
	return out
}

// viable returns how many shards can become ready: those whose pods run or do not exist yet.
func (s *scope) viable() int {
	lost := 0
	for i, pod := range s.pods {
		if pod != nil && !s.healthy(i) {
			lost++
		}
	}
	return s.plan.Shards - max(lost, int(s.job.Status.Failed))
}

func (s *scope) lastAttempt() bool {
	return s.run.Losses+1 >= s.cfg.Runner.StartAttempts
}

// readyWithin returns the configured limit, plus the times of the longest ramp of connections and of the setup chains.
func readyWithin(plan *runnerv1alpha1.Plan, configured time.Duration) time.Duration {
	var ramp time.Duration
	for i := range plan.Targets {
		t := &plan.Targets[i]
		ramp = max(ramp, t.ConnectWithin()-t.ConnectTimeout)
	}
	return configured + ramp + plan.SetupWithin()
}

func unreachableTarget(s *scope) string {
	return problemOfRunner(s, runnerv1alpha1.ProblemConnect, "cannot connect")
}

func unauthorizedTarget(s *scope) string {
	return problemOfRunner(s, runnerv1alpha1.ProblemAuthorization, "has no authorization")
}

// problemOfRunner describes the first runner that has a problem; "": no runner has it.
func problemOfRunner(s *scope, p runnerv1alpha1.Problem, what string) string {
	for i := range s.view.Shards {
		if snap := s.view.Shards[i].Snapshot; snap != nil && snap.Problem == p {
			return fmt.Sprintf("runner %d %s: %s", i, what, orText(snap.Message, "no details"))
		}
	}
	return ""
}

func firstTrouble(v *collect.View) string {
	for i := range v.Shards {
		if t := v.Shards[i].Trouble; t != "" {
			return fmt.Sprintf(": runner %d: %s", i, clip(t, 512))
		}
	}
	return ""
}

// lostBeforeStart says which runner was lost before the start, and why; empty: none.
func (s *scope) lostBeforeStart() string {
	if jobSuspended(s.job) {
		return "" // the Job controller deleted the pods, and creates others when the queue admits the Job again
	}
	for shard := range s.shards() {
		if pod := s.pods[shard]; pod != nil {
			if over, why := ended(pod); over {
				return fmt.Sprintf("Runner %d (pod %s) ended before the start: %s", shard, pod.Name, why)
			}
			if pod.DeletionTimestamp != nil {
				return fmt.Sprintf("Runner %d (pod %s) was deleted before the start", shard, pod.Name)
			}
		}
	}
	// A pod that was deleted by force leaves nothing but the Job's count.
	if s.job.Status.Failed > 0 {
		return "A runner was lost before the start"
	}
	return ""
}
