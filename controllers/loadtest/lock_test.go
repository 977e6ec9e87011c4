package loadtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/state"
	"github.com/h2surge/h2surge/test/builder"
)

// lockWorld has two operators that both lead, LoadTests with the same lock, and users. One of them works at a time. Before each request to
// the API server, and after each step, a random one continues: so passes interleave at each request.
type lockWorld struct {
	*testing.T
	random *rand.Rand
	api    *memoryAPI
	turn   chan struct{} // the actor that works gives the turn back
	// loading are the LoadTests whose load runs; began is the order of their starts.
	loading map[string]bool
	began   []string
	history []string
}

// lockTests is the number of LoadTests of a world.
const lockTests = 4

// actor is a goroutine that works only when it has the turn.
type actor struct{ resume chan struct{} }

func (w *lockWorld) yield(a *actor) {
	w.turn <- struct{}{}
	<-a.resume
}

// yieldingClient gives the turn away before each request.
type yieldingClient struct {
	client.Client
	before func()
}

func (c yieldingClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.before()
	return c.Client.Get(ctx, key, o, opts...)
}

func (c yieldingClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.before()
	return c.Client.List(ctx, list, opts...)
}

func (c yieldingClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	c.before()
	return c.Client.Create(ctx, o, opts...)
}

func (c yieldingClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	c.before()
	return c.Client.Update(ctx, o, opts...)
}

func (c yieldingClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	c.before()
	return c.Client.Delete(ctx, o, opts...)
}

func newLockWorld(t *testing.T, seed uint64) *lockWorld {
	w := &lockWorld{
		T: t, random: rand.New(rand.NewPCG(29, seed)), turn: make(chan struct{}), loading: map[string]bool{},
		api: &memoryAPI{objects: map[objectID]client.Object{}, wrote: func(_, _ client.Object) {}},
	}
	for i := range lockTests {
		lt := builder.Minimal(fmt.Sprint("t", i)).Edit(func(s *v1alpha1.LoadTestSpec) { s.Lock = "core" }).Build()
		lt.UID, lt.Generation = types.UID(fmt.Sprintf("%08d-uid", i)), 1
		if err := w.api.put(lt); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run gives the turn to random actors until all tests ended or were deleted.
func (w *lockWorld) run(steps int, actors ...func(*actor)) {
	all := make([]*actor, len(actors))
	for i, f := range actors {
		all[i] = &actor{resume: make(chan struct{})}
		go func() {
			<-all[i].resume
			for {
				f(all[i])
				w.yield(all[i])
			}
		}()
	}
	for range steps {
		all[w.random.IntN(len(all))].resume <- struct{}{}
		<-w.turn
		if w.over() || w.Failed() {
			return
		}
	}
	w.Errorf("after %d steps tests still wait", steps)
}

func (w *lockWorld) over() bool {
	for _, lt := range all[*v1alpha1.LoadTest](w.api) {
		if lt.Status.CompletionTime == nil {
			return false
		}
	}
	return len(w.loading) == 0
}

func (w *lockWorld) note(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf(format, args...))
}

// operator returns an actor: a process of the operator.
func (w *lockWorld) operator(name string) func(*actor) {
	var r *reconciler
	return func(a *actor) {
		if r == nil || w.random.IntN(40) == 0 { // it restarts
			c := yieldingClient{&memoryClient{api: w.api, cut: new(atomic.Bool)}, func() { w.yield(a) }}
			cfg := &configv1alpha1.OperatorConfig{}
			cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
			r = &reconciler{cfg: cfg, client: c, reader: c, records: record.NewStore(c, c), memory: &memory{runs: map[types.NamespacedName]*memoryEntry{}}}
			r.registry = collect.NewRegistry(collect.Options{}, nil, logr.Discard(), func(types.NamespacedName) {})
		}
		if err := w.pass(r, name, fmt.Sprint("t", w.random.IntN(lockTests))); err != nil {
			w.note("%s: %v", name, err)
		}
	}
}

// pass does what a pass of the reconciler does about the lock, the Job and the start.
func (w *lockWorld) pass(r *reconciler, name, test string) error {
	ctx := context.Background()
	lt := &v1alpha1.LoadTest{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: test}, lt); err != nil {
		return client.IgnoreNotFound(err)
	}
	stored, err := r.records.Load(ctx, lt)
	if err != nil {
		return err
	}
	s := &scope{Facts: &run.Facts{Now: time.Now(), LoadTest: lt, View: &shards.View{}, Plan: &runnerv1alpha1.Plan{Shards: 1}}}
	s.take(stored)
	job := &batchv1.Job{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: test + "-1"}, job); err == nil {
		s.Job = job
	} else if client.IgnoreNotFound(err) != nil {
		return err
	}
	if s.StartDecided() || lt.Status.CompletionTime != nil {
		return nil
	}
	if s.Held() {
		return r.hold(ctx, s)
	}
	if next, err := r.syncLock(ctx, s); err != nil || !next || s.Blocked != nil {
		return err
	}
	if s.Record.State != state.Preparing || s.Job == nil {
		return w.prepare(ctx, r, s)
	}
	if current, err := r.specIsCurrent(ctx, s); err != nil || !current {
		return err
	}
	if locked, err := r.hasLock(ctx, s); err != nil || !locked {
		return err
	}
	err = r.decide(ctx, s, func(run *record.Record) error {
		run.Start = &record.Start{Time: s.MicroTime(), Job: s.Job.UID}
		return run.On(state.Begin)
	})
	if err == nil {
		w.began = append(w.began, test)
		w.loading[test] = true
		w.note("%s starts %s", name, test)
		if len(w.loading) > 1 {
			w.Errorf("%v have load at the same time", w.loading)
		}
	}
	return err
}

