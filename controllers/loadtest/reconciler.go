package loadtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/event"
	"github.com/h2surge/h2surge/controllers/internal/leadership"
	"github.com/h2surge/h2surge/controllers/internal/pki"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/status"
)

// loadtests/status patch: the one write of a pass.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests/status,verbs=patch

// reconciler brings LoadTests from apply to report.
type reconciler struct {
	cfg      *configv1alpha1.OperatorConfig
	client   client.Client // asks before each write whether this process leads
	reader   client.Reader // past the cache
	registry *collect.Registry
	pki      *pki.Store
	events   events.EventRecorder
	metrics  *Collector
	memory   *memory
	records  *record.Store
	pace     *pace
	address  func(*corev1.Pod) string
	clock    func() time.Time
	// checkpoints are the stored counts of runners; keeper stores those of running shards.
	checkpoints *checkpoint.Store
	keeper      *checkpoint.Writer
	leader      Leader
	podsGrace   time.Duration // see Options
	// addressRules make the address policies of new runs.
	addressRules *addressRules
}

// staleInterval is the time until the next pass if the cache had an old LoadTest.
const staleInterval = 200 * time.Millisecond

// notLeadingInterval is the time between two looks whether this process may decide again.
const notLeadingInterval = time.Second

// syncFunc does one thing of a pass and notes what it found in the scope. It returns false to end the pass. The status is written even then.
type syncFunc func(context.Context, *scope) (bool, error)

// phase returns the functions of a pass, which depend on how far the run is. A pass that decides the start or the end is over with that: it asks
// for another one.
func (r *reconciler) phase(s *scope) []syncFunc {
	switch {
	case s.Record.End != nil:
		return []syncFunc{r.syncRelease, r.syncEdited}
	case s.StartDecided():
		return []syncFunc{
			r.syncStoredPlan, r.syncLive, r.syncView, r.syncNext, r.syncCollector, r.syncRunning, r.syncFinish,
		}
	case s.Stored:
	case s.LoadTest.Status.CompletionTime != nil: // the record was deleted: only status is left
		return []syncFunc{r.syncLeftovers}
	case s.startedBefore():
		return []syncFunc{r.syncNoRecord}
	}
	return []syncFunc{r.syncGates}
}

// Reconcile is one pass. It ends with the first write after the lease ran out.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.leader.Leading() { // the collector continues: it polls runners, and decides nothing
		return ctrl.Result{RequeueAfter: notLeadingInterval}, nil
	}
	result, err := r.pass(ctx, req)
	if errors.Is(err, leadership.ErrNotLeading) {
		return ctrl.Result{RequeueAfter: notLeadingInterval}, nil
	}
	return result, err
}

func (r *reconciler) pass(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lt := &v1alpha1.LoadTest{}
	err := r.client.Get(ctx, req.NamespacedName, lt)
	if apierrors.IsNotFound(err) {
		r.vanish(req)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading the LoadTest: %w", err)
	}
	if lt.DeletionTimestamp != nil {
		return ctrl.Result{}, r.endDeleted(ctx, lt)
	}
	if r.memory.of(lt).terminating {
		return ctrl.Result{}, nil
	}
	r.registry.Abort(req.NamespacedName, lt.UID) // of an earlier LoadTest of the same name
	lt = r.memory.newest(lt)
	s, err := r.read(ctx, lt)
	if err != nil {
		return ctrl.Result{}, r.unreadable(ctx, lt, err)
	}
	syncErr := r.run(ctx, s)
	if apierrors.HasStatusCause(syncErr, corev1.NamespaceTerminatingCause) {
		r.abandon(ctx, lt)
		return ctrl.Result{}, nil
	}
	if errors.Is(syncErr, errRefused) {
		syncErr = nil
	}
	if w, ok := s.refusedError(syncErr); ok {
		s.Refuse(w)
		syncErr = nil
	}
	s.Failing = r.memory.of(lt).failing(syncErr)
	err = r.write(ctx, s)
	if apierrors.IsConflict(err) { // a user edited the spec, or an earlier operator wrote last: look again
		return ctrl.Result{RequeueAfter: staleInterval}, nil
	}
	if err != nil {
		return r.statusRefused(ctx, lt, err)
	}
	if syncErr != nil {
		return ctrl.Result{}, syncErr
	}
	return ctrl.Result{RequeueAfter: s.Requeue}, nil
}

// abandon ends a run whose namespace is being deleted. The API server stores nothing of it any more.
func (r *reconciler) abandon(ctx context.Context, lt *v1alpha1.LoadTest) {
	ctrl.LoggerFrom(ctx).Info("The run ends without a result, because its namespace is being deleted")
	r.memory.of(lt).terminating = true
	r.registry.Abort(client.ObjectKeyFromObject(lt), "")
}

// vanish forgets a LoadTest that was deleted, and ends its load.
func (r *reconciler) vanish(req ctrl.Request) {
	r.registry.Abort(req.NamespacedName, "")
	r.records.Forget(r.memory.forget(req.NamespacedName))
	r.pace.forget(req.NamespacedName)
	r.metrics.Forget(req.NamespacedName)
}

func (r *reconciler) run(ctx context.Context, s *scope) error {
	for _, sync := range r.phase(s) {
		if next, err := sync(ctx, s); err != nil || !next {
			return err
		}
	}
	return nil
}

// write patches the status if it has changed, and sends the events of the change.
func (r *reconciler) write(ctx context.Context, s *scope) error {
	before := s.LoadTest.Status.DeepCopy()
	whole := status.Of(s.Facts)
	after := status.Brief(whole)
	if equality.Semantic.DeepEqual(before, after) {
		r.metrics.Observe(s.Key(), before, after) // an operator that has just begun knows nothing yet
		return nil
	}
	if wait := r.pace.wait(s.Key(), s.Now); wait > 0 && !status.Urgent(before, after) {
		s.Again(wait)
		r.metrics.Observe(s.Key(), before, after)
		return nil
	}
	written := s.LoadTest.DeepCopy()
	written.Status = *after
	err := r.patchStatus(ctx, s.LoadTest, written)
	if apierrors.IsNotFound(err) {
		return nil // its deletion brings the next pass
	}
	if err != nil {
		return err
	}
	r.pace.wrote(s.Key(), after, s.Now)
	r.memory.of(s.LoadTest).statusRefused = false
	r.metrics.Observe(s.Key(), before, after)
	// Events about shards need all of them. An operator that has just started has seen no transition.
	known := r.memory.of(s.LoadTest)
	if before.Runners = known.runners; known.runners == nil {
		before.Runners = whole.Runners
	}
	if !s.TakenOver() {
		known.runners = whole.Runners
	}
	event.Send(ctx, r.events, written, status.Events(before, whole))
	return nil
}

// patchStatus writes the status of written, which is lt otherwise. What follows from an old status must not be written: a transition would be
// reported twice. So it is a conflict if lt is not the newest version.
func (r *reconciler) patchStatus(ctx context.Context, lt, written *v1alpha1.LoadTest) error {
	err := r.client.Status().Patch(ctx, written, client.MergeFromWithOptions(lt, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.memory.wrote(lt, written)
	return nil
}
