package simulate

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// of returns an entry of a table. The first one is none of the others, and half of the numbers mean it, so that many
// tests are plain.
func of[T any](table []T, n int) T {
	if n >= len(table) {
		n = 0
	}
	return table[n]
}

// most is the highest number for of.
func most[T any](table []T) int64 { return 2*int64(len(table)) - 3 }

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

// features are what a test has besides its load, by its argument feature.
var features = []func(*v1alpha1.LoadTestSpec){
	func(*v1alpha1.LoadTestSpec) {},
	withRows, withListener, withTLS, withSecondTarget, withSearch,
}

// withRows inserts a value of a table in each request.
func withRows(s *v1alpha1.LoadTestSpec) {
	s.Variables = append(s.Variables, v1alpha1.Variable{Name: "row", CSV: &v1alpha1.CSV{
		ConfigMapKeyRef: &v1alpha1.KeyReference{Name: rowsName, Key: rowsKey}}})
	s.Templates[0].Headers = append(s.Templates[0].Headers, v1alpha1.Header{Name: "x-row", Value: ptr.To("${row.id}")})
}

// callback is the header field with the URL of a notification.
const callback = "callback"

// withListener waits for a notification after each request.
func withListener(s *v1alpha1.LoadTestSpec) {
	s.Listeners = []v1alpha1.Listener{{Name: "events"}}
	s.Templates[0].Headers = append(s.Templates[0].Headers, v1alpha1.Header{Name: callback,
		Value: ptr.To("${listener.events.url}/${n}")})
	s.Chains[0].Steps = append(s.Chains[0].Steps, v1alpha1.Step{Name: "notified",
		Await: &v1alpha1.Await{Listener: "events",
			Match: v1alpha1.NotificationMatch{Path: "/${n}"}, Timeout: &v1alpha1.Duration{Duration: 2 * time.Second}}})
}

// withTLS sends to the target with mutual TLS.
func withTLS(s *v1alpha1.LoadTestSpec) {
	s.Targets[0].URL, s.Targets[0].Protocol = "https://"+tlsAddress+targetPort, ""
	s.Targets[0].TLS = &v1alpha1.TLS{
		CAFrom:      &v1alpha1.ContentSource{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: authorityName, Key: authorityKey}},
		Certificate: &v1alpha1.ClientCertificate{SecretRef: &v1alpha1.SecretReference{Name: clientName}}}
}

// withSecondTarget sends each second request to another target.
func withSecondTarget(s *v1alpha1.LoadTestSpec) {
	s.GracefulStop = nil // what it lets be sent is not in status
	s.Targets = append(s.Targets, v1alpha1.Target{Name: "second", URL: "http://" + h2cAddress})
	s.Templates = append(s.Templates, v1alpha1.Template{Name: "second"})
	s.Chains[0].Steps = append(s.Chains[0].Steps, v1alpha1.Step{Template: "second", Target: "second"})
}

// withSearch searches for the highest rate.
func withSearch(s *v1alpha1.LoadTestSpec) {
	rate := ptr.Deref(s.Rates[0].RequestsPerSecond, 20)
	warm := builder.PerSecond("hold", rate, 2*time.Second)
	warm.WarmUp = true
	s.Rates, s.Thresholds = []v1alpha1.Rate{warm}, limits[1]
	s.Search = &v1alpha1.Search{Start: rate, Max: 2 * rate, Precision: "50%",
		ProbeDuration:  &v1alpha1.Duration{Duration: 3 * time.Second},
		SettleDuration: &v1alpha1.Duration{Duration: 500 * time.Millisecond}, MaxProbes: 8}
}
