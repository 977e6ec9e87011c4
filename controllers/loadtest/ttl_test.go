package loadtest

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// A TTL without effect is reported once, in the message of Finished and as an event.
func TestTTLIgnoredIsReported(t *testing.T) {
	s := newScope(func(s *scope) {
		s.LoadTest.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
		s.LoadTest.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "app"}
		s.Blocked = run.Invalid(v1alpha1.ReasonInvalidSpec, "spec.chains: wrong")
	})
	before := s.LoadTest.Status.DeepCopy()
	after := statusOf(s, now)
	if !ttlIgnored(after) {
		t.Fatalf("conditions %+v", after.Conditions)
	}
	events := eventsOf(before, after)
	if last := events[len(events)-1]; last.reason != v1alpha1.ReasonTTLIgnored || !last.warning {
		t.Errorf("events %+v", events)
	}
	s.LoadTest.Status = *after
	if again := eventsOf(after, statusOf(s, now)); len(again) > 0 {
		t.Errorf("events %+v", again)
	}
	s.LoadTest.Spec.TTLSecondsAfterFinished = nil
	if st := statusOf(s, now); ttlIgnored(st) {
		t.Errorf("without a TTL: conditions %+v", st.Conditions)
	}
}
