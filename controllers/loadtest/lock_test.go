package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
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
	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

// lockWorld has two operators that both lead, LoadTests with the same lock, and users. One of them works at a time. Before each request to
// the API server, and after each step, a random one continues: so passes interleave at each request.
type lockWorld struct {
	*testing.T
	random *rand.Rand
	api    *apiserver.Server
	turn   chan struct{}     // the actor that works gives the turn back
	actors map[string]*actor // by the name of a client of the API server
	// loading are the LoadTests whose load runs, lost those whose Job was deleted meanwhile; began is the order of their starts.
	loading, lost map[string]bool
	began         []string
	history       []string
}

const (
	lockTests     = 4 // the number of LoadTests of a world
	lockNamespace = "default"
)

// actor is a goroutine that works only when it has the turn.
type actor struct{ resume chan struct{} }

func (w *lockWorld) yield(a *actor) {
	w.turn <- struct{}{}
	a.wait()
}

// wait waits for the turn. At the end of the world there is none.
func (a *actor) wait() {
	if _, on := <-a.resume; !on {
		runtime.Goexit()
	}
}

func newLockWorld(t *testing.T, seed uint64) *lockWorld {
	t.Helper()
	w := &lockWorld{
		T: t, random: rand.New(rand.NewPCG(29, seed)), turn: make(chan struct{}), actors: map[string]*actor{},
		loading: map[string]bool{}, lost: map[string]bool{}, api: apiserver.New(scheme()),
	}
	w.api.Fault = func(r apiserver.Request) apiserver.Fault {
		if a := w.actors[r.Client]; a != nil {
			w.yield(a)
		}
		return apiserver.Fault{}
	}
	w.api.Watch(func(before, after client.Object) {
		if job, is := before.(*batchv1.Job); is && after == nil && w.loading[job.Labels[desired.LabelLoadTest]] {
			delete(w.loading, job.Labels[desired.LabelLoadTest]) // its pods go with it
			w.lost[job.Labels[desired.LabelLoadTest]] = true
		}
	})
	for i := range lockTests {
		lt := builder.Minimal(fmt.Sprint("t", i)).Namespace(lockNamespace).Edit(func(s *v1alpha1.LoadTestSpec) { s.Lock = "core" }).Build()
		if _, err := apiserver.Create(w.api, lt); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// scheme has the kinds of the tests with API servers in memory.
var scheme = sync.OnceValue(func() *k8sruntime.Scheme {
	out := k8sruntime.NewScheme()
	utilruntime.Must(errors.Join(clientgoscheme.AddToScheme(out), v1alpha1.AddToScheme(out), statev1alpha1.AddToScheme(out)))
	return out
})

// direct returns a client that reads from the API server.
func (w *lockWorld) direct(name string) client.Client {
	c, err := client.New(w.api.Client(name).Config(), client.Options{Scheme: scheme(), Mapper: w.api.Mapper()})
	if err != nil {
		panic(err)
	}
	return c
}

// behind is a client of an operator with a cache that has what its last watch events brought, by kind and name.
type behind struct {
	client.Client
	objects map[reflect.Type]map[string]client.Object
}

func (w *lockWorld) behind(direct client.Client) *behind {
	c := &behind{direct, map[reflect.Type]map[string]client.Object{}}
	for _, kind := range cachedKinds {
		c.objects[kind] = nil
	}
	return c
}

// cachedKinds are those that the operator reads from its cache.
var cachedKinds = []reflect.Type{reflect.TypeFor[*v1alpha1.LoadTest](), reflect.TypeFor[*statev1alpha1.LoadTestLock](), reflect.TypeFor[*batchv1.Job]()}

// sync brings a kind up to date.
func (c *behind) sync(kind reflect.Type, api *apiserver.Server) {
	c.objects[kind] = map[string]client.Object{}
	for _, o := range apiserver.Objects[client.Object](api) {
		if reflect.TypeOf(o) == kind {
			c.objects[kind][o.GetName()] = o
		}
	}
}

func (c *behind) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	objects, cached := c.objects[reflect.TypeOf(into)]
	switch o := objects[key.Name]; {
	case !cached:
		return c.Client.Get(ctx, key, into, opts...)
	case o == nil:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	default:
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
		return nil
	}
}

// List returns all LoadTests: they have the same lock.
func (c *behind) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, o := range c.objects[cachedKinds[0]] {
		list.(*v1alpha1.LoadTestList).Items = append(list.(*v1alpha1.LoadTestList).Items, *o.(*v1alpha1.LoadTest).DeepCopy())
	}
	return nil
}

