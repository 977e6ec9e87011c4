//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// installedInNamespaces: an administrator installs the CRDs. Two operators with Roles only then run the LoadTests of a namespace each. One
// is uninstalled, and the other one works as before.
func installedInNamespaces(t *testing.T) {
	const tenant = "tenant"
	a, b := newStory(t, "tenant-a").withTarget(), newStory(t, "tenant-b").withTarget()
	a.withoutOperator() // no two operators may watch the same namespace
	c := a.withCharts()
	a.mustKubectl("", "apply", "--server-side", "-k", "../../config/crd")
	for _, s := range []*story{a, b} {
		t.Cleanup(func() { _, _ = c.tryHelm("uninstall", tenant, "--namespace", s.ns, "--ignore-not-found") })
		c.helm("install", tenant, c.current, "--namespace", s.ns, "--wait",
			"--set", c.imageValues()+",crd.install=false,metrics.secure=false,watchNamespaces={"+s.ns+"}")
	}
	if made := a.mustKubectl("", "get", "clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/instance="+tenant, "-o", "name"); made != "" {
		t.Errorf("an operator of namespaces has %q", made)
	}
	user := "--as=system:serviceaccount:" + a.ns + ":tenant-h2surge-controller-manager"
	for _, right := range [][]string{{"create", "jobs.batch"}, {"get", "pods"}, {"patch", "loadtests.h2surge.io", "--subresource=status"}} {
		if out, _ := a.kubectl("", append([]string{"auth", "can-i", user}, right...)...); strings.TrimSpace(out) != "yes" {
			t.Errorf("the operator of %s may not %v in its namespace: %s", a.ns, right, out)
		}
		if out, _ := b.kubectl("", append([]string{"auth", "can-i", user}, right...)...); strings.TrimSpace(out) != "no" {
			t.Errorf("the operator of %s may %v in %s: %s", a.ns, right, b.ns, out)
		}
	}
	for _, s := range []*story{a, b} {
		s.apply(s.quickstart("own", 1, hold(200, 2*time.Second), withoutThresholds))
	}
	for _, s := range []*story{a, b} {
		lt := s.awaitFinished("own")
		s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
		s.wantSame(lt)
	}

	c.helm("uninstall", tenant, "--namespace", a.ns, "--wait")
	if left := a.mustKubectl("", "get", "roles,rolebindings,deployments,serviceaccounts", "-l", "app.kubernetes.io/instance="+tenant, "-o", "name"); left != "" {
		t.Errorf("helm uninstall leaves %q", left)
	}
	a.apply(a.quickstart("ignored", 1, hold(200, 2*time.Second), withoutThresholds))
	b.apply(b.quickstart("again", 1, hold(200, 2*time.Second), withoutThresholds))
	b.wantCondition(b.awaitFinished("again"), v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	if lt := a.loadTest("ignored"); len(lt.Status.Conditions) > 0 {
		t.Errorf("an operator runs a LoadTest of %s:\n%s", a.ns, conditions(lt))
	}
}
