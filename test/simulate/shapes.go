package simulate

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// limits are the thresholds of a test, by its argument limit.
var limits = [][]v1alpha1.Threshold{
	nil,
	{builder.ErrorRate("0%")},
	{ends(builder.ErrorRate("5%"))},
	{windowed(builder.P99("500ms"))},
	{builder.ErrorRate("20%"), ends(windowed(builder.P99("500ms")))},
}

// ends makes a threshold end the test.
func ends(t v1alpha1.Threshold) v1alpha1.Threshold {
	t.AbortOnFail, t.AbortAfter = true, &v1alpha1.Duration{Duration: 5 * time.Second}
	return t
}

func windowed(t v1alpha1.Threshold) v1alpha1.Threshold {
	t.Window = &v1alpha1.Duration{Duration: 5 * time.Second}
	return t
}

// expiries set when a LoadTest is deleted after its end, by the argument ttl.
var expiries = []func(*v1alpha1.LoadTestSpec){
	func(*v1alpha1.LoadTestSpec) {},
	func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](0) },
	func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](20) },
	func(s *v1alpha1.LoadTestSpec) {
		s.TTLSecondsByOutcome = &v1alpha1.TTLByOutcome{Passed: ptr.To[int32](5), Failed: ptr.To[int32](40)}
	},
}

// ttlOf returns after how long a test is deleted that has ended; nil: it stays.
func ttlOf(lt *v1alpha1.LoadTest) *int32 {
	if by := lt.Spec.TTLSecondsByOutcome; by != nil && lt.Status.Verdict != nil {
		return map[string]*int32{"Passed": by.Passed, "Failed": by.Failed}[lt.Status.Verdict.Outcome]
	}
	return lt.Spec.TTLSecondsAfterFinished
}
