package ttl

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/leadership"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/loadtestschedule"
)

// loadtests get, list and watch: the cache of the manager. delete: spec.ttlSecondsAfterFinished and
// spec.ttlSecondsByOutcome.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=get;list;watch;delete

// loadtestschedules get, list and watch: whether the schedule of a LoadTest has noted its end.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtestschedules,verbs=get;list;watch

// reconciler deletes LoadTests.
type reconciler struct {
	client  client.Client
	storage *configv1alpha1.ResultStorage // nil: reports are not uploaded
	clock   func() time.Time
}

// Setup adds the controller to a manager. leading returns whether this process may decide.
func Setup(mgr ctrl.Manager, cfg *configv1alpha1.OperatorConfig, clock func() time.Time, leading func() bool) error {
	r := &reconciler{client: leadership.Client(mgr.GetClient(), leading), storage: cfg.ResultStorage, clock: clock}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("ttl").
		For(&v1alpha1.LoadTest{}, builder.WithPredicates(r.changes())).
		WithOptions(controller.Options{RateLimiter: refusal.Waits()}).
		Complete(leadership.Reconciler(r, leading))
	if err != nil {
		return fmt.Errorf("creating the controller of TTLs: %w", err)
	}
	return nil
}

// changes selects LoadTests that get another expiry. The status of a LoadTest that runs changes each second.
func (r *reconciler) changes() predicate.Predicate {
	of := func(o client.Object) (at time.Time) {
		if lt, is := o.(*v1alpha1.LoadTest); is {
			at = expiry(lt, r.storage)
		}
		return at
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !of(e.Object).IsZero() },
		UpdateFunc: func(e event.UpdateEvent) bool { return !of(e.ObjectNew).Equal(of(e.ObjectOld)) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// staleInterval is the time until the next pass if the cache had an old LoadTest.
const staleInterval = 200 * time.Millisecond

// notedInterval is the time between two looks at a schedule that has not noted the end of a LoadTest. After maxUnnoted,
// the LoadTest is deleted in any case: its schedule may be unable to write its status.
const (
	notedInterval = time.Second
	maxUnnoted    = 10 * time.Minute
)

// Reconcile deletes a LoadTest that has expired. The API server refuses it if the LoadTest has changed meanwhile.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lt := &v1alpha1.LoadTest{}
	if err := r.client.Get(ctx, req.NamespacedName, lt); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	at := expiry(lt, r.storage)
	if at.IsZero() {
		return ctrl.Result{}, nil
	}
	left, err := r.left(ctx, lt, at)
	if left > 0 || err != nil {
		return ctrl.Result{RequeueAfter: left}, err
	}
	err = r.client.Delete(ctx, lt, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &lt.UID, ResourceVersion: &lt.ResourceVersion})
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: staleInterval}, nil
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, fmt.Errorf("deleting the LoadTest after its TTL: %w", err)
	}
	return ctrl.Result{}, nil
}

// left returns the time until a LoadTest that expires at a time can be deleted; zero or negative: now.
func (r *reconciler) left(ctx context.Context, lt *v1alpha1.LoadTest, at time.Time) (time.Duration, error) {
	left := at.Sub(r.clock())
	if left > 0 || left <= -maxUnnoted {
		return left, nil
	}
	noted, err := loadtestschedule.Noted(ctx, r.client, lt)
	if noted || err != nil {
		return 0, err
	}
	return notedInterval, nil
}
