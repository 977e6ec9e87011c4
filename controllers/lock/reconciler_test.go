package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// TestChanges: a watch that was interrupted shows a LoadTest that was deleted and created again as an update.
func TestChanges(t *testing.T) {
	before, after := test("a", 1), test("a", 1)
	e := event.UpdateEvent{ObjectOld: &before, ObjectNew: &after}
	if changes().Update(e) {
		t.Error("a LoadTest that is the same brings a pass")
	}
	after.UID = "another"
	if !changes().Update(e) {
		t.Error("a LoadTest that replaces another one brings no pass")
	}
}

// TestReconcile: the lock goes to the next test after the holder was deleted and its Job has ended, and is deleted with
// the last test.
func TestReconcile(t *testing.T) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme,
		statev1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	resource := schema.GroupResource{Resource: "loadtestlocks"}
	var refuses error
	a, b := test("a", 1), test("b", 2)
	create := func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if refuses != nil {
			return refuses
		}
		return c.Create(ctx, o, opts...)
	}
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(&a, &b).WithIndex(&v1alpha1.LoadTest{}, Index, names).
		WithStatusSubresource(&batchv1.Job{}).WithInterceptorFuncs(interceptor.Funcs{Create: create}).Build()
	recorder := events.NewFakeRecorder(10)
	r := New(c, c, recorder, func() time.Time { return now })
	key := client.ObjectKey{Namespace: "ns", Name: "core"}
	pass := func(want string, wantErr bool) time.Duration {
		t.Helper()
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		if (err != nil) != wantErr {
			t.Errorf("error %v", err)
		}
		lock := &statev1alpha1.LoadTestLock{}
		if err := client.IgnoreNotFound(c.Get(t.Context(), key, lock)); err != nil {
			t.Fatal(err)
		}
		if got := show(lock); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		return result.RequeueAfter
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refuses = apierrors.NewForbidden(resource, "core", errors.New("exceeded quota: q"))
	pass("-", true)
	for range 2 { // both tests wait
		got := <-recorder.Events
		if !strings.HasPrefix(got, "Warning WriteRefused The API server refuses LoadTestLock core: ") {
			t.Errorf("event %q", got)
		}
	}
	refuses = apierrors.NewAlreadyExists(resource, "core")
	if again := pass("-", false); again != staleInterval {
		t.Errorf("the next pass comes after %v", again)
	}
	refuses = nil
	pass("a | b", false)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "a-1",
		Labels:          map[string]string{desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: "a"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&a, v1alpha1.GroupVersion.WithKind("LoadTest"))},
	}}
	must(c.Create(t.Context(), job))
	must(c.Delete(t.Context(), &a))
	pass("a left Job a-1 | b", false)
	if got := held(t.Context(), c, job); len(got) != 1 || got[0].NamespacedName != key {
		t.Errorf("the end of the Job wakes %v", got)
	}
	must(c.Delete(t.Context(), job))
	pass("b |", false)
	must(c.Delete(t.Context(), &b))
	pass("-", false)
}

// paged serves lists in pages of ten objects, and refuses larger pages.
type paged struct{ client.Reader }

func (p paged) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	of := (&client.ListOptions{}).ApplyOptions(opts)
	if of.Limit <= 0 || of.Limit > 10 {
		return fmt.Errorf("a page of %d objects", of.Limit)
	}
	if err := p.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	all, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b runtime.Object) int {
		return strings.Compare(a.(client.Object).GetName(), b.(client.Object).GetName())
	})
	from, _ := strconv.Atoi(of.Continue)
	until := min(from+10, len(all))
	if until < len(all) {
		list.SetContinue(strconv.Itoa(until))
	}
	return meta.SetList(list, all[from:until])
}

// TestLeftOf: a user can create many large Jobs and pods with the labels of a LoadTest. The operator reads them in
// small pages, and finds what is left on any page.
func TestLeftOf(t *testing.T) {
	holder := &statev1alpha1.LockHolder{Name: "a", UID: "uid-a"}
	object := func(name, kind string, owner types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name),
			Labels:          map[string]string{desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: "a"},
			OwnerReferences: []metav1.OwnerReference{{Kind: kind, UID: owner, Controller: ptr.To(true)}},
		}
	}
	job := func(name string, owner types.UID, conditions ...batchv1.JobCondition) client.Object {
		return &batchv1.Job{ObjectMeta: object(name, "LoadTest", owner), Status: batchv1.JobStatus{Conditions: conditions}}
	}
	pod := func(name string, owner types.UID, phase corev1.PodPhase) client.Object {
		return &corev1.Pod{ObjectMeta: object(name, "Job", owner), Status: corev1.PodStatus{Phase: phase}}
	}
	var many []client.Object
	for i := range 25 {
		name := fmt.Sprintf("a-%02d", i)
		many = append(many, job(name, "another"), pod(name, types.UID("uid-"+name), corev1.PodRunning))
	}
	ended := job("b", holder.UID, batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue})
	for name, tt := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"others only": {nil, ""},
		"ended":       {[]client.Object{ended, pod("b-0", ended.GetUID(), corev1.PodSucceeded)}, ""},
		"a Job":       {[]client.Object{job("b", holder.UID)}, "Job b"},
		"a pod":       {[]client.Object{ended, pod("b-0", ended.GetUID(), corev1.PodRunning)}, "pod b-0"},
	} {
		c := fake.NewClientBuilder().WithObjects(many...).WithObjects(tt.objects...).Build()
		got, err := (&reconciler{reader: paged{c}}).leftOf(t.Context(), "ns", holder)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}
