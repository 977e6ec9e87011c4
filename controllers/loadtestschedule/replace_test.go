package loadtestschedule

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// A LoadTest that finished after the cache read it is not deleted before the status has its verdict.
func TestReplaceOfOneThatFinished(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.LoadTestScheduleSpec) { s.ConcurrencyPolicy = v1alpha1.ConcurrencyReplace })
	w.at("01:00:00")
	before := &v1alpha1.LoadTestList{}
	w.must(w.client.List(t.Context(), before))
	w.finish("01:00", "Passed")
	w.r.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			before.DeepCopyInto(list.(*v1alpha1.LoadTestList))
			return nil
		},
	})
	w.at("02:00:00")
	w.wantTests("01:00")
	if w.requeue != staleInterval {
		t.Errorf("the next pass comes after %v", w.requeue)
	}
	w.r.client = w.client
	st := w.at("02:00:01")
	w.wantTests("01:00", "02:00")
	if st.LastFinished == nil || st.LastFinished.Outcome != "Passed" {
		t.Errorf("status %+v", st)
	}
}
