package status

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

// A TTL without effect is reported once, in the message of Finished and as an event.
func TestTTLIgnoredIsReported(t *testing.T) {
	s := runtest.New(func(s *run.Facts) {
		s.LoadTest.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
		s.LoadTest.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "app"}
		s.Blocked = run.Invalid(v1alpha1.ReasonInvalidSpec, "spec.chains: wrong")
	})
	before := s.LoadTest.Status.DeepCopy()
	after := Of(s)
	if !ttlIgnored(after) {
		t.Fatalf("conditions %+v", after.Conditions)
	}
	events := Events(before, after)
	if last := events[len(events)-1]; last.Reason != v1alpha1.ReasonTTLIgnored || !last.Warning {
		t.Errorf("events %+v", events)
	}
	s.LoadTest.Status = *after
	if again := Events(after, Of(s)); len(again) > 0 {
		t.Errorf("events %+v", again)
	}
	s.LoadTest.Spec.TTLSecondsAfterFinished = nil
	if st := Of(s); ttlIgnored(st) {
		t.Errorf("without a TTL: conditions %+v", st.Conditions)
	}
}
