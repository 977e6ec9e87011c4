package loadtest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

func TestOfUsers(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1alpha1.LoadTest)
		want   bool
	}{
		"the status":    {func(lt *v1alpha1.LoadTest) { lt.Status.Phase = v1alpha1.PhaseRunning }, false},
		"the spec":      {func(lt *v1alpha1.LoadTest) { lt.Generation = 2 }, true},
		"a label":       {func(lt *v1alpha1.LoadTest) { lt.Labels = map[string]string{"team": "core"} }, true},
		"an annotation": {func(lt *v1alpha1.LoadTest) { lt.Annotations = map[string]string{"team": "core"} }, true},
		"another one":   {func(lt *v1alpha1.LoadTest) { lt.UID = "another" }, true},
		"a deletion":    {func(lt *v1alpha1.LoadTest) { lt.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
	} {
		before := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{UID: "one", Generation: 1}}
		after := before.DeepCopy()
		tt.change(after)
		if got := ofUsers().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
