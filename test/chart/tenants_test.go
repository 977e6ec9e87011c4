//go:build chart

package chart

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// TestTenants: the API server refuses a LoadTest of a tenant above its limits, also by an edit, a patch and the scale subresource.
// Each tenant has its own limits, and other namespaces have none. There is one installation for all cases: an API server whose last
// binding with a ConfigMap was deleted finds those of later ones only after a restart (kubernetes/kubernetes#130887).
func TestTenants(t *testing.T) {
	c := startCluster(t)
	c.namespace(t, "tenants", "tenants-a", "tenants-b", "tenants-c", "tenants-late", "tenants-other")
	c.install(t, "tenants", "")
	running := builder.Minimal("running").Namespace("tenants-late").Shards(6).Build()
	running.Finalizers = []string{"example.com/x"}
	paused := builder.Minimal("paused").Namespace("tenants-late").Shards(6).Build()
	paused.Spec.Suspend = true
	for _, lt := range []*v1alpha1.LoadTest{running, paused} {
		if err := c.Create(t.Context(), lt); err != nil {
			t.Fatal(err)
		}
	}
	c.helm(t, "upgrade", release, chartDir, "--namespace", "tenants", "--values", valuesOf(t, `
config: {limits: {requestsPerSecond: 2000}}
tenants:
  - {name: a, namespaces: [tenants-a], limits: {requestsPerSecond: 1000, shards: 2, connections: 8, durationSeconds: 600}}
  - {name: b, namespaces: [tenants-b], limits: {shards: 5}}
  - {name: c, namespaces: [tenants-c], limits: {requestsPerSecond: 2000, connections: 8}}
  - {name: late, namespaces: [tenants-late], limits: {requestsPerSecond: 10, shards: 2, durationSeconds: 600}}
`))
	// The API server takes some seconds until it knows a new policy and its limits.
	for _, ns := range []string{"tenants-a", "tenants-b", "tenants-c", "tenants-late"} {
		eventually(t, "the policy is active in "+ns, func(ctx context.Context) bool {
			err := c.Create(ctx, builder.Minimal("probe").Namespace(ns).Shards(6).Connections(9).Build(), client.DryRunAll)
			return err != nil && strings.Contains(err.Error(), "allowed for this tenant")
		})
	}
	t.Run("limits", func(t *testing.T) { limitsOfTenants(t, c) })
	t.Run("operator's limit", func(t *testing.T) { tenantOfThrottledRunners(t, c) })
	t.Run("limits that came later", func(t *testing.T) { lateLimits(t, c, running, paused) })
}

