//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
)

// TestLoadShare: the sample load-share on the two pods of a StatefulSet. Each gets its part of the
// connections, whichever shard they are of.
func TestLoadShare(t *testing.T) {
	t.Parallel()
	const name, members, connections = "load-share", 2, 8
	s := newStory(t, "share").withMembers(members)
	s.applySample(name, lessLoad, patient, func(spec *v1alpha1.LoadTestSpec) {
		// The name of a pod resolves some time after the pod is ready. Until then its connections would be those of the other pod.
		spec.Targets[0].Connecting = &v1alpha1.Connecting{Failover: new(false)}
		for _, r := range requests(spec) {
			r.Timeout = &v1alpha1.Duration{Duration: 30 * time.Second}
		}
	})
	lt := s.awaitFinished(name)

	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantFlawless(lt)
	sent, received := s.wantCounts(lt), uint64(0)
	for i := range members {
		st := s.memberStats(i)
		received += st.Requests
		t.Logf("member %d: %d connections, %d requests", i, st.Connections, st.Requests)
		if st.Connections != connections/members || st.Requests < sent/members*4/5 {
			t.Errorf("member %d: %d connections, %d of %d requests; want %d, and about a half", i, st.Connections, st.Requests, sent, connections/members)
		}
	}
	if received != sent {
		t.Errorf("the runners sent %d requests, the members received %d", sent, received)
	}
	publish, heartbeat := lt.Status.Results.Chains[0].Started, lt.Status.Results.Chains[1].Started
	if off := publish - 9*heartbeat; off < -20 || off > 20 { // a round of ten begun by each shard
		t.Errorf("%d publish, %d heartbeat; want 9 to 1", publish, heartbeat)
	}
}

// withMembers deploys config/target as a StatefulSet with a headless Service.
func (s *story) withMembers(n int32) *story {
	s.Helper()
	for doc := range strings.SplitSeq(s.mustKubectl("", "kustomize", targetDir), "\n---\n") {
		s.mustKubectl(s.memberOf(doc, n), "apply", "-f", "-")
	}
	s.mustKubectl("", "rollout", "status", "statefulset/target", "--timeout", short.String())
	return s
}

// memberOf makes a StatefulSet of a Deployment and a Service headless.
func (s *story) memberOf(doc string, n int32) string {
	s.Helper()
	var kind metav1.TypeMeta
	s.must(yaml.Unmarshal([]byte(doc), &kind))
	if kind.Kind == "Service" {
		var service corev1.Service
		s.must(yaml.UnmarshalStrict([]byte(doc), &service))
		service.Spec.ClusterIP = corev1.ClusterIPNone
		return s.manifest(&service)
	}
	var d appsv1.Deployment
	s.must(yaml.UnmarshalStrict([]byte(doc), &d))
	return s.manifest(&appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: d.ObjectMeta,
		Spec: appsv1.StatefulSetSpec{
			Replicas: &n, ServiceName: d.Name, PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: d.Spec.Selector, Template: d.Spec.Template,
		},
	})
}

func (s *story) memberStats(i int) mock.Stats {
	s.Helper()
	return s.awaitStats(core.CoreV1().Pods(s.ns).ProxyGet("http", fmt.Sprintf("target-%d", i), "8081", "/stats", nil))
}
