package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
)

// storm drives the phases that decide, over a fake API server, while the spec is edited, runners end, writes are refused,
// and operators take turns.
type storm struct {
	*testing.T
	random *rand.Rand
	api    *unreliable
	first  *scope // the run at its start
	plan   *runnerv1alpha1.Plan
	lt     *v1alpha1.LoadTest
	// operators take turns, each with its own memory. All but the newest are former leaders that do not know it yet.
	operators []*reconciler
	runners   []collect.Shard
	passes    int
	// last is the record after the last pass, sent the requests of status.
	last *record.Record
	sent int64
}

// unreliable refuses some writes, or makes them and reports a failure.
type unreliable struct {
	client.Client
	refuse, lose bool
}

func (u *unreliable) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return u.write(func() error { return u.Client.Update(ctx, o, opts...) })
}

func (u *unreliable) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return u.write(func() error { return u.Client.Create(ctx, o, opts...) })
}

func (u *unreliable) write(f func() error) error {
	refuse, lose := u.refuse, u.lose
	u.refuse, u.lose = false, false
	if refuse {
		return apierrors.NewInternalError(errors.New("no"))
	}
	if err := f(); err != nil {
		return err
	}
	if lose {
		return apierrors.NewTimeoutError("the answer was lost", 1)
	}
	return nil
}

func newStorm(t *testing.T, seed uint64) *storm {
	t.Helper()
	w := &storm{T: t, random: rand.New(rand.NewPCG(13, seed))}
	spec := scalableSpec(3)
	spec.Runner.OnShardLost = []v1alpha1.ShardLostAction{v1alpha1.ShardLostFail, v1alpha1.ShardLostContinue, v1alpha1.ShardLostRebalance}[seed%3]
	compiled, _, errs := compile.Compile("core/pcf", spec)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	_, hash, err := plan.Canonical(compiled)
	if err != nil {
		t.Fatal(err)
	}
	w.plan = compiled
	w.first = newScope(func(s *scope) {
		s.lt.Spec, s.plan, s.planHash = *spec, compiled, hash
	}, withJob, decided)
	first := recording(t, w.first)
	w.lt = w.first.lt
	w.api = &unreliable{Client: first.client}
	for range 2 {
		w.newOperator()
	}
	for i := range 4 {
		w.runners = append(w.runners, collect.Shard{
			Index: i, State: state.Active, Pod: collect.Pod{UID: types.UID(fmt.Sprint("pod-", i)), Name: fmt.Sprint("pod-", i)}, Member: i < 3,
			Snapshot: &runnerv1alpha1.Snapshot{Shard: i, Boot: fmt.Sprint("boot-", i), State: runs, StartedAt: 1, StartAt: 1, Sequence: 1},
		})
	}
	w.last = w.first.run
	return w
}

func (w *storm) newOperator() {
	w.operators = append(w.operators, &reconciler{
		cfg: recording(w.T, newScope()).cfg, memory: &memory{runs: map[types.NamespacedName]*recollection{}},
		client: w.api, reader: w.api, records: record.NewStore(w.api, w.api), checkpoints: checkpoint.NewStore(w.api, w.api),
	})
	w.operators = w.operators[max(0, len(w.operators)-2):]
}

// happen is one random event.
func (w *storm) happen() {
	i := w.random.IntN(len(w.runners))
	sh := &w.runners[i]
	switch w.random.IntN(13) {
	case 0:
		w.edit(func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To(1 + w.random.Int64N(1000)) })
	case 1:
		w.edit(func(s *v1alpha1.LoadTestSpec) { s.Suspend = !s.Suspend })
	case 2:
		w.edit(func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 1 + w.random.Int32N(6) })
	case 3:
		if w.random.IntN(4) == 0 {
			w.edit(func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = fmt.Sprint("/", w.random.IntN(3)) })
		}
	case 4:
		if w.random.IntN(10) == 0 {
			w.edit(func(s *v1alpha1.LoadTestSpec) { s.Stop = true })
		}
	case 5, 6, 7:
		w.runnerSends(sh)
	case 8:
		if sh.State == state.Active && w.random.IntN(5) == 0 {
			sh.State, sh.Lost = state.Lost, &collect.Loss{Pod: sh.Pod.Name, Message: "OOMKilled", Time: now}
			if w.random.IntN(3) == 0 {
				sh.Snapshot = nil // of an operator that never reached it
			}
		}
	case 9:
		if w.random.IntN(3) == 0 && sh.Snapshot != nil && sh.State != state.Done {
			w.runnerSends(sh)
			sh.Snapshot = ptr.To(*sh.Snapshot)
			sh.Snapshot.State, sh.Snapshot.Sequence, sh.State = done, sh.Snapshot.Sequence+1, state.Done
		}
	case 10:
		w.newOperator()
	case 11:
		w.api.refuse = true
	case 12:
		w.api.lose = true
	}
}

func (w *storm) edit(f func(*v1alpha1.LoadTestSpec)) {
	w.lt = w.lt.DeepCopy()
	f(&w.lt.Spec)
	w.lt.Generation++
}

func (w *storm) runnerSends(sh *collect.Shard) {
	if sh.State != state.Active || sh.Snapshot == nil || w.last.State == state.Finished {
		return
	}
	snap := *sh.Snapshot
	n := w.random.Int64N(50)
	snap.Sequence++
	snap.Counters.Sent, snap.Counters.Done, snap.Counters.Succeeded = snap.Counters.Sent+n, snap.Counters.Done+n, snap.Counters.Succeeded+n
	sh.Snapshot = &snap
}

