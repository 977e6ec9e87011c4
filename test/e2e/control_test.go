//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestControlPort is story 7: nobody else in the cluster can read, start or steer a runner, not
// even with the certificate of a runner of the same run.
func TestControlPort(t *testing.T) {
	t.Parallel()
	s := newStory(t, "control").withTarget()
	s.apply(s.quickstart("guarded", 2, hold(1000, 25*time.Second), withoutThresholds))
	s.awaitLoad(1000, short)
	runner := s.runners()[0]
	address := fmt.Sprintf("%s:%d", runner.Status.PodIP, runnerv1.ControlPort)

	s.probe("stranger", controlSecret(t, runner), small, "control", address, "/tls")
	s.awaitPhase("stranger", corev1.PodSucceeded)
	log := s.mustKubectl("", "logs", "stranger")
	t.Logf("the stranger at %s:\n%s", address, log)
	s.wantRefusals(log)

	// And none of it had an effect.
	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/guarded", "--timeout=2m")
	lt := s.loadTest("guarded")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantSameAsTarget(lt)
}

// controlSecret is the Secret with the certificate of the run's runners.
func controlSecret(t *testing.T, runner corev1.Pod) string {
	t.Helper()
	for _, v := range runner.Spec.Volumes {
		if v.Secret != nil {
			return v.Secret.SecretName
		}
	}
	t.Fatal("the runner's pod mounts no Secret")
	return ""
}

// wantRefusals: every attempt over TLS ended in the handshake or with 401 or 403, the one in
// plaintext with 400 at most, and all of them were made.
func (s *story) wantRefusals(log string) {
	s.Helper()
	attempts := map[string]int{}
	for line := range strings.Lines(log) {
		var a struct {
			As, Method, Path, Error, Body string
			Status                        int
		}
		s.must(json.Unmarshal([]byte(line), &a))
		attempts[a.As]++
		refused := a.Status == 401 || a.Status == 403 || a.Status == 0 && strings.Contains(a.Error, "tls: ")
		if a.As == "plaintext" {
			refused = a.Status == 0 || a.Status == 400
		}
		if !refused {
			s.Errorf("%s as %s was not refused: %+v", a.Path, a.As, a)
		}
	}
	for as, n := range map[string]int{"nobody": 3, "self-signed": 3, "runner": 3, "plaintext": 1} {
		if attempts[as] != n {
			s.Errorf("%d attempts as %s, want %d", attempts[as], as, n)
		}
	}
}
