//go:build chart

package chart

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// previous writes a chart of an earlier version, which lacks what came later: the short name of
// the CRD.
func previous(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "h2surge")
	if err := os.CopyFS(dir, os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	edit(t, dir+"/Chart.yaml", "\nversion: ", "\nversion: 0.0.1-before.")
	edit(t, dir+"/templates/crd.yaml", "    shortNames:\n    - lt\n", "")
	return dir
}

func edit(t *testing.T, file, before, after string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(raw), before) != 1 {
		t.Fatalf("%s has %q not once", file, before)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(raw), before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

var recreate = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}

func rolling(surge, unavailable string) appsv1.DeploymentStrategy {
	return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
		MaxSurge: ptr.To(intstr.Parse(surge)), MaxUnavailable: ptr.To(intstr.Parse(unavailable)),
	}}
}

// What an installation goes through: an earlier chart, an upgrade, a rollback, changes of the update strategy, the end,
// and a new beginning. The CRD follows the chart up and down, and stays with the LoadTests.
func TestLifecycle(t *testing.T) {
	c := startCluster(t)
	c.namespace(t, "h2surge-life")
	on := func(args ...string) []string { return append(args, "--namespace", "h2surge-life") }
	state := func(wantShort string, wantReplicas int32) {
		t.Helper()
		crd, deployment := &apiextensionsv1.CustomResourceDefinition{}, &appsv1.Deployment{}
		if err := c.get(t, crd, "", "loadtests.h2surge.io"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(crd.Spec.Names.ShortNames, ","); got != wantShort {
			t.Errorf("short names %q, want %q", got, wantShort)
		}
		if err := c.get(t, deployment, "h2surge-life", "h2surge-controller-manager"); err != nil {
			t.Fatal(err)
		}
		if got := *deployment.Spec.Replicas; got != wantReplicas {
			t.Errorf("%d replicas, want %d", got, wantReplicas)
		}
	}

	c.helm(t, on("install", release, previous(t), "--take-ownership")...)
	state("", 1)
	c.helm(t, on("upgrade", release, chartDir, "--set", "replicas=2")...)
	state("lt", 2)
	c.helm(t, on("rollback", release, "1")...)
	state("", 1)
	c.helm(t, on("upgrade", release, chartDir)...)
	state("lt", 1)
	for _, s := range []struct {
		values string
		want   appsv1.DeploymentStrategy
	}{
		{"leaderElection.enabled=false", recreate},
		{"leaderElection.enabled=true", rolling("25%", "25%")},
		{"strategy.type=Recreate", recreate},
		{"strategy.rollingUpdate.maxUnavailable=0", rolling("25%", "0")},
		{"strategy.type=Recreate", recreate},
		{"strategy.type=RollingUpdate", rolling("25%", "25%")},
		{"strategy.type=Recreate", recreate},
	} {
		c.helm(t, on("upgrade", release, chartDir, "--set", s.values)...)
		deployment := &appsv1.Deployment{}
		if err := c.get(t, deployment, "h2surge-life", "h2surge-controller-manager"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.want, deployment.Spec.Strategy); diff != "" {
			t.Errorf("%s: strategy (-want +got):\n%s", s.values, diff)
		}
	}

	lt := builder.Minimal("kept").Namespace("h2surge-life").Build()
	if err := c.Create(t.Context(), lt); err != nil {
		t.Fatal(err)
	}
	c.helm(t, on("uninstall", release)...)
	if err := c.get(t, &appsv1.Deployment{}, "h2surge-life", "h2surge-controller-manager"); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment after uninstall: %v", err)
	}
	if err := c.get(t, &v1alpha1.LoadTest{}, "h2surge-life", "kept"); err != nil {
		t.Errorf("the LoadTest after uninstall: %v", err)
	}
	c.helm(t, on("install", release, chartDir)...) // takes the CRD that is there
	state("lt", 1)
	c.helm(t, on("uninstall", release)...)
}

// "helm test" ends as its pod does, whose end is played here, and leaves no LoadTest behind whose
// report the next test would find.
func TestHelmTest(t *testing.T) {
	c := startCluster(t)
	const ns = "h2surge-tested"
	c.namespace(t, ns)
	c.install(t, ns, "")
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed, corev1.PodSucceeded} {
		ended := make(chan error, 1)
		go func() {
			_, err := helmAt(t, c.kubeconfig, "test", release, "--namespace", ns, "--timeout", "60s")
			ended <- err
		}()
		pod := &corev1.Pod{}
		eventually(t, "a new pod", func(ctx context.Context) bool {
			return c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "h2surge-test"}, pod) == nil && pod.Status.Phase == corev1.PodPending
		})
		if err := c.get(t, &v1alpha1.LoadTest{}, ns, "h2surge-test"); err != nil {
			t.Errorf("the LoadTest beside the pod: %v", err)
		}
		pod.Status.Phase = phase
		if err := c.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; (err == nil) != (phase == corev1.PodSucceeded) {
			t.Errorf("pod %s: %v", phase, err)
		}
		if err := c.get(t, &v1alpha1.LoadTest{}, ns, "h2surge-test"); !apierrors.IsNotFound(err) {
			t.Errorf("the LoadTest afterwards: %v", err)
		}
	}
}
