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
	c.namespace(t, "tenants", "tenants-a", "tenants-b", "tenants-late", "tenants-other")
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
tenants:
  - {name: a, namespaces: [tenants-a], limits: {requestsPerSecond: 1000, shards: 2, connections: 8, durationSeconds: 600}}
  - {name: b, namespaces: [tenants-b], limits: {shards: 5}}
  - {name: late, namespaces: [tenants-late], limits: {requestsPerSecond: 10, shards: 2, durationSeconds: 600}}
`))
	// The API server takes some seconds until it knows a new policy and its limits.
	for _, ns := range []string{"tenants-a", "tenants-b", "tenants-late"} {
		eventually(t, "the policy is active in "+ns, func(ctx context.Context) bool {
			err := c.Create(ctx, builder.Minimal("probe").Namespace(ns).Shards(6).Connections(9).Build(), client.DryRunAll)
			return err != nil && strings.Contains(err.Error(), "allowed for this tenant")
		})
	}
	t.Run("limits", func(t *testing.T) { limitsOfTenants(t, c) })
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

func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %s, want %q", what, fmt.Sprint(err), want)
	}
}
