package lock

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/leadership"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Rights to give locks to LoadTests.
//   - loadtestlocks get, list and watch: the cache of the manager, and a read from the API server just before the start
//     of a test. create and update make a LoadTest the holder. delete: a free lock that no LoadTest names.
//   - loadtests, jobs and pods get, list and watch: who waits, and whether the runners of the holder have ended.
//   - events create and patch: the API server refuses a lock.
//
// +kubebuilder:rbac:groups=internal.h2surge.io,resources=loadtestlocks,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Setup adds the controller to a manager. leading returns whether this process may decide.
func Setup(ctx context.Context, mgr ctrl.Manager, clock func() time.Time, leading func() bool) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.LoadTest{}, Index, names); err != nil {
		return fmt.Errorf("indexing LoadTests by lock: %w", err)
	}
	r := New(leadership.Client(mgr.GetClient(), leading), mgr.GetAPIReader(), mgr.GetEventRecorder("h2surge"), clock)
	ofHolder := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context,
		o client.Object) []reconcile.Request {
		return held(ctx, mgr.GetClient(), o)
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("lock").
		For(&statev1alpha1.LoadTestLock{}).
		Watches(&v1alpha1.LoadTest{}, handler.EnqueueRequestsFromMapFunc(named), builder.WithPredicates(changes())).
		Watches(&batchv1.Job{}, ofHolder, builder.WithPredicates(ends())).
		Watches(&corev1.Pod{}, ofHolder, builder.WithPredicates(ends())).
		WithOptions(controller.Options{RateLimiter: refusal.Waits()}).
		Complete(leadership.Reconciler(r, leading))
	if err != nil {
		return fmt.Errorf("creating the controller of locks: %w", err)
	}
	return nil
}

// names returns the lock of a LoadTest, for Index.
func names(o client.Object) []string {
	if lt, is := o.(*v1alpha1.LoadTest); is && lt.Spec.Lock != "" {
		return []string{lt.Spec.Lock}
	}
	return nil
}

// named returns the lock that a LoadTest names.
func named(_ context.Context, o client.Object) (out []reconcile.Request) {
	for _, name := range names(o) {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return out
}

// held returns the locks whose holder has the name in the label of a Job or a pod. The LoadTest can be deleted.
func held(ctx context.Context, cache client.Reader, o client.Object) (out []reconcile.Request) {
	var locks statev1alpha1.LoadTestLockList
	name := o.GetLabels()[desired.LabelLoadTest]
	if name == "" || cache.List(ctx, &locks, client.InNamespace(o.GetNamespace())) != nil {
		return nil
	}
	for i := range locks.Items {
		if locks.Items[i].Holder.Name == name {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&locks.Items[i])})
		}
	}
	return out
}

// changes selects LoadTests that come to need their lock, or to need it no more. The status of a LoadTest that runs
// changes each second. After an interruption of the watch, a LoadTest that was replaced is an update with another UID.
func changes() predicate.Predicate {
	type need struct {
		uid                           types.UID
		lock                          string
		wants, over, refused, started bool
	}
	of := func(o client.Object) (n need) {
		if lt, is := o.(*v1alpha1.LoadTest); is {
			n = need{lt.UID, lt.Spec.Lock, wants(lt, lt.Spec.Lock), over(lt), refused(lt), lt.Status.StartTime != nil}
		}
		return n
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return of(e.ObjectOld) != of(e.ObjectNew) }}
}

// ends selects Jobs and pods that end.
func ends() predicate.Predicate {
	ended := func(o client.Object) bool {
		switch o := o.(type) {
		case *batchv1.Job:
			return run.JobEnded(o)
		case *corev1.Pod:
			return run.PodFinished(o)
		}
		return false
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return !ended(e.ObjectOld) && ended(e.ObjectNew) },
	}
}

// Handler wakes the LoadTests for which a lock has changed.
func Handler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(before, after client.Object, q queue) {
		old, _ := before.(*statev1alpha1.LoadTestLock)
		now, _ := after.(*statev1alpha1.LoadTestLock)
		for _, name := range affected(old, now) {
			q.Add(name)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(nil, e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { wake(e.ObjectOld, e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(e.Object, nil, q) },
	}
}
