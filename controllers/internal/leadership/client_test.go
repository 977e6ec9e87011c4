package leadership

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestClientAsksBeforeEachWrite: a process that does not lead reads, and writes nothing.
func TestClientAsksBeforeEachWrite(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = "ns", "a"
	c := fake.NewClientBuilder().WithStatusSubresource(pod).WithObjects(pod).Build()
	leads := false
	g, ctx := Client(c, func() bool { return leads }), t.Context()
	if err := g.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	other := &corev1.Pod{}
	other.Namespace, other.Name = "ns", "b"
	for _, w := range []struct {
		name  string
		write func() error
	}{
		{"create", func() error { return g.Create(ctx, other) }},
		{"update", func() error { return g.Update(ctx, pod) }},
		{"patch", func() error { return g.Patch(ctx, pod, client.MergeFrom(pod.DeepCopy())) }},
		{"patch of the status", func() error { return g.Status().Patch(ctx, pod, client.MergeFrom(pod.DeepCopy())) }},
		{"apply", func() error { return g.Apply(ctx, applycorev1.Pod("b", "ns"), client.FieldOwner("h2surge")) }},
		{"delete", func() error { return g.Delete(ctx, pod) }},
		{"delete all", func() error { return g.DeleteAllOf(ctx, other, client.InNamespace("ns")) }},
	} {
		leads = false
		if err := w.write(); !errors.Is(err, ErrNotLeading) {
			t.Errorf("%s without the lease: %v", w.name, err)
		}
		leads = true
		if err := w.write(); err != nil {
			t.Errorf("%s with the lease: %v", w.name, err)
		}
	}
}

// TestReconciler: a pass begins only with the lease, and comes again if the lease ran out during it.
func TestReconciler(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		name    string
		leads   bool
		err     error
		passes  int
		again   time.Duration
		wantErr error
	}{
		{"with the lease", true, nil, 1, time.Hour, nil},
		{"without the lease", false, nil, 0, retryInterval, nil},
		{"lease runs out", true, fmt.Errorf("writing: %w", ErrNotLeading), 1, retryInterval, nil},
		{"another error", true, failed, 1, time.Hour, failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			passes := 0
			r := Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				passes++
				return reconcile.Result{RequeueAfter: time.Hour}, tt.err
			}), func() bool { return tt.leads })
			got, err := r.Reconcile(context.Background(), reconcile.Request{})
			if passes != tt.passes || got.RequeueAfter != tt.again || !errors.Is(err, tt.wantErr) {
				t.Errorf("%d passes, again after %v, error %v", passes, got.RequeueAfter, err)
			}
		})
	}
}
