package controllers

import (
	"context"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
)

// TestControllersEnd: a controller with the queue of ManagerOptions ends although objects are added meanwhile. With the priority queue of
// controller-runtime 0.24, one of the first rounds did not end.
func TestControllersEnd(t *testing.T) {
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{})
	for round := range 20 {
		c, err := controller.NewUnmanaged("round-"+strconv.Itoa(round), controller.Options{
			UsePriorityQueue: ManagerOptions(cfg, nil).Controller.UsePriorityQueue, SkipNameValidation: ptr.To(true), MaxConcurrentReconciles: 20,
			Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Watch(source.Func(addObjects)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("round %d has not ended", round)
		}
		cancel()
	}
}

// addObjects adds objects to a queue until the controller ends.
func addObjects(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	for range 4 {
		go func() {
			for i := 0; ctx.Err() == nil; i++ {
				q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}})
			}
		}()
	}
	return nil
}
