//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// probe starts a pod of the stories' own image, as the restricted standard wants it. With a
// Secret, that is mounted at /tls.
func (s *story) probe(name, secret string, requests corev1.ResourceList, args ...string) {
	s.Helper()
	no, yes := false, true
	container := corev1.Container{
		Name: "probe", Image: probeImage, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
		Resources: corev1.ResourceRequirements{Requests: requests},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  &no,
			TerminationGracePeriodSeconds: new(int64),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
	if secret != "" {
		container.VolumeMounts = []corev1.VolumeMount{{Name: "tls", MountPath: "/tls", ReadOnly: true}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}
	}
	pod.Spec.Containers = []corev1.Container{container}
	_, err := core.CoreV1().Pods(s.ns).Create(s.ctx, pod, metav1.CreateOptions{})
	s.must(err)
}

// awaitPhase waits until a pod is in a phase; Failed ends the wait at once.
func (s *story) awaitPhase(name string, phase corev1.PodPhase) {
	s.Helper()
	s.eventually(short, func() string {
		pod, err := core.CoreV1().Pods(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		s.must(err)
		if pod.Status.Phase == phase {
			return ""
		}
		if pod.Status.Phase == corev1.PodFailed {
			s.Fatalf("pod %s failed: %s", name, s.mustKubectl("", "logs", name))
		}
		return fmt.Sprintf("pod %s is %s, want %s", name, pod.Status.Phase, phase)
	})
}

// cpus asks a serving probe on which CPUs its container may run.
func (s *story) cpus(probe string) string {
	s.Helper()
	var out []byte
	s.eventually(short, func() string {
		var err error
		out, err = core.CoreV1().Pods(s.ns).ProxyGet("http", probe, "8080", "/cpus", nil).DoRaw(context.WithoutCancel(s.ctx))
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return strings.TrimSpace(string(out))
}

// small is a CPU request that fits beside an exclusive core on a node of two.
var small = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")}
