package loadtest

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestReplaced: a LoadTest that was replaced has the generation of the one before, and brings a pass.
func TestReplaced(t *testing.T) {
	before, after := &v1alpha1.LoadTest{}, &v1alpha1.LoadTest{}
	before.UID = "before"
	for uid, want := range map[string]bool{"before": false, "after": true} {
		after.UID = types.UID(uid)
		if got := replaced().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != want {
			t.Errorf("UID %s: %v, want %v", uid, got, want)
		}
	}
}
