//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// deployDir is the kustomization, config/default with the image under test, by which the operator was
// installed. hack/e2e.sh makes it.
var deployDir = os.Getenv("E2E_DEPLOY_DIR")

// TestInstall comes after all other stories, which have run with what it removes.
func TestInstall(t *testing.T) {
	t.Run("kustomize", installedByKustomize)
	t.Run("chart", installedByHelm)
	t.Run("namespaced", installedInNamespaces)
}

// installedByKustomize: what all other stories ran with is "kubectl apply -k config/default" on a cluster
// without h2surge; "kubectl delete -k" leaves nothing of it.
func installedByKustomize(t *testing.T) {
	s := newStory(t, "kustomize").withTarget()
	if made := s.labelled("app.kubernetes.io/part-of=h2surge"); !slices.Contains(made, "Deployment h2surge-system/h2surge-controller-manager") ||
		!slices.Contains(made, "CustomResourceDefinition /loadtests.h2surge.io") || slices.ContainsFunc(made, isRelease) {
		t.Fatalf("h2surge is not installed by kustomize: %q", made)
	}
	s.apply(s.quickstart("short", 1, hold(200, 2*time.Second), withoutThresholds))
	lt := s.awaitCondition("short", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)

	begun := time.Now()
	s.withoutOperator()
	t.Logf("FIGURE kubectl delete -k takes %v", time.Since(begun).Round(100*time.Millisecond))
	if left := s.labelled("app.kubernetes.io/part-of=h2surge"); len(left) > 0 {
		t.Errorf("kubectl delete -k leaves %q", left)
	}
}

// isRelease: the Secret of a Helm release.
func isRelease(object string) bool { return strings.Contains(object, "sh.helm.release") }

// withoutOperator removes what kustomize has installed, if it has: the CRD, and with it all LoadTests,
// and the operator's namespace with all that is in it.
func (s *story) withoutOperator() {
	s.Helper()
	if deployDir == "" {
		s.Fatal("E2E_DEPLOY_DIR is not set: run make e2e")
	}
	out, err := exec.Command("kubectl", "delete", "-k", deployDir, "--ignore-not-found", "--timeout", short.String()).CombinedOutput()
	if err != nil {
		s.Fatalf("kubectl delete -k: %v\n%s", err, out)
	}
	s.awaitGone(operatorNamespace)
}

// labelled are all objects of the cluster with a label, of whatever kind, but for events: "Kind
// namespace/name", sorted.
func (s *story) labelled(selector string) []string {
	s.Helper()
	kinds := strings.Fields(s.mustKubectl("", "api-resources", "--verbs=list,delete", "-o", "name"))
	return s.list(kinds, "--all-namespaces", "--selector", selector)
}

// within are all objects of a namespace, but for events and what every namespace has.
func (s *story) within(namespace string) []string {
	s.Helper()
	kinds := strings.Fields(s.mustKubectl("", "api-resources", "--verbs=list,delete", "--namespaced", "-o", "name"))
	return slices.DeleteFunc(s.list(kinds, "--namespace", namespace), func(o string) bool {
		return o == "ServiceAccount "+namespace+"/default" || o == "ConfigMap "+namespace+"/kube-root-ca.crt"
	})
}

func (s *story) list(kinds []string, args ...string) []string {
	s.Helper()
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return strings.HasPrefix(k, "events") })
	format := `jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}`
	out := s.mustKubectl("", append([]string{"get", strings.Join(kinds, ","), "-o", format, "--ignore-not-found"}, args...)...)
	lines := slices.DeleteFunc(strings.Split(out, "\n"), func(l string) bool { return l == "" || strings.HasPrefix(l, "Warning: ") })
	slices.Sort(lines)
	return slices.Compact(lines)
}