func (w *lockWorld) prepare(ctx context.Context, r *reconciler, s *scope) error {
	if s.Record.State != state.Preparing {
		if err := r.decide(ctx, s, func(run *record.Record) error { return run.On(state.Prepare) }); err != nil {
			return err
		}
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: s.LoadTest.Name + "-1", Labels: map[string]string{
		desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: s.LoadTest.Name,
	}}}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.LoadTest, v1alpha1.GroupVersion.WithKind("LoadTest"))}
	return r.client.Create(ctx, job)
}

// users edit and delete LoadTests, and end loads: first the load, then the Job, then status shows the end.
func (w *lockWorld) users(a *actor) {
	test := fmt.Sprint("t", w.random.IntN(lockTests))
	switch k := w.random.IntN(40); {
	case w.loading[test] && k < 4:
		delete(w.loading, test)
		w.note("load of %s ends", test)
		w.yield(a)
		change(w.api, test+"-1", func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		})
		w.yield(a)
		change(w.api, test, func(lt *v1alpha1.LoadTest) {
			now := metav1.Now()
			lt.Status.StartTime, lt.Status.CompletionTime = &now, &now
		})
	case w.loading[test] && k == 4: // deleted while it runs: the load ends with the Job
		w.note("%s is deleted", test)
		w.api.set(func(a *memoryAPI) { a.remove(objectID{"LoadTest", test}) })
		w.yield(a)
		delete(w.loading, test)
		w.api.set(func(a *memoryAPI) { a.remove(objectID{"Job", test + "-1"}) })
	case k == 6: // the garbage collector
		w.api.set(func(a *memoryAPI) {
			if a.objects[objectID{"LoadTest", test}] == nil {
				a.remove(objectID{"Job", test + "-1"})
			}
		})
	case k == 5:
		change(w.api, test, func(lt *v1alpha1.LoadTest) {
			lt.Spec.Suspend = true
			lt.Generation++
		})
	case k > 30:
		change(w.api, test, func(lt *v1alpha1.LoadTest) {
			if lt.Spec.Suspend {
				lt.Spec.Suspend = false
				lt.Generation++
			}
		})
	}
}

// TestLockInterleavings: at most one of the tests with a lock has load, each of them gets its turn, whatever the order of the requests is.
func TestLockInterleavings(t *testing.T) {
	for seed := range uint64(300) {
		w := newLockWorld(t, seed)
		w.run(20000, w.operator("a"), w.operator("b"), w.users)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(w.history, "\n"))
		}
	}
}

// TestLockOrder: without users that interfere, tests start in the order of their creation, and of their names within a second.
func TestLockOrder(t *testing.T) {
	w := newLockWorld(t, 1)
	change(w.api, "t3", func(lt *v1alpha1.LoadTest) { lt.CreationTimestamp.Time = lt.CreationTimestamp.Add(-time.Second) })
	w.run(20000, w.operator("a"), w.operator("b"), func(*actor) {
		for test := range w.loading {
			delete(w.loading, test)
			change(w.api, test+"-1", func(job *batchv1.Job) {
				job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			})
			change(w.api, test, func(lt *v1alpha1.LoadTest) {
				now := metav1.Now()
				lt.Status.StartTime, lt.Status.CompletionTime = &now, &now
			})
		}
	})
	if got := strings.Join(w.began, " "); got != "t3 t0 t1 t2" {
		t.Errorf("order %q", got)
	}
}
