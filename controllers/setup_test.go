package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/controllers/internal/desired"
)

func TestSlimPod(t *testing.T) {
	labels := map[string]string{desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: "test"}
	annotations := map[string]string{batchv1.JobCompletionIndexAnnotation: "3"}
	now := metav1.Now()
	owners := []metav1.OwnerReference{{Kind: "Job", Name: "test-0", UID: "job", Controller: ptr.To(true)}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod", UID: "uid", ResourceVersion: "7", CreationTimestamp: now,
			DeletionTimestamp: &now, Labels: labels, Annotations: annotations, OwnerReferences: owners},
		Spec: corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Reason: "Evicted", Message: "no memory", PodIP: "10.0.0.1",
			Conditions:            []corev1.PodCondition{{Type: corev1.PodScheduled}, {Type: corev1.PodReadyToStartContainers}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", Image: "i"}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: "runner", Image: "r", State: running, LastTerminationState: ended}},
		},
	}
	pod := want.DeepCopy()
	pod.Labels["a"], pod.Annotations["b"], pod.Finalizers = "c", "d", []string{"e.example/f"}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	pod.Spec.Containers = []corev1.Container{{Name: "runner"}}
	pod.Status.PodIPs, pod.Status.QOSClass = []corev1.PodIP{{IP: "10.0.0.1"}}, corev1.PodQOSGuaranteed
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady})
	pod.Status.ContainerStatuses[0].ImageID = "sha256:0"
	got, err := slimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSlimMetadata(t *testing.T) {
	controller := metav1.OwnerReference{Kind: "LoadTest", Name: "test", UID: "owner", Controller: ptr.To(true)}
	for name, owner := range map[string]*metav1.OwnerReference{"of a LoadTest": &controller, "of a tenant": nil} {
		t.Run(name, func(t *testing.T) {
			typeMeta := metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
			cm := &metav1.PartialObjectMetadata{TypeMeta: typeMeta, ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "cm", UID: "uid", ResourceVersion: "7", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
				Finalizers: []string{"e.example/f"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
				OwnerReferences: []metav1.OwnerReference{{Kind: "Secret", Name: "other"}},
			}}
			want := &metav1.PartialObjectMetadata{TypeMeta: typeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cm", UID: "uid", ResourceVersion: "7"}}
			if owner != nil {
				cm.OwnerReferences, want.OwnerReferences = append(cm.OwnerReferences, *owner), []metav1.OwnerReference{*owner}
			}
			got, err := slimMetadata(cm)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
