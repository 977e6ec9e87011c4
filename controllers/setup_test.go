package controllers

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

func TestSlimPod(t *testing.T) {
	labels := map[string]string{desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: "test"}
	annotations := map[string]string{batchv1.JobCompletionIndexAnnotation: "3"}
	now := metav1.Now()
	owners := []metav1.OwnerReference{{Kind: "Job", Name: "test-0", UID: "job", Controller: ptr.To(true)}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "pod", UID: "uid", ResourceVersion: "7", CreationTimestamp: now,
			DeletionTimestamp: &now, Labels: labels, Annotations: annotations, OwnerReferences: owners,
		},
		Spec: corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Reason: "Evicted", Message: "no memory", PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled}, {Type: corev1.PodReadyToStartContainers},
			},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", Image: "i"}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "runner", Image: "r", State: running, LastTerminationState: ended},
			},
		},
	}
	pod := want.DeepCopy()
	fatten(pod)
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

// fatten adds to the metadata of an object what a user can write and the operator does not read.
func fatten(o metav1.Object) {
	labels, annotations := map[string]string{"a": "b"}, map[string]string{"c": "d"}
	maps.Copy(labels, o.GetLabels())
	maps.Copy(annotations, o.GetAnnotations())
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	o.SetGenerateName("g-")
	o.SetGeneration(7)
	o.SetFinalizers([]string{"e.example/f"})
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	o.SetOwnerReferences(append([]metav1.OwnerReference{{Kind: "Secret", Name: "other"}}, o.GetOwnerReferences()...))
}

func TestSlimJob(t *testing.T) {
	now := metav1.Now()
	want := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "test-1", UID: "uid", ResourceVersion: "7", CreationTimestamp: now,
			DeletionTimestamp: &now,
			Labels: map[string]string{desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: "test",
				"kueue.x-k8s.io/queue-name": "load"},
			Annotations:     map[string]string{run.AnnotationElastic: "true"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "LoadTest", Name: "test", UID: "t", Controller: ptr.To(true)}},
		},
		Spec: batchv1.JobSpec{Completions: ptr.To[int32](3), Suspend: ptr.To(true)},
		Status: batchv1.JobStatus{
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}},
			Succeeded:  1, Failed: 2, CompletedIndexes: "0", FailedIndexes: ptr.To("1,2"),
		},
	}
	job := want.DeepCopy()
	fatten(job)
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "runner", Env: []corev1.EnvVar{{Name: "E", Value: "v"}}}}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	job.Status.StartTime, job.Status.UncountedTerminatedPods = &now, &batchv1.UncountedTerminatedPods{}
	got, err := slimJob(job)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSlimValues: an annotation can have 256 KiB, and the API server bounds neither the fields of owner references nor
// the names of images, which the kubelet repeats in the status.
func TestSlimValues(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for name, change := range map[string]func(*corev1.Pod){
		"annotation": func(p *corev1.Pod) {
			p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: long}
		},
		"owner": func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: long, Controller: ptr.To(true)}}
		},
		"UID of the owner": func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", UID: types.UID(long), Controller: ptr.To(true)}}
		},
		"image": func(p *corev1.Pod) {
			waits := &corev1.ContainerStateWaiting{Reason: "InvalidImageName", Message: long}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Image: long, State: corev1.ContainerState{Waiting: waits}}}
		},
	} {
		pod := &corev1.Pod{}
		change(pod)
		got, err := slimPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(got)
		if err != nil || len(raw) > 2048 {
			t.Errorf("%s: %d bytes stay, %v", name, len(raw), err)
		}
	}
}

// TestCacheKeepsPartsOnly: users can label any object as the operator's.
func TestCacheKeepsPartsOnly(t *testing.T) {
	for kind, of := range cacheOptions(&configv1alpha1.OperatorConfig{}).ByObject {
		if of.Transform == nil {
			t.Errorf("the cache keeps all of a %T", kind)
		}
	}
}

func TestSlimMetadata(t *testing.T) {
	controller := metav1.OwnerReference{Kind: "LoadTest", Name: "test", UID: "owner", Controller: ptr.To(true)}
	for name, owner := range map[string]*metav1.OwnerReference{"of a LoadTest": &controller, "of a tenant": nil} {
		t.Run(name, func(t *testing.T) {
			typeMeta := metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
			want := &metav1.PartialObjectMetadata{TypeMeta: typeMeta, ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "cm", UID: "uid", ResourceVersion: "7",
			}}
			if owner != nil {
				want.OwnerReferences = []metav1.OwnerReference{*owner}
			}
			cm := want.DeepCopy()
			fatten(cm)
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
