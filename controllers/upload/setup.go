package upload

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/leadership"
	"github.com/h2surge/h2surge/controllers/internal/storage"
)

const (
	// atOnce is the number of uploads at the same time. A storage that does not answer must not take much memory.
	atOnce = 4
	// firstWait and maxWait are the times before the second upload of a report, and at most between two.
	firstWait, maxWait = time.Second, 5 * time.Minute
)

// Setup adds the controller to a manager, if the configuration has a storage. leading returns whether this process may
// decide.
func Setup(mgr ctrl.Manager, cfg *configv1alpha1.OperatorConfig, clock func() time.Time, leading func() bool) error {
	if cfg.ResultStorage == nil {
		return nil
	}
	bucket, err := storage.New(cfg.ResultStorage)
	if err != nil {
		return err
	}
	r := &reconciler{
		client: leadership.Client(mgr.GetClient(), leading), reader: mgr.GetAPIReader(), cfg: cfg.ResultStorage,
		storage: bucket, clock: clock,
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstWait, maxWait),
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("upload").
		For(&v1alpha1.LoadTest{}, builder.WithPredicates(r.begins())).
		WithOptions(controller.Options{MaxConcurrentReconciles: atOnce, RateLimiter: r.failures}).
		Complete(leadership.Reconciler(r, leading))
	if err != nil {
		return fmt.Errorf("creating the controller of uploads: %w", err)
	}
	return nil
}

// begins selects LoadTests whose report must be uploaded from now on. A status that shows a failed upload brings no
// pass: the next one comes after the wait of the work queue.
func (r *reconciler) begins() predicate.Predicate {
	pending := func(o client.Object) bool {
		lt, is := o.(*v1alpha1.LoadTest)
		return is && Pending(lt, r.cfg)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return pending(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return !pending(e.ObjectOld) && pending(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
