package loadtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// loadtests/status patch: the one write of a pass.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests/status,verbs=patch

// reconciler brings LoadTests from apply to report.
type reconciler struct {
	observe  *observer
	perform  *performer
	report   *reporter
	registry *collect.Registry
	keeper   *checkpoint.Writer // stores the counts of running shards
	memory   *memory
}

// newReconciler returns a reconciler that lacks what Setup and tests give to it: collector, keeper, PKI, events,
// metrics.
func newReconciler(cfg *configv1alpha1.OperatorConfig, writer client.Client, reader client.Reader,
	rules *addressRules) *reconciler {
	known := newMemory(reader, writer, time.Second)
	return &reconciler{
		observe: &observer{cfg: cfg, client: writer, reader: reader, memory: known, rules: rules, clock: time.Now,
			address: controlAddress},
		perform: &performer{client: writer, reader: reader, memory: known},
		report:  &reporter{client: writer, memory: known, clock: time.Now},
		memory:  known,
	}
}

// staleInterval is the time until the next pass if the cache had an old LoadTest.
const staleInterval = 200 * time.Millisecond

// phase makes the pass of the phase that the run is in. A pass that decides the start or the end is over with that: it
// asks for another one.
func (r *reconciler) phase(ctx context.Context, f *run.Facts) error {
	switch {
	case f.Record.End != nil:
		return r.finished(ctx, f)
	case f.StartDecided():
		return r.running(ctx, f)
	case f.Stored:
	case f.LoadTest.Status.CompletionTime != nil: // the record was deleted: only status is left
		return r.leftovers(ctx, f)
	case f.LoadTest.Status.StartTime != nil: // it must not start again
		return r.noRecord(ctx, f)
	}
	return r.starting(ctx, f)
}

// Reconcile is one pass. No pass begins while this process may not decide (leadership.Reconciler). The collector
// continues: it polls runners, and decides nothing.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lt := &v1alpha1.LoadTest{}
	err := r.observe.client.Get(ctx, req.NamespacedName, lt)
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
	lt = r.memory.of(lt).newest(lt)
	f, err := r.observe.facts(ctx, lt)
	if err != nil {
		return ctrl.Result{}, r.report.unreadable(ctx, lt, err)
	}
	syncErr := r.phase(ctx, f)
	if apierrors.HasStatusCause(syncErr, corev1.NamespaceTerminatingCause) {
		r.abandon(ctx, lt)
		return ctrl.Result{}, nil
	}
	if errors.Is(syncErr, errRefused) {
		syncErr = nil
	}
	if w, ok := refusedError(f, syncErr); ok {
		f.Refuse(w)
		syncErr = nil
	}
	f.Failing = r.memory.of(lt).failing(syncErr)
	err = r.report.status(ctx, f)
	if apierrors.IsConflict(err) { // a user edited the spec, or an earlier operator wrote last: look again
		return ctrl.Result{RequeueAfter: staleInterval}, nil
	}
	if err != nil {
		return r.report.statusRefused(ctx, lt, err)
	}
	if syncErr != nil {
		return ctrl.Result{}, syncErr
	}
	return ctrl.Result{RequeueAfter: f.Requeue}, nil
}

// abandon ends a run whose namespace is being deleted. The API server stores nothing of it any more.
func (r *reconciler) abandon(ctx context.Context, lt *v1alpha1.LoadTest) {
	ctrl.LoggerFrom(ctx).Info("The run ends without a result, because its namespace is being deleted")
	r.memory.of(lt).terminating = true
	r.registry.Abort(client.ObjectKeyFromObject(lt), "")
}