// pass lets one of the operators decide. A former leader can have an older LoadTest.
func (w *storm) pass() {
	r := w.operators[w.random.IntN(len(w.operators))]
	w.passes++
	s := &scope{
		now: now.Add(time.Duration(w.passes) * time.Minute), lt: w.lt.DeepCopy(), pods: map[int]*corev1.Pod{}, plan: w.plan, planHash: w.first.planHash,
	}
	if w.random.IntN(8) == 0 {
		s.lt.Generation, s.lt.Spec = 1, w.first.lt.Spec // the cache is behind
	}
	w.step(r.readRecord(w.Context(), s))
	if s.run == nil || s.run.Start == nil {
		return // refused
	}
	for i := range w.runners { // as the collector does with what it got from the record
		w.runners[i].Stored = s.run.Find(i, w.runners[i].Pod.UID) != nil
	}
	s.view = &collect.View{Shards: slices.Clone(w.runners), Members: []int{0, 1, 2}, Generation: s.run.Live.Generation, StartedAt: now}
	if err := s.view.Summarize(s.plan, s.policy() != v1alpha1.ShardLostFail); err != nil {
		w.Fatal(err)
	}
	if s.end == nil {
		next, err := r.livePhase(w.Context(), s)
		if !w.step(err) || !next {
			return
		}
		if !s.behind && !w.step(r.decideForCollector(w.Context(), s)) {
			return
		}
		behind := s.behind
		s.behind = true // there is no collector to look at
		if next, err = r.recordsPhase(w.Context(), s); !w.step(err) || !next {
			return
		}
		s.behind = behind
		if next, err = r.appliedPhase(w.Context(), s); !w.step(err) || !next {
			return
		}
		if next, err = r.finishPhase(w.Context(), s); !w.step(err) || !next {
			return
		}
	}
	_, err := r.editedPhase(w.Context(), s)
	w.step(err)
	w.check(s)
}

// step returns whether a pass continues. All errors are those that the API server made.
func (w *storm) step(err error) bool {
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsInternalError(err) && !apierrors.IsTimeout(err) && !apierrors.IsAlreadyExists(err) && !errors.Is(err, errRefused) {
		w.Fatalf("an unexpected error: %v", err)
	}
	return err == nil
}

// check compares what is stored with what was stored before.
func (w *storm) check(s *scope) {
	stored, err := record.NewStore(w.api, w.api).Load(w.Context(), w.lt)
	if err != nil {
		w.Fatal(err)
	}
	was := w.last
	w.last = stored
	if diff := cmp.Diff(was.Start, stored.Start); diff != "" {
		w.Errorf("the start changed:\n%s", diff)
	}
	if was.State == state.Finished {
		if diff := cmp.Diff(was, stored); diff != "" {
			w.Errorf("the record of a finished run changed:\n%s", diff)
		}
		return
	}
	order := []state.Run{state.Running, state.Stopping, state.Finishing, state.Finished}
	if slices.Index(order, stored.State) < slices.Index(order, was.State) {
		w.Errorf("state %s after %s", stored.State, was.State)
	}
	if was.Stop != nil && cmp.Diff(was.Stop, stored.Stop) != "" {
		w.Errorf("the decision to stop changed from %+v to %+v", was.Stop, stored.Stop)
	}
	if stored.Live.Generation < was.Live.Generation {
		w.Errorf("generation %d after %d", stored.Live.Generation, was.Live.Generation)
	}
	type key struct {
		shard int
		pod   types.UID
	}
	seen := map[key]bool{}
	for i := range stored.Shards {
		k := key{stored.Shards[i].Index, stored.Shards[i].Pod}
		if seen[k] {
			w.Errorf("two entries of shard %d, pod %s", k.shard, k.pod)
		}
		seen[k] = true
	}
	for i := range was.Shards {
		old := &was.Shards[i]
		now := stored.Find(old.Index, old.Pod)
		if now == nil || now.Counts.Sequence < old.Counts.Sequence || old.State == state.Done && now.State != state.Done {
			w.Errorf("shard %d was stored as %+v and is %+v", old.Index, old, now)
		}
	}
	// The pass of a former leader that has an old record does not write status: its optimistic lock fails.
	if s.run.State == stored.State && len(s.run.Shards) == len(stored.Shards) {
		st := statusOf(s, s.now)
		if st.Results != nil && s.end == nil && st.Results.Requests.Sent < w.sent {
			w.Errorf("requests.sent went back from %d to %d", w.sent, st.Results.Requests.Sent)
		}
		if st.Results != nil {
			w.sent = max(w.sent, st.Results.Requests.Sent)
			w.lt.Status.Results = st.Results
		}
	}
}

// TestRandomDecisions: whatever happens, a run starts once, its record only moves forward, Finished is final, no runner
// is counted twice, and counts do not go back.
func TestRandomDecisions(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		w := newStorm(t, seed)
		for range 150 {
			w.happen()
			if w.random.IntN(3) == 0 {
				w.pass()
			}
			if t.Failed() {
				t.Fatalf("seed %d, after %d passes", seed, w.passes)
			}
		}
		w.end()
		if t.Failed() {
			t.Fatalf("seed %d, at the end", seed)
		}
	}
}

// end lets all runners end, and one operator work on, until the run has finished.
func (w *storm) end() {
	w.api.refuse, w.api.lose = false, false
	w.newOperator()
	w.operators = w.operators[1:]
	for i := range w.runners {
		if sh := &w.runners[i]; sh.State == state.Active {
			sh.Snapshot = ptr.To(*sh.Snapshot)
			sh.Snapshot.State, sh.Snapshot.Sequence, sh.State = done, sh.Snapshot.Sequence+1, state.Done
		}
	}
	for range 20 {
		w.pass()
	}
	if w.last.State != state.Finished {
		w.Errorf("the run is %s; ended runners %+v", w.last.State, w.last.Shards)
	}
}
