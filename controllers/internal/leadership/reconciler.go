package leadership

import (
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// retryInterval is the time between two looks whether this process may decide again.
const retryInterval = time.Second

// Reconciler returns a reconciler whose passes begin only while this process may decide. A pass ends with the first
// write that Client refuses. Such a pass comes again.
func Reconciler(r reconcile.Reconciler, leading func() bool) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		if !leading() {
			return ctrl.Result{RequeueAfter: retryInterval}, nil
		}
		result, err := r.Reconcile(ctx, req)
		if errors.Is(err, ErrNotLeading) {
			return ctrl.Result{RequeueAfter: retryInterval}, nil
		}
		return result, err
	})
}
