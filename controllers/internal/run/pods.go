package run

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// Observe is what the collector needs to know of a pod.
func (f *Facts) Observe(pod *corev1.Pod) shards.Pod {
	out := shards.Pod{
		Name: pod.Name, Node: pod.Spec.NodeName, UID: pod.UID,
		Terminating: pod.DeletionTimestamp != nil,
	}
	out.Ended, out.Why = PodEnded(pod)
	if c := runnerStatus(pod); !out.Ended && pod.Status.PodIP != "" && c != nil && c.State.Running != nil {
		out.Address = f.Address(pod)
	}
	return out
}

func runnerStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.Name == desired.RunnerContainer {
			return c
		}
	}
	return nil
}

// PodFinished returns whether all containers of a pod have ended, a sidecar too.
func PodFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// PodEnded returns whether the runner of a pod has ended, and how.
func PodEnded(pod *corev1.Pod) (bool, string) {
	c := runnerStatus(pod)
	if c != nil && c.State.Terminated != nil {
		return true, terminated(c.State.Terminated)
	}
	if !PodFinished(pod) {
		return false, ""
	}
	switch {
	case pod.Status.Reason != "" && pod.Status.Message != "":
		return true, pod.Status.Reason + ": " + pod.Status.Message
	case pod.Status.Reason != "":
		return true, pod.Status.Reason
	}
	return true, "the pod has ended"
}

func terminated(t *corev1.ContainerStateTerminated) string {
	out := fmt.Sprintf("exit code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" { // these two say no more than the exit code does
		out = fmt.Sprintf("%s (exit code %d)", t.Reason, t.ExitCode)
	}
	if said := lastWords(t.Message); said != "" {
		out += ": " + shorten.To(said, 512)
	}
	return out
}

// lastWords takes what a container said at its end out of its termination message, which is the
// end of its log. A runner logs JSON: what it only remarked has nothing to do with its end.
func lastWords(message string) string {
	message = strings.TrimSpace(message)
	line := message[strings.LastIndexByte(message, '\n')+1:]
	var record struct{ Level, Msg, Err string }
	if json.Unmarshal([]byte(line), &record) != nil {
		return line
	}
	switch {
	case record.Level != "ERROR":
		return ""
	case record.Err != "":
		return record.Msg + ": " + record.Err
	}
	return record.Msg
}

// AllRunning returns whether the runners of all shards run.
func AllRunning(f *Facts) bool { return PodsRunning(f) >= f.Plan.Shards }

// PodsRunning returns how many shards have a pod whose runner runs.
func PodsRunning(f *Facts) int {
	n := 0
	for _, pod := range f.Pods {
		if st := runnerStatus(pod); st != nil && st.State.Running != nil {
			n++
		}
	}
	return n
}
