package loadtestschedule

import (
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/changes"
	"github.com/h2surge/h2surge/controllers/internal/leadership"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/upload"
)

// Setup adds the controller to a manager. leads returns whether this process may decide.
func Setup(mgr ctrl.Manager, cfg *configv1alpha1.OperatorConfig, clock func() time.Time, leads func() bool) error {
	register(ctrlmetrics.Registry, mgr.GetClient(), leads)
	r := &reconciler{
		client: leadership.Client(mgr.GetClient(), leads), reader: mgr.GetAPIReader(),
		events: mgr.GetEventRecorder("h2surge"), cfg: cfg, clock: clock,
		pending: func(lt *v1alpha1.LoadTest) bool { return upload.Pending(lt, cfg.ResultStorage) },
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("loadtestschedule").
		For(&v1alpha1.LoadTestSchedule{}, builder.WithPredicates(changes.OfSpec())).
		Owns(&v1alpha1.LoadTest{}, builder.WithPredicates(ends(r.pending))).
		WithOptions(controller.Options{RateLimiter: refusal.Waits()}).
		Complete(leadership.Reconciler(r, leads))
	if err != nil {
		return fmt.Errorf("creating the controller of LoadTestSchedules: %w", err)
	}
	return nil
}

// ends selects the events that matter to a schedule. The status of a LoadTest that runs changes each second.
func ends(pending func(*v1alpha1.LoadTest) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, is := e.ObjectOld.(*v1alpha1.LoadTest)
		after, also := e.ObjectNew.(*v1alpha1.LoadTest)
		return !is || !also || changes.Replaced(e) || hasFinished(before) != hasFinished(after) ||
			pending(before) != pending(after) || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
	}}
}