func limitsOfTenants(t *testing.T, c *cluster) {
	within := func(namespace, name string) *v1alpha1.LoadTest {
		return builder.Minimal(name).Namespace(namespace).Edit(func(s *v1alpha1.LoadTestSpec) {
			s.ActiveDeadlineSeconds, s.Runner.Shards, s.Targets[0].Connections = ptr.To[int64](600), 2, ptr.To[int32](8)
			s.Rates = []v1alpha1.Rate{{Name: "r", RequestsPerSecond: ptr.To[int64](1000), Duration: &v1alpha1.Duration{Duration: time.Minute}}}
		}).Build()
	}
	for _, tc := range []struct {
		name string
		edit func(*v1alpha1.LoadTestSpec)
		want string // "": it is within the limits
	}{
		{"at the limits", func(*v1alpha1.LoadTestSpec) {}, ""},
		{"rate", func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](1001) }, "spec.rates: a rate is above the limit; allowed for this tenant: at most 1000 per second"},
		{"start of a ramp", func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RampFrom = ptr.To[int64](1001) }, "spec.rates: a rate"},
		{"rate by period", func(s *v1alpha1.LoadTestSpec) {
			s.Rates[0].RequestsPerSecond, s.Rates[0].RequestsPer = nil, &v1alpha1.RequestsPer{Count: 60_001, Period: v1alpha1.Duration{Duration: time.Minute}}
		}, "spec.rates: a rate"},
		{"slow rate by period", func(s *v1alpha1.LoadTestSpec) {
			s.Rates[0].RequestsPerSecond, s.Rates[0].RequestsPer = nil, &v1alpha1.RequestsPer{Count: 60_000, Period: v1alpha1.Duration{Duration: time.Minute}}
		}, ""},
		{"shards", func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 3 }, "spec.runner.shards: is 3; allowed for this tenant: at most 2"},
		{"connections", func(s *v1alpha1.LoadTestSpec) { s.Targets[0].Connections = ptr.To[int32](9) }, "spec.targets: too many connections"},
		{"connections by default", func(s *v1alpha1.LoadTestSpec) { s.Targets[0].Connections = nil }, ""},
		{"connections by default, after a scale", func(s *v1alpha1.LoadTestSpec) {
			s.Runner.Shards, s.Targets = 1, targets(5)
		}, "at most 8 to all targets together; a target without connections counts as 2"},
		{"closed loop", func(s *v1alpha1.LoadTestSpec) {
			s.Rates[0].RequestsPerSecond, s.Rates[0].ClosedLoop = nil, &v1alpha1.ClosedLoop{}
		}, "spec.rates: closedLoop has no rate; allowed for this tenant: at most 1000 per second"},
		{"search for a rate", func(s *v1alpha1.LoadTestSpec) { s.Rates, s.Search = nil, &v1alpha1.Search{Max: 1000} }, ""},
		{"search for a higher rate", func(s *v1alpha1.LoadTestSpec) {
			s.Rates, s.Search = nil, &v1alpha1.Search{Max: 1001}
		}, "spec.search.max: is required; allowed for this tenant: at most 1000"},
		{"search in a closed loop", func(s *v1alpha1.LoadTestSpec) {
			s.Rates, s.Search = nil, &v1alpha1.Search{Load: v1alpha1.SearchConcurrency, Max: 8}
		}, "spec.search.load: Concurrency has no rate; allowed for this tenant: at most 1000 per second"},
		{"deadline", func(s *v1alpha1.LoadTestSpec) { s.ActiveDeadlineSeconds = ptr.To[int64](601) }, "spec.activeDeadlineSeconds: is required; allowed for this tenant: at most 600"},
		{"no deadline", func(s *v1alpha1.LoadTestSpec) { s.ActiveDeadlineSeconds = nil }, "spec.activeDeadlineSeconds: is required"},
	} {
		lt := within("tenants-a", "test")
		tc.edit(&lt.Spec)
		refused(t, "create: "+tc.name, c.Create(t.Context(), lt, client.DryRunAll), tc.want)
	}

	for _, ns := range []string{"tenants-a", "tenants-b", "tenants-other"} {
		if err := c.Create(t.Context(), within(ns, "run")); err != nil {
			t.Fatal(err)
		}
	}
	scale := func(namespace string, n int32) error {
		return c.SubResource("scale").Update(t.Context(), within(namespace, "run"), client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "run"}, Spec: autoscalingv1.ScaleSpec{Replicas: n},
		}))
	}
	patch := func(namespace, merge string, of client.SubResourceClient) error {
		p := client.RawPatch(types.MergePatchType, []byte(merge))
		if of != nil {
			return of.Patch(t.Context(), within(namespace, "run"), p)
		}
		return c.Patch(t.Context(), within(namespace, "run"), p)
	}
	const shards = "spec.runner.shards: is 3; allowed for this tenant: at most 2"
	refused(t, "scale", scale("tenants-a", 3), shards)
	refused(t, "patch of scale", patch("tenants-a", `{"spec":{"replicas":3}}`, c.SubResource("scale")), shards)
	refused(t, "patch of shards", patch("tenants-a", `{"spec":{"runner":{"shards":3}}}`, nil), shards)
	refused(t, "patch of rates", patch("tenants-a", `{"spec":{"rates":[{"name":"r","requestsPerSecond":1001,"duration":"1m"}]}}`, nil), "spec.rates: a rate")
	refused(t, "scale down", scale("tenants-a", 1), "")
	refused(t, "another tenant", scale("tenants-b", 5), "")
	refused(t, "above its limit", scale("tenants-b", 6), "spec.runner.shards: is 6; allowed for this tenant: at most 5")
	refused(t, "another namespace", scale("tenants-other", 6), "")
	refused(t, "stop", patch("tenants-a", `{"spec":{"stop":true}}`, nil), "")
}

