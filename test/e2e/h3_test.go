//go:build e2e

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestHTTP3: two shards load the UDP port of a Service, and the target has received what they sent.
func TestHTTP3(t *testing.T) {
	t.Parallel()
	s := newStory(t, "h3").withTarget("--h3-listen", ":8443")
	s.mustKubectl("", "patch", "service", "target", "--patch", `{"spec": {"ports": [{"name": "h3", "port": 8443, "protocol": "UDP"}]}}`)
	s.apply(s.quickstart("h3", 2, hold(400, 5*time.Second), withoutThresholds, patient, func(spec *v1alpha1.LoadTestSpec) {
		target := &spec.Targets[0]
		target.URL, target.Protocol = "https://target:8443", v1alpha1.ProtocolH3
		target.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
	}))
	lt := s.awaitFinished("h3")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantFlawless(lt)
	s.wantSameAsTarget(lt)
}
