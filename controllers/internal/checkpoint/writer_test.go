package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
)

// pollAge is the age of a snapshot when the Writer gets it.
const pollAge = 2 * time.Second

// runners are a Source whose runners send 100 requests between two polls, unless they are idle.
type runners struct {
	mu   sync.Mutex
	of   map[Key]*runnerv1alpha1.Snapshot
	idle bool
}

func newRunners(runs, shards, steps int) *runners {
	r := &runners{of: map[Key]*runnerv1alpha1.Snapshot{}}
	for run := range runs {
		for shard := range shards {
			s := snapshotOf(steps)
			s.Shard = shard
			r.of[runKey(run, shard)] = s
		}
	}
	return r
}

func runKey(run, shard int) Key {
	return Key{
		LoadTest: types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("orders", run)}, Run: types.UID(fmt.Sprint("run", run)),
		Shard: shard, Pod: types.UID(fmt.Sprint("pod", shard)),
	}
}

func (r *runners) Live() (out []Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.of {
		out = append(out, k)
	}
	return out
}

func (r *runners) Latest(k Key) (*runnerv1alpha1.Snapshot, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.of[k]
	if s == nil {
		return nil, time.Time{}
	}
	s.Sequence++
	if !r.idle {
		s.Counters.Sent += 100
	}
	out := *s
	return &out, time.Now().Add(-pollAge)
}

// remove ends runners.
func (r *runners) remove(which func(Key) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.of, func(k Key, _ *runnerv1alpha1.Snapshot) bool { return which(k) })
}

// stage is a Writer over fakes, in a synctest bubble.
type stage struct {
	*server
	*Writer
	*runners
	leads   atomic.Bool
	changes int
	log     []string
	cancel  func()
}

func newStage(t *testing.T, from *runners, bytesPerSecond int) *stage {
	s := &stage{server: newServer(t), runners: from}
	s.leads.Store(true)
	store := s.store()
	s.Writer = NewWriter(func(Key) *Store { return store }, Options{
		Source: from, BytesPerSecond: bytesPerSecond, Leading: s.leads.Load,
		Changed: func(types.NamespacedName) { s.changes++ },
		Log:     funcr.New(func(_, args string) { s.log = append(s.log, args) }, funcr.Options{}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Start(ctx) }()
	s.cancel = func() { cancel(); <-done }
	return s
}

// pass lets d pass and all that is due then happen. A round of the Writer begins with the lock of the runners, so what
// the test has read happens before.
func (s *stage) pass(d time.Duration) {
	s.runners.mu.Lock()
	s.runners.mu.Unlock() //nolint:staticcheck // the section is empty on purpose
	time.Sleep(d)
	synctest.Wait()
}

func (s *stage) stored(t *testing.T) []statev1alpha1.LoadTestCheckpoint {
	t.Helper()
	var list statev1alpha1.LoadTestCheckpointList
	if err := s.server.List(context.Background(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestWriterStoresEachRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newRunners(2, 3, 1), 1<<20)
		defer s.cancel()
		s.pass(MinInterval + time.Second)
		if got := len(s.stored(t)); got != 6 {
			t.Errorf("%d checkpoints after the first interval, want 6", got)
		}
		s.pass(2 * MinInterval)
		if s.creates != 6 || s.updates != 12 {
			t.Errorf("%d creates and %d updates after three intervals, want 6 and 12", s.creates, s.updates)
		}
		if got := s.interval(); got != MinInterval {
			t.Errorf("interval %s, want %s", got, MinInterval)
		}
	})
}

// TestWriterSkipsWhatHasNotChanged: a suspended test costs nothing, although its snapshots have new sequence numbers.
func TestWriterSkipsWhatHasNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newRunners(1, 2, 1)
		from.idle = true
		s := newStage(t, from, 1<<20)
		defer s.cancel()
		s.pass(10*MinInterval + time.Second)
		if s.creates != 2 || s.updates != 0 {
			t.Errorf("%d creates and %d updates, want 2 and 0", s.creates, s.updates)
		}
		if got := s.age(time.Now()); got > MinInterval+pollAge {
			t.Errorf("age %s, want at most %s", got, MinInterval+pollAge)
		}
	})
}

// TestWriterStoresWhenTheSnapshotWasReceived: what a runner did after it is missing if the runner and the operator end.
func TestWriterStoresWhenTheSnapshotWasReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := newStage(t, newRunners(1, 1, 1), 1<<20)
		defer s.cancel()
		s.pass(MinInterval + time.Second)
		want := begin.Add(MinInterval - pollAge)
		if stored := s.stored(t); len(stored) != 1 || !stored[0].Checkpoint.Time.Time.Equal(want) {
			t.Errorf("checkpoints %v, want one of %s", stored, want)
		}
	})
}

