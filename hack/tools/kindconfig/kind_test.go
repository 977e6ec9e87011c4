// Package kindconfig checks test/e2e/kind.yaml, which kind itself reads only where a Docker engine runs.
package kindconfig

import (
	"os"
	"strings"
	"testing"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

// TestKindConfiguration: kind and the kubelet know every field, the CPU manager hands out whole CPUs, and something is reserved, without
// which the kubelet refuses the static policy.
func TestKindConfiguration(t *testing.T) {
	raw, err := os.ReadFile("../../../test/e2e/kind.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c v1alpha4.Cluster
	if err := yaml.UnmarshalStrict(raw, &c); err != nil {
		t.Fatal(err)
	}
	if c.Kind != "Cluster" || c.APIVersion != "kind.x-k8s.io/v1alpha4" || len(c.Nodes) != 1 || c.Nodes[0].Role != v1alpha4.ControlPlaneRole {
		t.Errorf("%+v; want a cluster of one control-plane node", c)
	}
	for _, n := range c.Nodes {
		for _, patch := range n.KubeadmConfigPatches {
			var k kubeletv1beta1.KubeletConfiguration
			if err := yaml.UnmarshalStrict([]byte(patch), &k); err != nil || k.Kind != "KubeletConfiguration" {
				t.Errorf("kind %q, %v; the patch is\n%s", k.Kind, err, strings.TrimSpace(patch))
			}
			if k.CPUManagerPolicy != "static" || k.KubeReserved["cpu"] == "" {
				t.Errorf("CPU manager policy %q with %q reserved; want static, and a part of a CPU", k.CPUManagerPolicy, k.KubeReserved)
			}
		}
	}
}
