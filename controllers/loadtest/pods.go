package loadtest

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/internal/compile"
)

// controlAddress is where a runner pod answers.
func controlAddress(pod *corev1.Pod) string {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(runnerv1alpha1.ControlPort))
}

// observe is what the collector needs to know of a pod.
func (r *reconciler) observe(pod *corev1.Pod) collect.Pod {
	out := collect.Pod{
		Name: pod.Name, Node: pod.Spec.NodeName, UID: pod.UID,
		Terminating: pod.DeletionTimestamp != nil,
	}
	out.Ended, out.Why = ended(pod)
	if c := runnerStatus(pod); !out.Ended && pod.Status.PodIP != "" && c != nil && c.State.Running != nil {
		out.Address = r.address(pod)
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

// ended says whether the runner of a pod has ended, and how.
func ended(pod *corev1.Pod) (bool, string) {
	c := runnerStatus(pod)
	if c != nil && c.State.Terminated != nil {
		return true, terminated(c.State.Terminated)
	}
	if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		return false, ""
	}
	switch {
	case pod.Status.Reason != "" && pod.Status.Message != "":
		return true, pod.Status.Reason + ": " + pod.Status.Message
	case pod.Status.Reason != "":
		return true, pod.Status.Reason
	}
	return true, "its pod ended"
}

func terminated(t *corev1.ContainerStateTerminated) string {
	out := fmt.Sprintf("%s, exit code %d", orText(t.Reason, "it ended"), t.ExitCode)
	if said := lastWords(t.Message); said != "" {
		out += ": " + clip(said, 512)
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

// allRunning returns since when every runner's container runs; zero: not every one does.
func allRunning(s *scope) (since time.Time) {
	if len(s.pods) < s.plan.Shards {
		return time.Time{}
	}
	for _, pod := range s.pods {
		c := runnerStatus(pod)
		if c == nil || c.State.Running == nil {
			return time.Time{}
		}
		if t := c.State.Running.StartedAt.Time; t.After(since) {
			since = t
		}
	}
	return since
}

// podsGrace is how long a Job may take to make its pods before that is worth telling.
const podsGrace = 10 * time.Second

// diagnose says what keeps pods from running, in words that stay the same as long as it does.
func diagnose(s *scope) string {
	lines := map[string][]int{}
	for shard, pod := range s.pods {
		why := podTrouble(pod)
		if why == "" {
			why = s.filesTrouble(pod)
		}
		if why != "" {
			lines[why] = append(lines[why], shard)
		}
	}
	var out []string
	for why, shards := range lines {
		out = append(out, fmt.Sprintf("%d of %d pods: %s", len(shards), s.plan.Shards, why))
	}
	missing := s.plan.Shards - len(s.pods)
	if age := s.now.Sub(s.job.CreationTimestamp.Time); missing > 0 && age < podsGrace {
		s.again(podsGrace - age)
	} else if missing > 0 {
		out = append(out, fmt.Sprintf("%d of %d pods do not exist; the events of Job %s say why", missing, s.plan.Shards, s.job.Name))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func podTrouble(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return "cannot be scheduled: " + clip(c.Message, 512)
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil {
			if why := waitingTrouble(&c, w); why != "" {
				return why
			}
		}
	}
	return ""
}

// filesGrace is how long the kubelet may take to mount a pod's volumes before that is worth telling.
const filesGrace = 10 * time.Second

// filesTrouble tells of a pod on a node whose volumes are not there. Which object or key is missing
// the kubelet says in an event only; in the pod's status is no more than that it cannot begin.
func (s *scope) filesTrouble(pod *corev1.Pod) string {
	var files []string
	for _, m := range compile.Mounts(&s.lt.Spec) {
		for _, item := range m.Items {
			files = append(files, fmt.Sprintf("%s %s (key %s)", m.Kind, m.Name, item.Key))
		}
	}
	since, waits := waitsForVolumes(pod)
	if len(files) == 0 || !waits {
		return ""
	}
	if left := since.Add(filesGrace).Sub(s.now); left > 0 {
		s.again(left)
		return ""
	}
	return clip("cannot be started: one of these seems to be missing, the events of the pod say which: "+strings.Join(files, ", "), 1024)
}

// waitsForVolumes: a pod has a node, and no sandbox, which is made when its volumes are mounted.
func waitsForVolumes(pod *corev1.Pod) (since time.Time, waits bool) {
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue:
			since = c.LastTransitionTime.Time
		case c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse:
			waits = pod.Status.Phase == corev1.PodPending
		}
	}
	return since, waits && !since.IsZero()
}

// waitingTrouble leaves out what the kubelet counts, such as the length of a back-off: it would
// make a new message of each try.
func waitingTrouble(c *corev1.ContainerStatus, w *corev1.ContainerStateWaiting) string {
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return fmt.Sprintf("image %q of container %s cannot be pulled", c.Image, c.Name)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return fmt.Sprintf("container %s cannot be started: %s", c.Name, clip(w.Message, 512))
	case "CrashLoopBackOff":
		why := ""
		if t := c.LastTerminationState.Terminated; t != nil {
			why = ": " + terminated(t)
		}
		return fmt.Sprintf("container %s ends again and again%s", c.Name, why)
	}
	return ""
}

func orText(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// maxMessage bounds what goes into a condition or a verdict, in bytes; the schema's bound is in
// characters and the same.
const maxMessage = 32768

// clip cuts a text, at the end of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}
