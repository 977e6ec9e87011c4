package changes

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestOfSpec: an object that was replaced has the generation of the one before, and brings a pass.
func TestOfSpec(t *testing.T) {
	for _, tt := range []struct {
		uid        types.UID
		generation int64
		want       bool
	}{{"before", 1, false}, {"before", 2, true}, {"after", 1, true}} {
		before, after := &v1alpha1.LoadTestSchedule{}, &v1alpha1.LoadTestSchedule{}
		before.UID, before.Generation = "before", 1
		after.UID, after.Generation, after.Labels = tt.uid, tt.generation, map[string]string{"new": ""}
		if got := OfSpec().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tt.want {
			t.Errorf("UID %s, generation %d: %v, want %v", tt.uid, tt.generation, got, tt.want)
		}
	}
}