// run gives the turn to random actors until all tests ended or were deleted.
func (w *lockWorld) run(steps int, actors ...func(*actor)) {
	all := make([]*actor, len(actors))
	for i, f := range actors {
		all[i] = &actor{resume: make(chan struct{})}
		defer close(all[i].resume)
		go func() {
			all[i].wait()
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
	for _, lt := range apiserver.Objects[*v1alpha1.LoadTest](w.api) {
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
	var cache *behind
	direct := w.direct(name)
	return func(a *actor) {
		w.actors[name] = a
		if r == nil || w.random.IntN(40) == 0 { // it restarts
			cache = w.behind(direct)
			cfg := &configv1alpha1.OperatorConfig{}
			cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
			r = newReconciler(cfg, cache, direct, nil)
			r.registry = collect.NewRegistry(collect.Options{}, nil, logr.Discard(), func(types.NamespacedName) {})
			locks = lock.New(cache, direct, &events.FakeRecorder{}, time.Now)
		}
		if k := w.random.IntN(2 * len(cachedKinds)); k < len(cachedKinds) {
			cache.sync(cachedKinds[k], w.api)
		}
		var err error
		if w.random.IntN(3) == 0 {
			_, err = locks.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: lockNamespace, Name: "core"}})
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
	if err := r.observe.client.Get(ctx, client.ObjectKey{Namespace: lockNamespace, Name: test}, lt); err != nil {
		return client.IgnoreNotFound(err)
	}
	stored, err := r.memory.of(lt).record.Load(ctx, lt)
	if err != nil {
		return err
	}
	s := &run.Facts{Now: time.Now(), LoadTest: lt, View: &shards.View{}, Plan: &runnerv1alpha1.Plan{Shards: 1}}
	take(s, stored)
	job := &batchv1.Job{}
	if err := r.observe.client.Get(ctx, client.ObjectKey{Namespace: lockNamespace, Name: test + "-1"}, job); err == nil {
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
		if slices.ContainsFunc(apiserver.Objects[*batchv1.Job](w.api), func(job *batchv1.Job) bool { return job.UID == s.Job.UID }) {
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
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: lockNamespace, Name: s.LoadTest.Name + "-1", Labels: map[string]string{
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
		edit(w, test+"-1", func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		})
		w.yield(a)
		edit(w, test, end)
	case w.loading[test] && k == 4: // deleted while it runs: the load ends with the Job
		w.note("%s is deleted", test)
		remove[*v1alpha1.LoadTest](w, test)
		w.yield(a)
		remove[*batchv1.Job](w, test+"-1")
	case w.lost[test] && k < 4: // the operator deletes what is left
		remove[*batchv1.Job](w, test+"-1")
		edit(w, test, end)
	case k == 6: // the garbage collector
		if apiserver.Find[*v1alpha1.LoadTest](w.api, lockNamespace, test) == nil {
			remove[*batchv1.Job](w, test+"-1")
		}
	case k == 5:
		edit(w, test, func(lt *v1alpha1.LoadTest) { lt.Spec.Suspend = true })
	case k > 30:
		edit(w, test, func(lt *v1alpha1.LoadTest) { lt.Spec.Suspend = false })
	}
}

// edit changes an object if it exists.
func edit[T client.Object](w *lockWorld, name string, f func(T)) {
	_ = apiserver.Change(w.api, lockNamespace, name, f)
}

// remove deletes an object if it exists.
func remove[T client.Object](w *lockWorld, name string) {
	if o := apiserver.Find[T](w.api, lockNamespace, name); !reflect.ValueOf(o).IsNil() {
		_ = w.api.Delete(o, metav1.DeleteOptions{})
	}
}

func end(lt *v1alpha1.LoadTest) {
	now := metav1.Now()
	lt.Status.StartTime, lt.Status.CompletionTime = &now, &now
}

// TestLockInterleavings: at most one of the tests with a lock has load, each of them gets its turn, whatever the order of the requests is. Among
// these seeds is one in which a test would start if it did not read the lock from the API server before.
func TestLockInterleavings(t *testing.T) {
	for seed := uint64(500); seed < 620; seed++ {
		w := newLockWorld(t, seed)
		w.run(20000, w.operator("a"), w.operator("b"), w.users)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(w.history, "\n"))
		}
	}
}

// TestWaitingForALockListsNothing: a pass of a test that waits for its lock reads the lock and its holder only, however many tests wait.
func TestWaitingForALockListsNothing(t *testing.T) {
	w := newLockWorld(t, 1)
	tests := apiserver.Objects[*v1alpha1.LoadTest](w.api)
	if _, err := apiserver.Create(w.api, &statev1alpha1.LoadTestLock{
		ObjectMeta: metav1.ObjectMeta{Namespace: lockNamespace, Name: "core"},
		Holder:     statev1alpha1.LockHolder{Name: "t0", UID: tests[0].UID}, Waiting: []string{"t1", "t2", "t3"},
	}); err != nil {
		t.Fatal(err)
	}
	lists := 0
	w.api.Fault = func(r apiserver.Request) apiserver.Fault {
		if r.Verb == "list" {
			lists++
		}
		return apiserver.Fault{}
	}
	c := w.direct("operator")
	r := newReconciler(nil, c, c, nil)
	r.registry = &collect.Registry{}
	for _, lt := range tests[1:] {
		s := &run.Facts{Now: time.Now(), LoadTest: lt, Record: &record.Record{}, View: &shards.View{}, Plan: &runnerv1alpha1.Plan{Shards: 1}}
		if err := r.observe.unlocked(context.Background(), s); err != nil {
			t.Error(err)
		}
		b, err := r.locked(context.Background(), s)
		if err != nil || b == nil || !strings.HasPrefix(b.Message, "lock core is held by LoadTest default/t0") {
			t.Errorf("%s: %+v, %v", lt.Name, b, err)
		}
	}
	if lists != 0 {
		t.Errorf("%d lists for %d tests that wait", lists, lockTests-1)
	}
}

// TestLockThatIsNotPassedOn: while the API server refuses to pass the lock on, the test that waits does not wait for the last holder. Another pass
// finds that, because the lock does not change.
func TestLockThatIsNotPassedOn(t *testing.T) {
	for name, leave := range map[string]func(*lockWorld){
		"ended":     func(w *lockWorld) { edit(w, "t0", end) },
		"deleted":   func(w *lockWorld) { remove[*v1alpha1.LoadTest](w, "t0") },
		"suspended": func(w *lockWorld) { edit(w, "t0", func(lt *v1alpha1.LoadTest) { lt.Spec.Suspend = true }) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newLockWorld(t, 1)
			direct := w.direct("operator")
			cache := w.behind(direct)
			r, locks := newReconciler(nil, cache, direct, nil), lock.New(cache, direct, &events.FakeRecorder{}, time.Now)
			pass := func(want string) (lockErr error) {
				for _, kind := range cachedKinds {
					cache.sync(kind, w.api)
				}
				_, lockErr = locks.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: lockNamespace, Name: "core"}})
				cache.sync(reflect.TypeFor[*statev1alpha1.LoadTestLock](), w.api)
				s := &run.Facts{LoadTest: apiserver.Find[*v1alpha1.LoadTest](w.api, lockNamespace, "t1"), Record: &record.Record{}}
				if err := r.observe.unlocked(t.Context(), s); err != nil || s.Unlocked == nil || s.Unlocked.Reason != want || s.Unlocked.Retry == 0 {
					t.Errorf("%+v, %v; want %s, and another pass", s.Unlocked, err, want)
				}
				return lockErr
			}
			if err := pass(v1alpha1.ReasonWaitingForLock); err != nil {
				t.Error(err)
			}
			leave(w)
			w.api.Fault = func(r apiserver.Request) (f apiserver.Fault) {
				if r.Verb == "update" && r.Name == "core" {
					f.Err = apierrors.NewForbidden(schema.GroupResource{Resource: "loadtestlocks"}, "core", errors.New("a policy"))
				}
				return f
			}
			if err := pass(v1alpha1.ReasonLockNotGiven); !apierrors.IsForbidden(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}
