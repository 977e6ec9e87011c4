package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
	"github.com/h2surge/h2surge/test/simulate/operator"
)

// connect returns a server, a way to it and a client.
func connect(t testing.TB) (*apiserver.Server, *apiserver.Client, client.WithWatch) {
	s := apiserver.New(operator.Scheme())
	way := s.Client("test")
	c, err := client.NewWithWatch(way.Config(), client.Options{Scheme: operator.Scheme(), Mapper: s.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	return s, way, c
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name,
		Labels: map[string]string{"app": name}}}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestWrites: writes are refused as the real server refuses them.
func TestWrites(t *testing.T) {
	_, _, c := connect(t)
	ctx := t.Context()
	cm := configMap("a")
	must(t, c.Create(ctx, cm))
	old := cm.DeepCopy()
	cm.Data = map[string]string{"key": "value"}
	must(t, c.Update(ctx, cm))
	frozen := configMap("frozen")
	frozen.Immutable = ptr.To(true)
	must(t, c.Create(ctx, frozen))
	frozen.Data = map[string]string{"key": "value"}
	large := configMap("large")
	large.Data = map[string]string{"key": string(make([]byte, 2<<20))}
	scale := func(uid string) runtime.ApplyConfiguration {
		return batchv1ac.Job("job", "ns").WithUID("other").WithSpec(batchv1ac.JobSpec().WithCompletions(2))
	}
	other := client.Preconditions{UID: ptr.To(cm.UID + "0")}
	for name, tt := range map[string]struct {
		err error
		is  func(error) bool
	}{
		"a second one of a name": {c.Create(ctx, configMap("a")), apierrors.IsAlreadyExists},
		"an old version":         {c.Update(ctx, old), apierrors.IsConflict},
		"an old version, as a patch": {c.Patch(ctx, configMap("a"), client.MergeFromWithOptions(old,
			client.MergeFromWithOptimisticLock{})), apierrors.IsConflict},
		"no object":                      {c.Update(ctx, configMap("b")), apierrors.IsNotFound},
		"no object to delete":            {c.Delete(ctx, configMap("b")), apierrors.IsNotFound},
		"another UID to delete":          {c.Delete(ctx, cm, other), apierrors.IsConflict},
		"an immutable one":               {c.Update(ctx, frozen), apierrors.IsInvalid},
		"an object above 1.5 MiB":        {c.Create(ctx, large), apierrors.IsInternalError},
		"an apply with the UID of a Job": {c.Apply(ctx, scale("other"), client.FieldOwner("test")), apierrors.IsConflict},
	} {
		if !tt.is(tt.err) {
			t.Errorf("%s: error %v", name, tt.err)
		}
	}
}

// TestSpecAndStatus: a write of the spec leaves the status as it is, and increases the generation. The reverse does
// neither.
func TestSpecAndStatus(t *testing.T) {
	_, _, c := connect(t)
	ctx := t.Context()
	lt := builder.Minimal("test").Namespace("ns").Build()
	must(t, c.Create(ctx, lt))
	before := lt.DeepCopy()
	lt.Status.Phase, lt.Spec.Suspend = v1alpha1.PhaseRunning, true
	must(t, c.Status().Patch(ctx, lt, client.MergeFrom(before)))
	if lt.Status.Phase != v1alpha1.PhaseRunning || lt.Spec.Suspend || lt.Generation != 1 {
		t.Errorf("after a patch of the status: %+v", lt)
	}
	version := lt.ResourceVersion
	must(t, c.Status().Patch(ctx, lt, client.MergeFrom(before)))
	if lt.ResourceVersion != version {
		t.Error("a patch that changes nothing makes a version")
	}
	lt.Status.Phase, lt.Spec.Suspend = "", true
	must(t, c.Update(ctx, lt))
	if lt.Status.Phase != v1alpha1.PhaseRunning || !lt.Spec.Suspend || lt.Generation != 2 {
		t.Errorf("after an update: %+v", lt)
	}
	job := batchv1ac.Job("job", "ns").WithSpec(batchv1ac.JobSpec().WithCompletions(1).WithParallelism(1))
	must(t, c.Apply(ctx, job, client.FieldOwner("test")))
	job = batchv1ac.Job("job", "ns").WithSpec(batchv1ac.JobSpec().WithCompletions(2))
	must(t, c.Apply(ctx, job, client.FieldOwner("test")))
	got := &batchv1.Job{}
	must(t, c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "job"}, got))
	if *got.Spec.Completions != 2 || *got.Spec.Parallelism != 1 || got.Generation != 2 {
		t.Errorf("after two applies: %+v", got.Spec)
	}
}