// TestWriterKeepsTheBudget: the interval grows with the number of runners, and no runner is left out.
func TestWriterKeepsTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = 64 << 10
		s := newStage(t, newRunners(10, 20, 1), budget)
		defer s.cancel()
		begin := time.Now()
		s.pass(2 * time.Minute)
		limit := time.Since(begin).Seconds()*budget + MaxBytes
		if s.stats.bytes > limit || s.stats.bytes < limit*0.8 {
			t.Errorf("%.0f bytes in two minutes, want nearly %.0f", s.stats.bytes, limit)
		}
		want := time.Duration(s.stats.bytes/float64(s.creates+s.updates)*200/budget) * time.Second
		if got := s.interval().Truncate(time.Second); got < want-time.Second || got > want+time.Second {
			t.Errorf("interval %s, want about %s", got, want)
		}
		if got := s.age(time.Now()); got > s.interval()+2*MinInterval+pollAge {
			t.Errorf("the oldest checkpoint is %s old, the interval is %s", got, s.interval())
		}
	})
}

// TestWriterRefused: one refused write of a run in each round, one message, and all is stored once the cause is gone.
func TestWriterRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newRunners(1, 3, 1), 1<<20)
		defer s.cancel()
		s.refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "loadtestcheckpoints"}, "x", errors.New("exceeded quota")))
		s.pass(3*MinInterval + time.Second)
		if s.creates != 3 || s.changes != 1 || len(s.log) != 1 {
			t.Errorf("%d writes, %d changes, log %q in three rounds; want 3, 1 and one message", s.creates, s.changes, s.log)
		}
		if err := s.Problem("run0"); err == nil || !strings.Contains(err.Error(), "exceeded quota") {
			t.Errorf("problem %v, want the text of the API server", err)
		}
		s.refuse(nil)
		s.pass(MinInterval)
		if got := len(s.stored(t)); got != 3 || s.changes != 2 || s.Problem("run0") != nil {
			t.Errorf("%d checkpoints, %d changes, problem %v; want 3, 2 and none", got, s.changes, s.Problem("run0"))
		}
	})
}

// TestWriterWithoutAPIServer: a server that does not answer is no problem of a run, and ends the round.
func TestWriterWithoutAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newRunners(3, 3, 1), 1<<20)
		defer s.cancel()
		s.refuse(errors.New("connection refused"))
		s.pass(2*MinInterval + time.Second)
		if s.creates != 2 || s.changes != 0 || len(s.log) != 0 {
			t.Errorf("%d writes, %d changes, log %q; want one write a round and no message", s.creates, s.changes, s.log)
		}
	})
}

func TestWriterLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newRunners(1, 1, 1), 1<<20)
		defer s.cancel()
		s.leads.Store(false)
		s.pass(3 * MinInterval)
		if s.creates != 0 {
			t.Errorf("%d writes of a process that is not the leader", s.creates)
		}
		s.leads.Store(true)
		s.pass(MinInterval)
		if s.creates != 1 {
			t.Errorf("%d writes after the election, want 1", s.creates)
		}
	})
}

// TestWriterForgets: a run that ended leaves nothing behind.
func TestWriterForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newRunners(1, 1, 1)
		s := newStage(t, from, 1<<20)
		defer s.cancel()
		s.pass(MinInterval)
		from.remove(func(Key) bool { return true })
		s.pass(MinInterval)
		if len(s.known) != 0 {
			t.Errorf("%d runners are known after the end of the run", len(s.known))
		}
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		NewWriter(nil, Options{BytesPerSecond: 1}).Register(reg)
		s := newStage(t, newRunners(1, 1, 0), 1<<20)
		defer s.cancel()
		s.Register(reg)
		s.pass(MinInterval + 2*time.Second)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			m := f.GetMetric()[0]
			got[strings.TrimPrefix(f.GetName(), "h2surge_operator_checkpoint_")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
		want := map[string]float64{"interval_seconds": 5, "age_seconds": 4, "refused_total": 0, "written_bytes_total": s.stats.bytes}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
	})
}

// TestWriterPassesOver: a run whose namespace is gone does not keep the others from being stored.
func TestWriterPassesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newRunners(3, 1, 1), 1<<20)
		defer s.cancel()
		s.refuse(apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"))
		s.pass(MinInterval + time.Second)
		if s.creates != 3 || s.changes != 0 {
			t.Errorf("%d writes, %d changes; want one write for each run and no problem", s.creates, s.changes)
		}
	})
}

