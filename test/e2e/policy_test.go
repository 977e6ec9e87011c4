//go:build e2e

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// wantPolicies gives the operator limits and denied targets, and the namespace of the story the limits of a tenant: docs/operate/limits.md.
func (c *charts) wantPolicies() {
	c.Helper()
	service, err := core.CoreV1().Services(c.ns).Get(c.ctx, "target", metav1.GetOptions{})
	c.must(err)
	values, err := yaml.Marshal(map[string]any{
		"config": map[string]any{
			"limits":  map[string]any{"shards": 1, "requestsPerSecond": 200},
			"targets": map[string]any{"denied": []any{map[string]any{"name": "billing", "cidrs": []string{service.Spec.ClusterIP + "/32"}}}},
		},
		"tenants": []any{map[string]any{"name": "story", "namespaces": []string{c.ns}, "limits": map[string]any{"shards": 2}}},
	})
	c.must(err)
	file := filepath.Join(c.TempDir(), "values.yaml")
	c.must(os.WriteFile(file, values, 0o600))
	c.helm("upgrade", release, c.current, "--wait", "--reset-then-reuse-values", "--set", "replicas=1", "-f", file)

	c.wantLimited()
	c.wantHeldBack()
	c.wantBound()
	c.wantDenied()
}

// wantLimited: the operator does not start a test above its limit, and names the limit.
func (c *charts) wantLimited() {
	c.Helper()
	c.apply(c.quickstart("limited", 2, hold(100, 5*time.Second), withoutThresholds))
	lt := c.awaitCondition("limited", v1alpha1.ConditionPlanReady, metav1.ConditionFalse, short)
	c.wantCondition(lt, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, v1alpha1.ReasonDeniedByPolicy)
	if message := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionPlanReady).Message; !strings.Contains(message, "denied by limits.shards of the operator's configuration") {
		c.Errorf("message %q names no limit", message)
	}
}

// wantHeldBack: retries do not exceed the operator's limit, which the rates are below. The address of the target's pod is not denied.
func (c *charts) wantHeldBack() {
	c.Helper()
	pods, err := core.CoreV1().Pods(c.ns).List(c.ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=h2surge-target"})
	c.must(err)
	before := c.stats().Requests
	c.apply(c.quickstart("retries", 1, withoutThresholds, func(spec *v1alpha1.LoadTestSpec) {
		spec.Targets[0].URL = "http://" + net.JoinHostPort(pods.Items[0].Status.PodIP, "8080")
		spec.Chains[0].Steps[0].Request.Expect = &v1alpha1.Expect{Status: []intstr.IntOrString{intstr.FromInt32(418)}}
		spec.Chains[0].Steps[0].Retry = &v1alpha1.Retry{Attempts: 20, Backoff: &v1alpha1.Duration{Duration: time.Millisecond}}
		spec.Rates = []v1alpha1.Rate{{Name: "hold", ChainsPerSecond: ptr.To[int64](60), Duration: &v1alpha1.Duration{Duration: 5 * time.Second}}}
	}))
	lt := c.awaitCondition("retries", v1alpha1.ConditionFinished, metav1.ConditionTrue, time.Minute)
	sent, received := c.wantCounts(lt), c.stats().Requests-before
	if sent != received || received < 200*5 || received > 200*(5+1) {
		c.Errorf("sent %d, received %d; want from 1000 to 1200", sent, received)
	}
	if held := c.report(lt).Generator.Limited.Dropped; held == 0 {
		c.Error("the report has no request that was held back")
	}
}

// wantBound: the API server refuses a test above the limit of its tenant, and the way around it by the scale subresource.
func (c *charts) wantBound() {
	c.Helper()
	const refused = "spec.runner.shards: is 3; allowed for this tenant: at most 2"
	refuses := func(what, in string, args ...string) {
		c.Helper()
		var out string
		c.eventually(short, func() string { // the API server learns of a policy some time after it was stored
			var err error
			if out, err = c.kubectl(in, args...); err == nil {
				return what + " was not refused"
			}
			return ""
		})
		if !strings.Contains(out, refused) {
			c.Errorf("%s: %s; want %q", what, out, refused)
		}
	}
	refuses("a test", c.manifest(c.quickstart("bound", 3, hold(100, 5*time.Second))), "apply", "--dry-run=server", "-f", "-")
	c.apply(c.quickstart("within", 1, hold(100, 5*time.Second), func(spec *v1alpha1.LoadTestSpec) { spec.Suspend = true }))
	refuses("a scaled test", "", "scale", "loadtest/within", "--replicas=3")
	refuses("a patched test", "", "patch", "loadtest/within", "--type=merge", "-p", `{"spec":{"runner":{"shards":3}}}`)
}

// wantDenied: a runner that learns from DNS that its target has a denied address sends nothing, and the rule is named.
func (c *charts) wantDenied() {
	c.Helper()
	before := c.stats().Requests
	c.apply(c.quickstart("denied", 1, hold(100, 5*time.Second), withoutThresholds))
	lt := c.awaitCondition("denied", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	c.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonDeniedByPolicy)
	if message := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished).Message; !strings.Contains(message, "billing") {
		c.Errorf("message %q does not name the rule", message)
	}
	if after := c.stats().Requests; after != before {
		c.Errorf("the denied target has received %d requests", after-before)
	}
}
