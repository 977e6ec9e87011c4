package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestLastWords(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"usage:\nno such flag\n":     "no such flag",
		`{"level":"INFO","msg":"x"}`: "",
		"a\n" + `{"level":"ERROR","msg":"Run failed","err":"too many open files"}` + "\n": "Run failed: too many open files",
		`{"level":"ERROR","msg":"Plan rejected"}`:                                         "Plan rejected",
	} {
		if got := lastWords(in); got != want {
			t.Errorf("lastWords(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEnded(t *testing.T) {
	killed := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "runner", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
	}}}}
	exited := killed.DeepCopy()
	*exited.Status.ContainerStatuses[0].State.Terminated = corev1.ContainerStateTerminated{Reason: "Completed"}
	tests := map[string]struct {
		pod  *corev1.Pod
		over bool
		why  string
	}{
		"pending":     {&corev1.Pod{}, false, ""},
		"OOM":         {killed, true, "OOMKilled (exit code 137)"},
		"evicted":     {&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk pressure"}}, true, "Evicted: disk pressure"},
		"exit code 0": {exited, true, "exit code 0"},
		"no details":  {&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, true, "the pod has ended"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if over, why := PodEnded(tt.pod); over != tt.over || why != tt.why {
				t.Errorf("%v %q, want %v %q", over, why, tt.over, tt.why)
			}
		})
	}
}

func TestPodProblem(t *testing.T) {
	waiting := func(reason, message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "runner", Image: "h2surge:9", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}}
	}
	crash := waiting("CrashLoopBackOff", "back-off 40s")
	crash.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2, Message: "usage:\nno such flag\n"}
	noNode := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu.",
	}}}}
	const image = `cannot pull image "h2surge:9" of container runner`
	tests := map[string]struct {
		pod  *corev1.Pod
		want *Blocker
	}{
		"nothing":          {&corev1.Pod{}, nil},
		"being created":    {waiting("ContainerCreating", ""), nil},
		"no node":          {noNode, NotReady("Unschedulable", "cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu.")},
		"image, first try": {waiting("ErrImagePull", "not found"), NotReady("ImagePullFailed", image)},
		"image, later":     {waiting("ImagePullBackOff", "Back-off 20s"), NotReady("ImagePullFailed", image)},
		"container config": {waiting("CreateContainerConfigError", "image has non-numeric user"), NotReady("CreateContainerFailed", "cannot start container runner: image has non-numeric user")},
		"exits repeatedly": {crash, NotReady("CrashLoopBackOff", "restarts container runner repeatedly: exit code 2: no such flag")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, PodProblem(tt.pod)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
