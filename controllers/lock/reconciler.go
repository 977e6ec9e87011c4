package lock

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/pages"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// reconciler gives one lock after another to LoadTests.
type reconciler struct {
	client client.Client // asks before each write whether this process leads
	reader client.Reader // past the cache
	events events.EventRecorder
	clock  func() time.Time
}

// New returns a reconciler of locks. Its requests are the names of locks. reader reads from the API server.
func New(c client.Client, reader client.Reader, events events.EventRecorder,
	clock func() time.Time) reconcile.Reconciler {
	return &reconciler{client: c, reader: reader, events: events, clock: clock}
}

// Index finds LoadTests by the name of their lock.
const Index = "h2surge.lock"

// staleInterval is the time until the next pass if the cache had an old lock.
const staleInterval = 200 * time.Millisecond

// Reconcile decides who has a lock. The API server refuses a change that is based on an old version of the lock, so two
// processes, or two passes, cannot both give it away.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lock := desired.Lock(req.Namespace, req.Name)
	if err := r.client.Get(ctx, req.NamespacedName, lock); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading the lock: %w", err)
	}
	f, err := r.facts(ctx, lock)
	if err != nil {
		return ctrl.Result{}, err
	}
	after, again := next(lock, f)
	err = r.write(ctx, lock, after)
	switch text := refusal.Of(err); {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		return ctrl.Result{RequeueAfter: staleInterval}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ctrl.Result{}, nil
	case text != "" && after != nil:
		for i := range f.tests {
			if wants(&f.tests[i], lock.Name) {
				r.events.Eventf(&f.tests[i], nil, corev1.EventTypeWarning, v1alpha1.ReasonWriteRefused, "Lock",
					"The API server refuses LoadTestLock %s: %.800s", lock.Name, text)
			}
		}
	}
	return ctrl.Result{RequeueAfter: again}, err
}

// write makes a lock what it must be.
func (r *reconciler) write(ctx context.Context, before, after *statev1alpha1.LoadTestLock) error {
	var err error
	switch {
	case before.ResourceVersion == "" && (after == nil || after.Holder.UID == ""):
	case after == nil:
		err = client.IgnoreNotFound(r.client.Delete(ctx, before, client.Preconditions{UID: &before.UID,
			ResourceVersion: &before.ResourceVersion}))
	case before.ResourceVersion == "":
		err = r.client.Create(ctx, after)
	case !equality.Semantic.DeepEqual(before, after):
		err = client.IgnoreNotFound(r.client.Update(ctx, after))
	}
	if err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	return nil
}

// facts reads what decides about a lock. A holder that does not keep the lock is read from the API server, and then
// what is left of it.
func (r *reconciler) facts(ctx context.Context, lock *statev1alpha1.LoadTestLock) (facts, error) {
	f := facts{now: r.clock()}
	var list v1alpha1.LoadTestList
	if err := r.client.List(ctx, &list, client.InNamespace(lock.Namespace),
		client.MatchingFields{Index: lock.Name}); err != nil {
		return f, fmt.Errorf("listing the LoadTests of the lock: %w", err)
	}
	f.tests = list.Items
	f.find(lock)
	if keeps, _ := f.keeps(lock, len(f.others(lock)) > 0); keeps || lock.Holder.UID == "" {
		return f, nil
	}
	var err error
	if f.holder, err = Holder(ctx, r.reader, lock); err != nil {
		return f, err
	}
	f.left, err = r.leftOf(ctx, lock.Namespace, &lock.Holder)
	return f, err
}

// Holder returns the LoadTest that got a lock last; nil: there is no lock, or the LoadTest does not exist any more.
func Holder(ctx context.Context, from client.Reader, lock *statev1alpha1.LoadTestLock) (*v1alpha1.LoadTest, error) {
	if lock == nil {
		return nil, nil
	}
	out := &v1alpha1.LoadTest{}
	err := from.Get(ctx, client.ObjectKey{Namespace: lock.Namespace, Name: lock.Holder.Name}, out)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the holder of the lock: %w", err)
	}
	if err != nil || out.UID != lock.Holder.UID {
		return nil, nil
	}
	return out, nil
}

// leftOf returns a Job or a pod of a LoadTest that has not ended; empty: all have.
func (r *reconciler) leftOf(ctx context.Context, namespace string, holder *statev1alpha1.LockHolder) (string, error) {
	of := []client.ListOption{client.InNamespace(namespace),
		client.MatchingLabels{desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: holder.Name}}
	others := map[types.UID]bool{} // Jobs of other LoadTests of the same name
	for page, err := range pages.Of[batchv1.JobList](ctx, r.reader, of...) {
		if err != nil {
			return "", fmt.Errorf("listing the Jobs of LoadTest %s: %w", holder.Name, err)
		}
		for i := range page.Items {
			job := &page.Items[i]
			owner := metav1.GetControllerOf(job)
			switch {
			case owner == nil || owner.UID != holder.UID:
				others[job.UID] = true
			case !run.JobEnded(job):
				return "Job " + job.Name, nil
			}
		}
	}
	for page, err := range pages.Of[corev1.PodList](ctx, r.reader, of...) {
		if err != nil {
			return "", fmt.Errorf("listing the pods of LoadTest %s: %w", holder.Name, err)
		}
		for i := range page.Items {
			pod := &page.Items[i]
			if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Job" && !others[owner.UID] &&
				!run.PodFinished(pod) {
				return "pod " + pod.Name, nil
			}
		}
	}
	return "", nil
}