// targets are n targets without connections.
func targets(n int) (out []v1alpha1.Target) {
	for i := range n {
		out = append(out, v1alpha1.Target{Name: fmt.Sprintf("target-%d", i), URL: "http://target.example"})
	}
	out[0].Name = "target"
	return out
}

// Limits that came after a LoadTest do not lock it. It can be deleted in the foreground, labelled, paused and stopped, and its TTL can
// change. Its load cannot change, and a paused one does not continue.
func lateLimits(t *testing.T, c *cluster, running, paused *v1alpha1.LoadTest) {
	patch := func(lt *v1alpha1.LoadTest, merge string) error {
		return c.Patch(t.Context(), lt.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(merge)))
	}
	const shards = "spec.runner.shards: is 5; allowed for this tenant: at most 2"
	for _, tc := range []struct{ what, merge, want string }{
		{"label", `{"metadata":{"labels":{"a":"b"}}}`, ""},
		{"TTL", `{"spec":{"ttlSecondsAfterFinished":60}}`, ""},
		{"pause", `{"spec":{"suspend":true}}`, ""},
		{"continue", `{"spec":{"suspend":false}}`, "spec.runner.shards: is 6"},
		{"fewer shards, and still above", `{"spec":{"runner":{"shards":5}}}`, shards},
		{"another rate", `{"spec":{"rates":[{"name":"steady","requestsPerSecond":99,"duration":"1s"}]}}`, "spec.runner.shards: is 6"},
		{"stop", `{"spec":{"stop":true}}`, ""},
	} {
		refused(t, tc.what, patch(running, tc.merge), tc.want)
	}
	refused(t, "continue a paused test", patch(paused, `{"spec":{"suspend":null}}`), "spec.runner.shards: is 6")
	refused(t, "scale", c.SubResource("scale").Patch(t.Context(), paused.DeepCopy(),
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`))), shards)

	if err := c.Delete(t.Context(), paused, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	refused(t, "the garbage collector's patch", patch(paused, `{"metadata":{"finalizers":null}}`), "")
	if err := c.Delete(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	refused(t, "the end of a finalizer", patch(running, `{"metadata":{"finalizers":null}}`), "")
	for _, lt := range []*v1alpha1.LoadTest{running, paused} {
		if err := c.get(t, &v1alpha1.LoadTest{}, lt.Namespace, lt.Name); !apierrors.IsNotFound(err) {
			t.Errorf("%s after its deletion: %v", lt.Name, err)
		}
	}
}

// A closed loop is allowed if the operator's limit keeps its rate below the tenant's. Without a limit of shards, a target needs connections.
func tenantOfThrottledRunners(t *testing.T, c *cluster) {
	loop := func(connections *int32) error {
		lt := builder.Minimal("loop").Namespace("tenants-c").Build()
		lt.Spec.Targets[0].Connections = connections
		lt.Spec.Rates[0].RequestsPerSecond, lt.Spec.Rates[0].ClosedLoop = nil, &v1alpha1.ClosedLoop{}
		return c.Create(t.Context(), lt, client.DryRunAll)
	}
	refused(t, "throttled", loop(ptr.To[int32](8)), "")
	refused(t, "connections by default", loop(nil), "a target without connections counts as 256")
}

func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %s, want %q", what, fmt.Sprint(err), want)
	}
}
