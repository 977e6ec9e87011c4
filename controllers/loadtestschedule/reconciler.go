package loadtestschedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/event"
)

// loadtestschedules/status patch: the one write of a pass to the schedule.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtestschedules/status,verbs=patch

// reconciler creates the LoadTests of schedules.
type reconciler struct {
	client client.Client // asks before each write whether this process leads
	reader client.Reader // past the cache
	events events.EventRecorder
	cfg    *configv1alpha1.OperatorConfig
	clock  func() time.Time
	// pending returns whether the report of a LoadTest must still be uploaded.
	pending func(*v1alpha1.LoadTest) bool
}

// staleInterval is the time until the next pass if the cache had an old object.
const staleInterval = 200 * time.Millisecond

// Reconcile is one pass.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.read(ctx, req)
	if s == nil || err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s.syncTimes()
	syncErr := r.syncTemplate(s)
	if syncErr == nil {
		syncErr = r.syncRun(ctx, s)
	}
	if apierrors.HasStatusCause(syncErr, corev1.NamespaceTerminatingCause) {
		return ctrl.Result{}, nil
	}
	err = r.write(ctx, s)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: staleInterval}, nil
	}
	if err = errors.Join(syncErr, err); err == nil {
		err = r.deleteHistory(ctx, s)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: s.requeue}, nil
}

// read returns the scope of a pass; nil: the schedule is being deleted.
func (r *reconciler) read(ctx context.Context, req ctrl.Request) (*scope, error) {
	s := &scope{now: r.clock(), schedule: &v1alpha1.LoadTestSchedule{}}
	if err := r.client.Get(ctx, req.NamespacedName, s.schedule); err != nil {
		return nil, err
	}
	if s.schedule.DeletionTimestamp != nil {
		return nil, nil
	}
	list := &v1alpha1.LoadTestList{}
	err := r.client.List(ctx, list, client.InNamespace(req.Namespace),
		client.MatchingLabels{v1alpha1.LabelSchedule: req.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the LoadTests: %w", err)
	}
	for i := range list.Items {
		switch lt := &list.Items[i]; {
		case !metav1.IsControlledBy(lt, s.schedule):
		case hasFinished(lt):
			s.finished = append(s.finished, lt)
		default:
			s.active = append(s.active, lt)
		}
	}
	sorted(s.active)
	sorted(s.finished)
	return s, nil
}

// write patches the status if it has changed, and sends the events of the pass.
func (r *reconciler) write(ctx context.Context, s *scope) error {
	after := statusOf(s)
	if equality.Semantic.DeepEqual(&s.schedule.Status, after) {
		return nil
	}
	written := s.schedule.DeepCopy()
	written.Status = *after
	err := r.client.Status().Patch(ctx, written, client.MergeFromWithOptions(s.schedule,
		client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	event.Send(ctx, r.events, s.schedule, eventsOf(s, &s.schedule.Status, after))
	return nil
}
