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
	"github.com/h2surge/h2surge/controllers/internal/pki"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// loadtests/status patch: the one write of a pass.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests/status,verbs=patch

// reconciler brings LoadTests from apply to report.
type reconciler struct {
	cfg      *configv1alpha1.OperatorConfig
	client   client.Client
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
}

// staleInterval is how long a pass waits that had an old LoadTest: the cache has the new one by then, or is asked again.
const staleInterval = 200 * time.Millisecond

// notLeadingInterval is the time between two looks whether this process may decide again.
const notLeadingInterval = time.Second

// phase does one thing of a pass and records what it found in the scope. It returns false to
// end the pass: the status is written nonetheless.
type phase func(context.Context, *scope) (bool, error)

// phases in the order of a run.
func (r *reconciler) phases() []phase {
	return []phase{
		r.planPhase, r.livePhase, r.runnersPhase, r.collectPhase, r.startPhase, r.recordsPhase, r.fencePhase, r.appliedPhase,
		r.scalePhase, r.finishPhase, r.disruptionPhase, r.releasePhase, r.editedPhase, r.ttlPhase,
	}
}

// Reconcile is one pass.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.leader.Leading() { // the collector continues: it polls runners, and decides nothing
		return ctrl.Result{RequeueAfter: notLeadingInterval}, nil
	}
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
	if r.memory.of(lt).doomed {
		return ctrl.Result{}, nil
	}
	r.registry.Abort(req.NamespacedName, lt.UID) // of an earlier LoadTest of the same name
	s, err := r.read(ctx, r.memory.newest(lt))
	if err != nil {
		return ctrl.Result{}, err
	}
	phaseErr := r.run(ctx, s)
	if apierrors.HasStatusCause(phaseErr, corev1.NamespaceTerminatingCause) {
		r.doom(ctx, lt)
		return ctrl.Result{}, nil
	}
	if s.gone {
		return ctrl.Result{}, nil
	}
	if errors.Is(phaseErr, errRefused) {
		phaseErr = nil
	}
	if w, ok := s.refusedError(phaseErr); ok {
		s.refuse(w)
		phaseErr = nil
	}
	err = r.write(ctx, s)
	if apierrors.IsConflict(err) { // a user edited the spec, or an earlier operator wrote last: look again
		return ctrl.Result{RequeueAfter: staleInterval}, nil
	}
	if err != nil {
		return r.statusRefused(ctx, lt, err)
	}
	if phaseErr != nil {
		return ctrl.Result{}, phaseErr
	}
	return ctrl.Result{RequeueAfter: s.requeue}, nil
}

// doom ends a run whose namespace is being deleted: nothing of it can be stored any more, and its pods may be
// gone before the LoadTest itself is.
func (r *reconciler) doom(ctx context.Context, lt *v1alpha1.LoadTest) {
	ctrl.LoggerFrom(ctx).Info("The run ends without a result, because its namespace is being deleted")
	r.memory.of(lt).doomed = true
	r.registry.Abort(client.ObjectKeyFromObject(lt), "")
}

// vanish ends all that is known of a LoadTest that was deleted.
func (r *reconciler) vanish(req ctrl.Request) {
	r.registry.Abort(req.NamespacedName, "")
	r.records.Forget(r.memory.forget(req.NamespacedName))
	r.pace.forget(req.NamespacedName)
	r.metrics.Forget(req.NamespacedName)
}

func (r *reconciler) run(ctx context.Context, s *scope) error {
	phases := r.phases()
	switch {
	case s.recorded:
	case s.lt.Status.CompletionTime != nil: // the record was deleted: only status is left
		phases = []phase{r.leftoversPhase, r.ttlPhase}
	case s.startedBefore():
		phases = []phase{r.noRecordPhase, r.releasePhase, r.ttlPhase}
	}
	for _, p := range phases {
		if next, err := p(ctx, s); err != nil || !next {
			return err
		}
	}
	return nil
}

// write patches the status if it has changed, and tells the world what has.
func (r *reconciler) write(ctx context.Context, s *scope) error {
	before := s.lt.Status.DeepCopy()
	whole := statusOf(s, s.now)
	after := brief(whole)
	if equality.Semantic.DeepEqual(before, after) {
		r.metrics.Observe(s.key(), before, after) // an operator that has just begun knows nothing yet
		return nil
	}
	if wait := r.pace.wait(s.key(), s.now); wait > 0 && !urgent(before, after) {
		s.again(wait)
		r.metrics.Observe(s.key(), before, after)
		return nil
	}
	written := s.lt.DeepCopy()
	written.Status = *after
	// What follows from an old status must not be written: a transition would be reported twice.
	err := r.client.Status().Patch(ctx, written, client.MergeFromWithOptions(s.lt, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil // its deletion brings the next pass
	}
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.memory.wrote(s.lt, written)
	r.pace.wrote(s.key(), after, s.now)
	r.memory.of(s.lt).statusRefused = false
	r.metrics.Observe(s.key(), before, after)
	// Events about shards need all of them. An operator that has just started has seen no transition.
	known := r.memory.of(s.lt)
	if before.Runners = known.runners; known.runners == nil {
		before.Runners = whole.Runners
	}
	if !s.takenOver() {
		known.runners = whole.Runners
	}
	r.sendEvents(written, eventsOf(before, whole))
	return nil
}
