//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// notifyingRules notify each subscriber, but not all of them once.
const notifyingRules = `apiVersion: h2surge.io/v1alpha1
kind: Target
rules:
  - name: subscribe
    match: {method: POST, path: /subscriptions}
    resource: {collection: subscriptions, action: create}
    notify:
      - {name: created, uri: "${json:/notificationUri}", body: '{"event":"created"}', unsent: 0.5%, sentTwice: 0.5%}
`

// TestNotifications: two shards subscribe 1,000 times a second and await the notifications, which come to the pods that have subscribed.
// The report has each notification that the target has sent.
func TestNotifications(t *testing.T) {
	t.Parallel()
	s := newStory(t, "notifications")
	file := filepath.Join(t.TempDir(), "rules.yaml")
	s.must(os.WriteFile(file, []byte(notifyingRules), 0o600))
	s.withRules(file)
	const subscriptions = 4000
	s.apply(s.quickstart("notifications", 2, func(spec *v1alpha1.LoadTestSpec) { subscribe(spec, subscriptions) }))
	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/notifications", "--timeout=2m")
	lt := s.loadTest("notifications")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	r, n := s.report(lt), s.stats().Notifications[0]
	l := &r.Listeners[0]
	t.Logf("FIGURE notifications over 2 shards: the target sent %d for %d subscriptions; %d in time, %d late, %d duplicate, %d unexpected, %d missing; p50 %d us, p99 %d us",
		n.Sent, n.Requested, l.InTime, l.Late, l.Duplicate, l.Unexpected, l.Missing, l.Time.P50, l.Time.P99)
	if n.Requested != subscriptions || n.Answered != n.Sent || n.Sent != subscriptions-n.Unsent+n.SentTwice || r.Requests.Sent != subscriptions {
		t.Errorf("%+v, %d requests; want %d subscriptions", n, r.Requests.Sent, subscriptions)
	}
	if l.Received != int64(n.Sent) || l.Received != l.InTime+l.Late+l.Duplicate+l.Unexpected {
		t.Errorf("%+v; the target has sent %+v", l.ListenerCounts, n)
	}
	if l.Awaited != subscriptions || l.Awaited != l.InTime+l.Missing || l.Missing < int64(n.Unsent) || l.Time.Count-l.Time.Unanswered != l.InTime {
		t.Errorf("%+v, %d times; want %d awaited, and %d of them missing at least", l.ListenerCounts, l.Time.Count, subscriptions, n.Unsent)
	}
}

// TestNotificationsOverTLS: the URL of a listener with TLS has the name of the pod, which the target resolves. The target does not verify the
// certificate, because each runner signs its own. The Service for the names is deleted with the LoadTest.
func TestNotificationsOverTLS(t *testing.T) {
	t.Parallel()
	s := newStory(t, "notifications-tls")
	file := filepath.Join(t.TempDir(), "rules.yaml")
	s.must(os.WriteFile(file, []byte(notifyingRules+"callbacks: {insecureSkipVerify: true}\n"), 0o600))
	s.withRules(file)
	const subscriptions = 2000
	s.apply(s.quickstart("secure", 2, func(spec *v1alpha1.LoadTestSpec) {
		subscribe(spec, subscriptions)
		spec.Listeners[0].TLS = &v1alpha1.ListenerTLS{} // a certificate that the runner makes
	}))
	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/secure", "--timeout=2m")
	lt := s.loadTest("secure")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	r, n := s.report(lt), s.stats().Notifications[0]
	l := &r.Listeners[0]
	if n.Requested != subscriptions || n.Answered != n.Sent || l.Received != int64(n.Sent) || l.InTime < subscriptions*9/10 || l.FailedHandshakes != 0 {
		t.Errorf("%+v; the target has sent %+v", l.ListenerCounts, n)
	}
	service, err := core.CoreV1().Services(s.ns).Get(s.ctx, "listeners-secure", metav1.GetOptions{})
	s.must(err)
	if !metav1.IsControlledBy(service, lt) {
		t.Errorf("the Service belongs to %v", service.OwnerReferences)
	}
	s.mustKubectl("", "delete", "loadtest", "secure")
	s.eventually(short, func() string {
		_, err := core.CoreV1().Services(s.ns).Get(s.ctx, "listeners-secure", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return "the Service exists"
	})
}

// subscribe makes a test subscribe at a target, and await a notification for each subscription.
func subscribe(spec *v1alpha1.LoadTestSpec, n int64) {
	perSecond, created := int64(1000), []intstr.IntOrString{intstr.FromInt32(201)}
	request := &v1alpha1.Request{Expect: &v1alpha1.Expect{Status: created}}
	request.Method, request.Path, request.Body = "POST", "/subscriptions", `{"notificationUri": "${listener.events.url}/notify/${id}"}`
	spec.Variables = []v1alpha1.Variable{{Name: "id", Counter: &v1alpha1.Counter{}}}
	spec.Listeners = []v1alpha1.Listener{{Name: "events", Retention: &v1alpha1.Duration{Duration: 5 * time.Second}}}
	spec.Thresholds, spec.Templates = nil, nil
	spec.Rates = []v1alpha1.Rate{{Name: "steady", ChainsPerSecond: &perSecond, Duration: &v1alpha1.Duration{Duration: time.Duration(n/perSecond) * time.Second}}}
	spec.Chains = []v1alpha1.Chain{{Name: "subscription", Target: spec.Targets[0].Name, Steps: []v1alpha1.Step{
		{Name: "subscribe", Request: request},
		{Name: "notification", Await: &v1alpha1.Await{
			Listener: "events", Match: v1alpha1.NotificationMatch{Path: "/notify/${id}"}, Timeout: &v1alpha1.Duration{Duration: 5 * time.Second},
		}},
	}}}
}
