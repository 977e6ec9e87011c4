//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/internal/mock"
)

// withTarget deploys config/target, whose Service is "target", with more arguments if need be, and
// waits until it answers.
func (s *story) withTarget(args ...string) *story {
	s.Helper()
	s.deployTarget(targetDir, args)
	return s
}

// withRules deploys config/target-rules with the rules of a file, and the files that these name.
func (s *story) withRules(file string, named ...string) *story {
	s.Helper()
	args := []string{"create", "configmap", "target-rules", "--from-file=rules.yaml=" + file}
	for _, name := range named {
		args = append(args, "--from-file="+name)
	}
	s.mustKubectl("", args...)
	s.deployTarget(rulesDir, nil)
	return s
}

func (s *story) deployTarget(dir string, args []string) {
	s.Helper()
	for doc := range strings.SplitSeq(s.mustKubectl("", "kustomize", dir), "\n---\n") {
		s.mustKubectl(s.withArguments(doc, args), "apply", "-f", "-")
	}
	s.mustKubectl("", "rollout", "status", "deployment/target", "--timeout", short.String())
	s.stats()
}

// withArguments adds arguments to the first container of a Deployment; other objects stay as they are.
func (s *story) withArguments(doc string, args []string) string {
	s.Helper()
	var kind metav1.TypeMeta
	s.must(yaml.Unmarshal([]byte(doc), &kind))
	if kind.Kind != "Deployment" || len(args) == 0 {
		return doc
	}
	var d appsv1.Deployment
	s.must(yaml.UnmarshalStrict([]byte(doc), &d))
	c := &d.Spec.Template.Spec.Containers[0]
	c.Args = append(c.Args, args...)
	return s.manifest(&d)
}

// stats asks the target what it has received, by way of the API server.
func (s *story) stats() mock.Stats {
	s.Helper()
	return s.awaitStats(core.CoreV1().Services(s.ns).ProxyGet("http", "target", "stats", "/stats", nil))
}

// awaitStats sends a request until it is answered: the API server forwards none while it learns of a pod, and a busy machine is late.
func (s *story) awaitStats(request rest.ResponseWrapper) (st mock.Stats) {
	s.Helper()
	s.eventually(short, func() string {
		b, err := request.DoRaw(s.ctx)
		if err == nil {
			err = json.Unmarshal(b, &st)
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return st
}

// awaitLoad waits until the target has received n requests.
func (s *story) awaitLoad(n uint64, within time.Duration) {
	s.Helper()
	s.eventually(within, func() string {
		if got := s.stats().Requests; got < n {
			return fmt.Sprintf("the target has %d requests, want %d", got, n)
		}
		return ""
	})
}

// lastRequest watches the target for the given time and tells when, after begun, its count last
// changed, and the count.
func (s *story) lastRequest(begun time.Time, watch time.Duration) (after time.Duration, n uint64) {
	s.Helper()
	for time.Since(begun) < watch {
		if now := s.stats().Requests; now != n {
			after, n = time.Since(begun), now
		}
		time.Sleep(poll / 2)
	}
	return after, n
}

// wantStopped logs when load ended after begun, by the target's own count, and fails if that was late. The mark is 2 s. On a busy machine
// everything is late, the target's count, too.
func (s *story) wantStopped(what string, begun time.Time) {
	s.Helper()
	const mark, bound = 2 * time.Second, 5 * time.Second
	after, n := s.lastRequest(begun, bound+3*time.Second)
	s.Logf("%s: the target's count last changed after %v, at %d requests; mark %v", what, after.Round(time.Millisecond), n, mark)
	if after > bound {
		s.Errorf("%s: load went on for %v, want at most %v", what, after, bound)
	}
	// The target's own seconds agree. Their times are cut to whole seconds, so none is told too late.
	st := s.stats()
	for i, count := range st.PerSecond {
		if second := time.Unix(st.PerSecondStart+int64(i), 0); count > 0 && second.After(begun.Add(bound)) {
			s.Errorf("%s: %d requests in the second of %v, it began at %v", what, count, second.UTC(), begun.UTC())
		}
	}
}