// TestWriterOfARunWithoutAnswers: what keeps the writes of one run from an answer, such as a webhook, does not keep the
// others from being stored.
func TestWriterOfARunWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newRunners(2, 3, 1), 1<<20)
		defer s.cancel()
		s.refuseOf("orders0", context.DeadlineExceeded)
		s.pass(4*MinInterval + time.Second)
		if got := len(s.stored(t)); got != 3 || s.updates < 6 {
			t.Errorf("%d checkpoints and %d updates after four rounds, want 3 of orders1 and at least 6", got, s.updates)
		}
		s.refuse(nil)
		s.pass(MinInterval)
		if got := len(s.stored(t)); got != 6 {
			t.Errorf("%d checkpoints after a round with answers, want 6", got)
		}
	})
}

// TestWriterForeignObject: the object of another runner is a problem of its run, and all other runners are stored.
func TestWriterForeignObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newRunners(2, 3, 1), 1<<20)
		defer s.cancel()
		foreign := newObject(runKey(0, 1))
		foreign.OwnerReferences = nil
		if err := s.server.Create(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		s.pass(4*MinInterval + time.Second)
		if got := len(s.stored(t)); got != 6 || s.updates < 5*2 {
			t.Errorf("%d checkpoints and %d updates after four rounds, want 6 and at least 10", got, s.updates)
		}
		if err := s.Problem("run0"); err == nil || !strings.Contains(refusal.Of(err), "belongs to another runner; delete it") {
			t.Errorf("problem %v, want the name of the object", err)
		}
		if s.Problem("run1") != nil || s.changes != 1 || len(s.log) != 1 {
			t.Errorf("problem %v of the other run, %d changes, log %q; want none, 1 and one message", s.Problem("run1"), s.changes, s.log)
		}
		if err := s.server.Delete(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		s.pass(MinInterval)
		if s.Problem("run0") != nil || s.changes != 2 {
			t.Errorf("problem %v, %d changes after the deletion, want none and 2", s.Problem("run0"), s.changes)
		}
	})
}

// TestWriterProblemOutlivesItsRunner: the end of the runner that was refused first does not end the refusal. It is over
// when the counts of the other runners are stored, or when no runner is left.
func TestWriterProblemOutlivesItsRunner(t *testing.T) {
	for name, tt := range map[string]struct {
		then func(*stage)
		// problem is whether the run has one after then, changes is how often that changed.
		problem bool
		changes int
	}{
		"the others are refused": {func(*stage) {}, true, 1},
		"the others are stored":  {func(s *stage) { s.refuse(nil) }, false, 2},
		"no other is left":       {func(s *stage) { s.remove(func(k Key) bool { return k.Run == "run0" }) }, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, newRunners(2, 3, 1), 1<<20)
				defer s.cancel()
				s.refuseOf("orders0", apierrors.NewForbidden(schema.GroupResource{Resource: "loadtestcheckpoints"}, "x", errors.New("no")))
				s.pass(MinInterval + time.Second)
				first := s.runs["run0"].key
				s.remove(func(k Key) bool { return k == first })
				tt.then(s)
				s.pass(MinInterval)
				if got := s.Problem("run0"); (got != nil) != tt.problem || s.changes != tt.changes {
					t.Errorf("problem %v, %d changes; want %t and %d", got, s.changes, tt.problem, tt.changes)
				}
				if got := strings.Count(strings.Join(s.log, "\n"), "Checkpoints are not stored"); got != 1 {
					t.Errorf("%d messages about the refusal, want 1: %q", got, s.log)
				}
			})
		})
	}
}

// TestWriterIdleRunnerHasNoProblem: the runner whose object belonged to another one is lost, and the others are stored
// and do nothing.
func TestWriterIdleRunnerHasNoProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newRunners(1, 3, 1)
		from.idle = true
		s := newStage(t, from, 1<<20)
		defer s.cancel()
		foreign := newObject(runKey(0, 1))
		foreign.OwnerReferences = nil
		if err := s.server.Create(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		s.pass(3*MinInterval + time.Second)
		if s.Problem("run0") == nil {
			t.Fatal("no problem with the object of another runner")
		}
		s.remove(func(k Key) bool { return k == runKey(0, 1) })
		s.pass(MinInterval)
		if got := s.Problem("run0"); got != nil || s.changes != 2 {
			t.Errorf("problem %v, %d changes; want none and 2", got, s.changes)
		}
	})
}