// TestWatch: a watch with a selector has the events of the objects that match. It ends when the history does.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, way, c := connect(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		must(t, c.Create(ctx, configMap("a")), c.Create(ctx, configMap("b")))
		var list corev1.ConfigMapList
		must(t, c.List(ctx, &list, client.InNamespace("ns"), client.MatchingLabels{"app": "a"}))
		if len(list.Items) != 1 {
			t.Fatalf("%d objects match", len(list.Items))
		}
		begin := func(version string) watch.Interface {
			w, err := c.Watch(ctx, &list, client.MatchingLabels{"app": "a"},
				&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
			must(t, err)
			return w
		}
		w := begin(list.ResourceVersion)
		change := func(name, app string) {
			must(t, apiserver.Change(s, "ns", name, func(o *corev1.ConfigMap) { o.Labels = map[string]string{"app": app} }))
		}
		want := func(kind watch.EventType, name string) {
			t.Helper()
			e := <-w.ResultChan()
			if o, ok := e.Object.(client.Object); e.Type != kind || ok && o.GetName() != name {
				t.Errorf("event %v of %v, want %v of %s", e.Type, e.Object, kind, name)
			}
		}
		change("b", "a")
		change("b", "c")
		change("a", "a")
		must(t, c.Delete(ctx, configMap("a")))
		for _, e := range []watch.EventType{watch.Added, watch.Deleted} {
			want(e, "b")
		}
		want(watch.Deleted, "a")
		way.Set(apiserver.Silent)
		change("b", "a")
		time.Sleep(time.Second)
		s.Forget()
		way.Set(apiserver.Up)
		want(watch.Error, "")
		if _, err := c.Watch(ctx, &list,
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}); !apierrors.IsResourceExpired(
			err) {
			t.Errorf("a watch from a forgotten version: %v", err)
		}
		w = begin("")
		want(watch.Added, "b")
		way.Set(apiserver.Silent)
		want(watch.Error, "")
	})
}

// separate is a context of which package context knows only its methods, as those of client-go: what derives a context
// from it starts a goroutine.
type separate struct {
	context.Context
	done chan struct{}
}

func (s separate) Done() <-chan struct{} { return s.done }

// TestLostWatch: a watch whose answer is lost holds no goroutine while the context of its client lives.
func TestLostWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, way, c := connect(t)
		way.Set(apiserver.NoAnswer)
		ctx := separate{t.Context(), make(chan struct{})}
		if _, err := c.Watch(ctx, &corev1.ConfigMapList{}); !isConnection(err) {
			t.Errorf("error %v", err)
		}
		// The bubble waits for all goroutines at its end, and ctx does not end.
	})
}

// TestFaults: what a client sees of faults, and what the server does.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		fault apiserver.Fault
		link  apiserver.Link
		after time.Duration
		is    func(error) bool
		made  bool
	}{
		"none": {after: 0, is: func(err error) bool { return err == nil }, made: true},
		"slow": {fault: apiserver.Fault{Delay: time.Second}, after: time.Second,
			is: func(err error) bool { return err == nil }, made: true},
		"refused": {fault: apiserver.Fault{Err: apierrors.NewForbidden(batchv1.Resource("jobs"), "a", nil)},
			is: apierrors.IsForbidden},
		"reset": {fault: apiserver.Fault{Err: errors.New("reset")}, is: isConnection},
		"lost":  {fault: apiserver.Fault{Lost: true}, is: isConnection, made: true},
		"lost and late": {fault: apiserver.Fault{Lost: true, Delay: time.Hour}, after: time.Minute, is: isTimeout,
			made: true},
		"no answer": {link: apiserver.NoAnswer, after: 45 * time.Second, is: isConnection, made: true},
		"silent":    {link: apiserver.Silent, after: 45 * time.Second, is: isConnection},
		"down":      {link: apiserver.Down, is: isConnection},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, way, c := connect(t)
				s.Fault = func(r apiserver.Request) apiserver.Fault {
					if got := fmt.Sprint(r.Client, r.Verb, r.Kind, r.Namespace, r.Name,
						r.Object != nil); got != "testcreateConfigMapnsatrue" {
						t.Error(got)
					}
					return tt.fault
				}
				way.Set(tt.link)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begin := time.Now()
				err := c.Create(ctx, configMap("a"))
				if after := time.Since(begin); !tt.is(err) || after != tt.after {
					t.Errorf("error %v after %v", err, after)
				}
				time.Sleep(2 * time.Hour)
				if made := apiserver.Find[*corev1.ConfigMap](s, "ns", "a") != nil; made != tt.made {
					t.Errorf("made: %v", made)
				}
			})
		})
	}
}

// TestFreeze: of a process that is stopped, a request arrives that was under way, and no other one.
func TestFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, way, c := connect(t)
		way.Freeze(time.Minute)
		create := func(name string) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := c.Create(ctx, configMap(name)); (err == nil) != (name == "a") {
				t.Errorf("%s: %v", name, err)
			}
		}
		var all sync.WaitGroup
		all.Go(func() { create("a") })
		time.Sleep(time.Second)
		all.Go(func() { create("b") })
		time.Sleep(50 * time.Second)
		all.Go(func() { create("c") })
		synctest.Wait()
		if n := len(apiserver.Objects[*corev1.ConfigMap](s)); n > 0 {
			t.Errorf("%d objects during the freeze", n)
		}
		all.Wait()
		if all := apiserver.Objects[*corev1.ConfigMap](s); len(all) != 1 || all[0].Name != "a" {
			t.Errorf("objects %v", all)
		}
	})
}

func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

func isConnection(err error) bool {
	return err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && !isTimeout(err)
}

func BenchmarkGet(b *testing.B) {
	_, _, c := connect(b)
	lt := builder.Minimal("test").Namespace("ns").Build()
	must(b, c.Create(b.Context(), lt))
	for b.Loop() {
		must(b, c.Get(b.Context(), client.ObjectKeyFromObject(lt), lt))
	}
}

func BenchmarkPatchStatus(b *testing.B) {
	_, _, c := connect(b)
	lt := builder.Minimal("test").Namespace("ns").Build()
	must(b, c.Create(b.Context(), lt))
	for i := int64(0); b.Loop(); i++ {
		before := lt.DeepCopy()
		lt.Status.ObservedGeneration = i
		must(b, c.Status().Patch(b.Context(), lt, client.MergeFrom(before)))
	}
}
