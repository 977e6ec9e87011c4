package run_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

// TestDiagnose groups pods by problem and reports the first reason of podProblems.
func TestDiagnose(t *testing.T) {
	pod := func(name, reason string) *corev1.Pod {
		p := &corev1.Pod{}
		p.Name = name
		switch reason {
		case "Unschedulable":
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: "no node."}}
		case "ErrImagePull":
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "runner", Image: "x:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
		}
		return p
	}
	tests := map[string]struct {
		pods map[int]*corev1.Pod
		age  time.Duration
		want *run.Blocker
	}{
		"nothing":         {map[int]*corev1.Pod{0: pod("a", ""), 1: pod("b", "")}, time.Minute, nil},
		"one pod":         {map[int]*corev1.Pod{0: pod("a", ""), 1: pod("b", "Unschedulable")}, time.Minute, run.NotReady("Unschedulable", "pod b cannot be scheduled: no node.")},
		"both pods":       {map[int]*corev1.Pod{1: pod("b", "Unschedulable"), 0: pod("a", "Unschedulable")}, 0, run.NotReady("Unschedulable", "pod a and 1 more cannot be scheduled: no node.")},
		"two problems":    {map[int]*corev1.Pod{0: pod("a", "ErrImagePull"), 1: pod("b", "Unschedulable")}, 0, run.NotReady("Unschedulable", `pod b cannot be scheduled: no node.; pod a cannot pull image "x:1" of container runner`)},
		"not created yet": {map[int]*corev1.Pod{0: pod("a", "")}, 9 * time.Second, nil},
		"not created":     {map[int]*corev1.Pod{0: pod("a", "")}, 10 * time.Second, run.NotReady("PodCreationFailed", "Job pcf-1 has created 1 of 2 pods; kubectl describe job pcf-1 shows the error")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := runtest.New(runtest.WithJob)
			f.Pods, f.Record.Changes[0].DecidedAt = tt.pods, metav1.NewMicroTime(runtest.Now.Add(-tt.age))
			f.Job.CreationTimestamp = metav1.NewTime(runtest.Now.Add(-time.Hour)) // the clock of the API server is behind
			if diff := cmp.Diff(tt.want, run.Diagnose(f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			f.Job.Spec.Suspend = ptr.To(true)
			if p := run.Diagnose(f); p != nil && p.Reason == v1alpha1.ReasonPodCreationFailed {
				t.Errorf("a suspended Job creates no pods: %+v", p)
			}
		})
	}
}

func TestMountProblem(t *testing.T) {
	table := v1alpha1.Variable{Name: "user", CSV: &v1alpha1.CSV{SecretKeyRef: &v1alpha1.KeyReference{Name: "users", Key: "users.csv"}}}
	pod := func(ready corev1.ConditionStatus, scheduled time.Duration) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReadyToStartContainers, Status: ready},
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(runtest.Now.Add(-scheduled))},
		}}}
	}
	const own = "pod pcf-1-0 and 1 more cannot mount its volumes; check that these exist: ConfigMap pcf-plan-0123456789, Secret pcf-tls-0a1b2c3d"
	tests := map[string]struct {
		pod       *corev1.Pod
		variables []v1alpha1.Variable
		want      string
		again     time.Duration
	}{
		"no node yet":         {&corev1.Pod{}, []v1alpha1.Variable{table}, "", 0},
		"a moment ago":        {pod(corev1.ConditionFalse, 4*time.Second), []v1alpha1.Variable{table}, "", 6 * time.Second},
		"for long":            {pod(corev1.ConditionFalse, 10*time.Second), []v1alpha1.Variable{table}, own + ", Secret users (key users.csv)", 0},
		"its image is pulled": {pod(corev1.ConditionTrue, time.Minute), []v1alpha1.Variable{table}, "", 0},
		"no files":            {pod(corev1.ConditionFalse, time.Minute), nil, own, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := runtest.New(runtest.WithJob)
			f.LoadTest.Spec.Variables = tt.variables
			f.LoadTest.UID, f.Record.Plan.Name = "0a1b2c3d-0000", "pcf-plan-0123456789"
			f.Pods[0], f.Pods[1] = tt.pod.DeepCopy(), tt.pod.DeepCopy()
			f.Pods[0].Name, f.Pods[1].Name = "pcf-1-0", "pcf-1-1"
			got := ""
			if p := run.Diagnose(f); p != nil {
				got = p.Message
			}
			if got != tt.want || f.Requeue != tt.again {
				t.Errorf("%q, again in %v; want %q, again in %v", got, f.Requeue, tt.want, tt.again)
			}
		})
	}
}
