package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestSlimPod(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}},
		Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "runner"}}},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1"},
	}
	got, err := slimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{NodeName: "node"},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1"},
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
