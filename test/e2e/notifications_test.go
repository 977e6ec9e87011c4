//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestNotifications: two shards subscribe 1,000 times a second and await the notifications, which come to the pods that have subscribed.
// The report has each notification that the target has sent.
func TestNotifications(t *testing.T) {
	s := newStory(t, "notifications")
	s.probe("notifier", "", small, "notify")
	s.awaitPhase("notifier", corev1.PodRunning)
	pod, err := core.CoreV1().Pods(s.ns).Get(s.ctx, "notifier", metav1.GetOptions{})
	s.must(err)
	const subscriptions = 4000
	s.eventually(short, func() string {
		if _, err := s.notified(); err != nil {
			return err.Error()
		}
		return ""
	})
	s.apply(s.quickstart("notifications", 2, func(spec *v1alpha1.LoadTestSpec) { subscribe(spec, "http://"+pod.Status.PodIP+":8080", subscriptions) }))
	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/notifications", "--timeout=2m")
	lt := s.loadTest("notifications")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	r := s.report(lt)
	sent, err := s.notified()
	s.must(err)
	l := &r.Listeners[0]
	t.Logf("FIGURE notifications over 2 shards: the target sent %d for %d subscriptions; %d in time, %d late, %d duplicate, %d unexpected, %d missing; p50 %d us, p99 %d us",
		sent.Sent, sent.Subscriptions, l.InTime, l.Late, l.Duplicate, l.Unexpected, l.Missing, l.Time.P50, l.Time.P99)
	if sent.Subscriptions != subscriptions || sent.Refused != 0 || r.Requests.Sent != subscriptions {
		t.Errorf("%+v, %d requests; want %d subscriptions", sent, r.Requests.Sent, subscriptions)
	}
	if l.Received != sent.Sent || l.Received != l.InTime+l.Late+l.Duplicate+l.Unexpected {
		t.Errorf("%+v; the target has sent %d", l.ListenerCounts, sent.Sent)
	}
	if l.Awaited != subscriptions || l.Awaited != l.InTime+l.Missing || l.Missing < subscriptions/200 || l.Time.Count != l.InTime {
		t.Errorf("%+v, %d times; want %d awaited, and %d of them missing at least", l.ListenerCounts, l.Time.Count, subscriptions, subscriptions/200)
	}
}

// subscribe makes a test subscribe at a target, and await a notification for each subscription.
func subscribe(spec *v1alpha1.LoadTestSpec, url string, n int64) {
	perSecond, created := int64(1000), []intstr.IntOrString{intstr.FromInt32(201)}
	request := &v1alpha1.Request{Expect: &v1alpha1.Expect{Status: created}}
	request.Method, request.Path, request.Body = "POST", "/subscriptions", `{"notificationUri": "${listener.events.url}/notify/${id}"}`
	spec.Targets[0].URL = url
	spec.Variables = []v1alpha1.Variable{{Name: "id", Counter: &v1alpha1.Counter{}}}
	spec.Listeners = []v1alpha1.Listener{{Name: "events", Keep: &metav1.Duration{Duration: 5 * time.Second}}}
	spec.Thresholds, spec.Templates = nil, nil
	spec.Rates = []v1alpha1.Rate{{Name: "steady", ChainsPerSecond: &perSecond, Duration: &metav1.Duration{Duration: time.Duration(n/perSecond) * time.Second}}}
	spec.Chains = []v1alpha1.Chain{{Name: "subscription", Target: spec.Targets[0].Name, Steps: []v1alpha1.Step{
		{Name: "subscribe", Request: request},
		{Name: "notification", Await: &v1alpha1.Await{
			Listener: "events", Match: v1alpha1.NotificationMatch{Path: "/notify/${id}"}, Timeout: &metav1.Duration{Duration: 5 * time.Second},
		}},
	}}}
}

// notified asks the notifier what it has sent.
func (s *story) notified() (out struct{ Subscriptions, Sent, Refused int64 }, err error) {
	raw, err := core.CoreV1().Pods(s.ns).ProxyGet("http", "notifier", "8080", "/notified", nil).DoRaw(s.ctx)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return out, fmt.Errorf("notifier: %w", err)
	}
	return out, nil
}
