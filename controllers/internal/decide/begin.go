package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/load/split"
)

// Begin decides the start.
func Begin(f *run.Facts, next *record.Record) error {
	live := record.Live{Generation: f.LoadTest.Generation, Rates: record.RatesOf(f.Plan.Rates), Shards: f.Plan.Shards}
	next.Start = &record.Start{Time: f.MicroTime(), Job: f.Job.UID, With: f.Starters(), Live: live,
		Unplanned: run.Unplanned(&f.LoadTest.Spec)}
	next.Live = live
	next.Pods = podsOf(f, next.Newest().Members)
	return next.On(record.EventBegin)
}

// Starters decides which shards the test starts with if it does not wait for all. The choice stays as long as the pods
// of these shards are healthy, because the runners connect again with their larger shares. After a choice of earlier
// pods, the test waits for all shards again.
func Starters(f *run.Facts, next *record.Record) {
	chosen, newest := f.Starters(), next.Newest()
	earlier := chosen != nil && ofEarlierPods(f, newest)
	gone := func(i int) bool { return !healthy(f, i) }
	if chosen != nil && !earlier && !slices.ContainsFunc(chosen, gone) {
		return
	}
	with := enough(f)
	if with == nil && earlier {
		with = split.All(f.Plan.Shards)
	}
	if with == nil || newest == nil || slices.Equal(with, newest.Members) {
		return
	}
	next.Append(record.Change{Revision: newest.Revision + 1, Generation: newest.Generation, Members: with,
		DecidedAt: f.MicroTime()})
}

// ofEarlierPods returns whether a choice was made before the operator created the Job, or before a queue admitted it.
// It compares stored times, because an operator that takes over sees the Job for the first time. A time in the future
// is of a clock that was ahead.
func ofEarlierPods(f *run.Facts, choice *record.Change) bool {
	since := f.Record.Changes[0].DecidedAt.Time
	if t := f.Record.Admitted; t != nil && t.After(since) {
		since = t.Time
	}
	return choice.DecidedAt.Time.Before(since) && !since.After(f.Now)
}

// CanStart returns whether all shards that the test starts with are ready, with the shares that they start with.
func CanStart(f *run.Facts) bool {
	if !f.View.AllReady || slices.ContainsFunc(f.View.Members, func(i int) bool { return !healthy(f, i) }) {
		return false
	}
	if with := f.Starters(); with != nil {
		return slices.Equal(f.View.Members, with)
	}
	return len(f.View.Members) == f.Plan.Shards && lostBeforeStart(f) == ""
}

// enough returns the shards that the test starts with because the others do not become ready; nil: it waits, or all are
// ready.
func enough(f *run.Facts) []int {
	ready := readyShards(f)
	if len(ready) < atLeast(f) || len(ready) == f.Plan.Shards {
		return nil
	}
	if lostBeforeStart(f) != "" {
		if !lastAttempt(f) {
			return nil // the next attempt restarts all
		}
		if len(ready) == viable(f) {
			return ready
		}
	}
	from, limit := ReadyLimit(f)
	if left := from.Add(limit).Sub(f.Now); left > 0 {
		f.Again(left)
		return nil
	}
	return ready
}

// atLeast returns with how many ready shards the test can start.
func atLeast(f *run.Facts) int {
	if n := f.LoadTest.Spec.Runner.MinShards; n != nil {
		return min(int(*n), f.Plan.Shards)
	}
	return f.Plan.Shards
}

// healthy returns whether the shard has a pod that did not end and is not being deleted.
func healthy(f *run.Facts, shard int) bool {
	pod := f.Pods[shard]
	if pod == nil || pod.DeletionTimestamp != nil {
		return false
	}
	over, _ := run.PodEnded(pod)
	return !over && !replaced(f, shard)
}

// replaced returns whether the runner that the collector knows is not that of the shard's pod. A pod that was deleted
// by force leaves its process, which can be ready. The view can be that of an earlier Job.
func replaced(f *run.Facts, shard int) bool {
	if shard >= len(f.View.Shards) {
		return false
	}
	pod, seen := f.Pods[shard], &f.View.Shards[shard].Pod
	return seen.UID != "" && strings.HasPrefix(seen.Name, f.Job.Name+"-") && (pod == nil || pod.UID != seen.UID)
}

// readyShards are those whose pods are well and whose runners are ready.
func readyShards(f *run.Facts) (out []int) {
	for i := range min(f.Plan.Shards, len(f.View.Shards)) {
		if healthy(f, i) && f.View.Shards[i].Ready() {
			out = append(out, i)
		}
	}
	return out
}

// viable returns how many shards can become ready: those whose pods run or do not exist yet.
func viable(f *run.Facts) int {
	lost := 0
	for i := range f.Plan.Shards {
		if lostRunner(f, i) != "" {
			lost++
		}
	}
	return f.Plan.Shards - max(lost, endedPods(f))
}

// endedPods returns how many pods the Job controller counts as ended. A runner that is terminated before the start
// exits with 0, so its pod can count as succeeded. The Job creates no other pod for its index.
func endedPods(f *run.Facts) int { return int(f.Job.Status.Failed + f.Job.Status.Succeeded) }

// lastAttempt returns whether the run ends with the next loss before its start.
func lastAttempt(f *run.Facts) bool {
	return f.Record.Losses+1 >= f.Config.Runner.StartAttempts
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

// lostBeforeStart says which runner was lost before the start, and why; empty: none.
func lostBeforeStart(f *run.Facts) string {
	if run.JobSuspended(f.Job) {
		return "" // the Job controller deleted the pods, and creates others when the queue admits the Job again
	}
	for shard := range f.Shards() {
		if why := lostRunner(f, shard); why != "" {
			return why
		}
	}
	// A pod that was deleted can leave nothing but the Job's count.
	if endedPods(f) > 0 {
		return "A runner was lost before the start"
	}
	return ""
}

// lostRunner says why the runner of a shard is lost before the start; empty: it is not. If a queue suspended the Job,
// it can have ended a pod that the collector still knows.
func lostRunner(f *run.Facts, shard int) string {
	if !run.WasSuspended(f.Job) && replaced(f, shard) {
		return fmt.Sprintf("Runner %d (pod %s) was deleted before the start", shard, f.View.Shards[shard].Pod.Name)
	}
	pod := f.Pods[shard]
	if pod == nil {
		return ""
	}
	if over, why := run.PodEnded(pod); over {
		return fmt.Sprintf("Runner %d (pod %s) ended before the start: %s", shard, pod.Name, why)
	}
	if pod.DeletionTimestamp != nil {
		return fmt.Sprintf("Runner %d (pod %s) was deleted before the start", shard, pod.Name)
	}
	return ""
}

// ReadyLimit returns how long the test waits for all runners, and since when. The time before a queue admits the Job
// does not count.
func ReadyLimit(f *run.Facts) (from time.Time, limit time.Duration) {
	w, created := &f.Waits, f.JobSince()
	switch t := f.LoadTest.Spec.Runner.StartTimeout; {
	case t != nil:
		return created, readyWithin(f.Plan, t.Duration)
	case w.Running.IsZero():
		return created, f.Config.Runner.PodTimeout.Duration
	}
	return w.Running, readyWithin(f.Plan, f.Config.Runner.ReadyTimeout.Duration)
}
