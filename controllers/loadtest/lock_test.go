package loadtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/lock"
	"github.com/h2surge/h2surge/test/builder"
)

// lockWorld has two operators that both lead, LoadTests with the same lock, and users. One of them works at a time. Before each request to
// the API server, and after each step, a random one continues: so passes interleave at each request.
type lockWorld struct {
	*testing.T
	random *rand.Rand
	api    *memoryAPI
	turn   chan struct{} // the actor that works gives the turn back
	// loading are the LoadTests whose load runs, lost those whose Job was deleted meanwhile; began is the order of their starts.
	loading, lost map[string]bool
	began         []string
	history       []string
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
		T: t, random: rand.New(rand.NewPCG(29, seed)), turn: make(chan struct{}), loading: map[string]bool{}, lost: map[string]bool{},
		api: &memoryAPI{objects: map[objectID]client.Object{}},
	}
	w.api.wrote = func(before, after client.Object) {
		if job, is := before.(*batchv1.Job); is && after == nil && w.loading[job.Labels[desired.LabelLoadTest]] {
			delete(w.loading, job.Labels[desired.LabelLoadTest]) // its pods go with it
			w.lost[job.Labels[desired.LabelLoadTest]] = true
		}
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
	stuck := -1 // this one waits for an answer for long, in the middle of a pass
	for range steps {
		if w.random.IntN(300) == 0 {
			stuck = w.random.IntN(2*len(all)) - len(all)
		}
		next := w.random.IntN(len(all))
		if next == stuck {
			continue
		}
		all[next].resume <- struct{}{}
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

// operator returns an actor: a process of the operator, with its reconciler of LoadTests, its reconciler of locks, and a cache that is behind.
func (w *lockWorld) operator(name string) func(*actor) {
	var r *reconciler
	var locks reconcile.Reconciler
	var cache *memoryClient
	return func(a *actor) {
		if r == nil || w.random.IntN(40) == 0 { // it restarts
			cache = &memoryClient{api: w.api, cut: new(atomic.Bool), cache: map[objectID]client.Object{}}
			yields := func() { w.yield(a) }
			c, reader := yieldingClient{cache, yields}, yieldingClient{&memoryClient{api: w.api, cut: new(atomic.Bool)}, yields}
			cfg := &configv1alpha1.OperatorConfig{}
			cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
			r = newReconciler(cfg, c, reader, nil)
			r.registry = collect.NewRegistry(collect.Options{}, nil, logr.Discard(), func(types.NamespacedName) {})
			locks = lock.New(c, reader, events.NewFakeRecorder(1), time.Now)
		}
		cache.sync(cachedKinds[w.random.IntN(len(cachedKinds))])
		var err error
		if w.random.IntN(3) == 0 {
			_, err = locks.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "core"}})
		} else {
			err = w.pass(r, name, fmt.Sprint("t", w.random.IntN(lockTests)))
		}
		if err != nil {
			w.note("%s: %v", name, err)
		}
	}
}

// pass does what a pass of the reconciler does about the lock, the Job and the start.
func (w *lockWorld) pass(r *reconciler, name, test string) error {
	ctx := context.Background()
	lt := &v1alpha1.LoadTest{}
	if err := r.observe.client.Get(ctx, client.ObjectKey{Name: test}, lt); err != nil {
		return client.IgnoreNotFound(err)
	}
	stored, err := r.memory.of(lt).record.Load(ctx, lt)
	if err != nil {
		return err
	}
	s := &run.Facts{Now: time.Now(), LoadTest: lt, View: &shards.View{}, Plan: &runnerv1alpha1.Plan{Shards: 1}}
	take(s, stored)
	job := &batchv1.Job{}
	if err := r.observe.client.Get(ctx, client.ObjectKey{Name: test + "-1"}, job); err == nil {
		s.Job = job
	} else if client.IgnoreNotFound(err) != nil {
		return err
	}
	if s.StartDecided() || lt.Status.CompletionTime != nil {
		return nil
	}
	if b, err := r.locked(ctx, s); b != nil || err != nil {
		return err
	}
	if s.Held() {
		return r.hold(ctx, s)
	}
	if s.Record.State != record.Preparing || s.Job == nil {
		return w.prepare(ctx, r, s)
	}
	if current, err := r.observe.specIsCurrent(ctx, s); err != nil || !current {
		return err
	}
	if locked, err := r.observe.hasLock(ctx, s); err != nil || !locked {
		return err
	}
	err = r.perform.store(ctx, s, func(run *record.Record) error {
		run.Start = &record.Start{Time: s.MicroTime(), Job: s.Job.UID}
		return run.On(record.EventBegin)
	})
	if err == nil {
		w.began = append(w.began, test)
		w.note("%s starts %s", name, test)
		if slices.ContainsFunc(all[*batchv1.Job](w.api), func(job *batchv1.Job) bool { return job.UID == s.Job.UID }) {
			w.loading[test] = true
		} else {
			w.lost[test] = true // another operator deleted the Job: nothing runs
		}
		if len(w.loading) > 1 {
			w.Errorf("%v have load at the same time", w.loading)
		}
	}
	return err
}

