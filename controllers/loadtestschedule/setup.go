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

// Options are what a test replaces; the zero value is right for production.
type Options struct {
	// Clock is what scheduled times are compared with. Default: time.Now.
	Clock func() time.Time
	// Leads returns whether this process may decide. Default: it always may.
	Leads func() bool
	// Storage is where reports are uploaded to; nil: they are not.
	Storage *configv1alpha1.ResultStorage
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Leads == nil {
		opts.Leads = func() bool { return true }
	}
	register(ctrlmetrics.Registry, mgr.GetClient(), opts.Leads)
	r := &reconciler{
		client: leadership.Client(mgr.GetClient(), opts.Leads), reader: mgr.GetAPIReader(),
		events: mgr.GetEventRecorder("h2surge"), clock: opts.Clock,
		pending: func(lt *v1alpha1.LoadTest) bool { return upload.Pending(lt, opts.Storage) },
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("loadtestschedule").
		For(&v1alpha1.LoadTestSchedule{}, builder.WithPredicates(changes.OfSpec())).
		Owns(&v1alpha1.LoadTest{}, builder.WithPredicates(ends(r.pending))).
		WithOptions(controller.Options{RateLimiter: refusal.Waits()}).
		Complete(leadership.Reconciler(r, opts.Leads))
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