func (w *lockWorld) prepare(ctx context.Context, r *reconciler, s *run.Facts) error {
	if s.Record.State != record.Preparing {
		if err := r.perform.store(ctx, s, func(run *record.Record) error { return run.On(record.EventPrepare) }); err != nil {
			return err
		}
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: s.LoadTest.Name + "-1", Labels: map[string]string{
		desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: s.LoadTest.Name,
	}}}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.LoadTest, v1alpha1.GroupVersion.WithKind("LoadTest"))}
	return r.perform.client.Create(ctx, job)
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
		w.api.set(func(a *memoryAPI) { a.remove(objectID{"Job", test + "-1"}) })
	case w.lost[test] && k < 4: // the operator deletes what is left
		w.api.set(func(a *memoryAPI) { a.remove(objectID{"Job", test + "-1"}) })
		change(w.api, test, func(lt *v1alpha1.LoadTest) {
			now := metav1.Now()
			lt.Status.StartTime, lt.Status.CompletionTime = &now, &now
		})
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

// TestLockInterleavings: at most one of the tests with a lock has load, each of them gets its turn, whatever the order of the requests is. Among
// these seeds is one in which a test would start if it did not read the lock from the API server before.
func TestLockInterleavings(t *testing.T) {
	for seed := uint64(500); seed < 800; seed++ {
		w := newLockWorld(t, seed)
		w.run(20000, w.operator("a"), w.operator("b"), w.users)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(w.history, "\n"))
		}
	}
}

// TestWaitingForALockListsNothing: a pass of a test that waits for its lock reads the lock only, however many tests wait.
func TestWaitingForALockListsNothing(t *testing.T) {
	w := newLockWorld(t, 1)
	if err := w.api.put(&statev1alpha1.LoadTestLock{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core"}, Holder: statev1alpha1.LockHolder{Name: "t0", UID: "00000000-uid"}, Waiting: []string{"t1", "t2", "t3"},
	}); err != nil {
		t.Fatal(err)
	}
	lists := 0
	c := listingClient{&memoryClient{api: w.api, cut: new(atomic.Bool)}, &lists}
	r := newReconciler(nil, c, c, nil)
	for _, lt := range all[*v1alpha1.LoadTest](w.api)[1:] {
		lt = lt.DeepCopy()
		lt.Namespace = "ns"
		s := &run.Facts{Now: time.Now(), LoadTest: lt, Record: &record.Record{}, View: &shards.View{}, Plan: &runnerv1alpha1.Plan{Shards: 1}}
		b, err := r.locked(context.Background(), s)
		if err != nil || b == nil || !strings.HasPrefix(b.Message, "lock core is held by LoadTest ns/t0") {
			t.Errorf("%s: %+v, %v", lt.Name, b, err)
		}
	}
	if lists != 0 {
		t.Errorf("%d lists for %d tests that wait", lists, lockTests-1)
	}
}

// listingClient counts lists.
type listingClient struct {
	client.Client
	lists *int
}

func (c listingClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	*c.lists++
	return c.Client.List(ctx, list, opts...)
}
