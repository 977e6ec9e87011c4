package loadtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/internal/compile"
)

// controlAddress is where a runner pod answers.
func controlAddress(pod *corev1.Pod) string {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(runnerv1alpha1.ControlPort))
}

// observe is what the collector needs to know of a pod.
func (s *scope) observe(pod *corev1.Pod) collect.Pod {
	out := collect.Pod{
		Name: pod.Name, Node: pod.Spec.NodeName, UID: pod.UID,
		Terminating: pod.DeletionTimestamp != nil,
	}
	out.Ended, out.Why = ended(pod)
	if c := runnerStatus(pod); !out.Ended && pod.Status.PodIP != "" && c != nil && c.State.Running != nil {
		out.Address = s.address(pod)
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

// ended returns whether the runner of a pod has ended, and how.
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
	return true, "the pod has ended"
}

func terminated(t *corev1.ContainerStateTerminated) string {
	out := fmt.Sprintf("exit code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" { // these two say no more than the exit code does
		out = fmt.Sprintf("%s (exit code %d)", t.Reason, t.ExitCode)
	}
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

// allRunning returns whether the runners of all shards run.
func allRunning(s *scope) bool { return podsRunning(s) >= s.plan.Shards }

// podsGrace is the default of Options.PodsGrace.
const podsGrace = 10 * time.Second

// podProblems are the reasons of what keeps pods from running. The first one that occurs is the reason of
// the condition.
var podProblems = []string{
	v1alpha1.ReasonPodCreationFailed, v1alpha1.ReasonUnschedulable, v1alpha1.ReasonImagePullFailed, v1alpha1.ReasonMountFailed,
	v1alpha1.ReasonCreateContainerFailed, v1alpha1.ReasonCrashLoopBackOff,
}

// diagnose returns what keeps pods from running; nil: nothing known. The message stays the same as long as
// the cause does. Pods with the same problem are one entry: "pod a and 2 more cannot be scheduled: ...".
func diagnose(s *scope) *blocker {
	names := map[blocker][]string{}
	for _, pod := range s.pods {
		p := podProblem(pod)
		if p == nil {
			p = s.mountProblem(pod)
		}
		if p != nil {
			names[*p] = append(names[*p], pod.Name)
		}
	}
	all := slices.SortedFunc(maps.Keys(names), func(a, b blocker) int {
		return cmp.Or(cmp.Compare(slices.Index(podProblems, a.Reason), slices.Index(podProblems, b.Reason)), cmp.Compare(a.Message, b.Message))
	})
	var reasons, out []string
	if p := s.missingPods(); p != nil {
		reasons, out = []string{p.Reason}, []string{p.Message}
	}
	for _, p := range all {
		pods := slices.Sorted(slices.Values(names[p]))
		who := "pod " + pods[0]
		if len(pods) > 1 {
			who += fmt.Sprintf(" and %d more", len(pods)-1)
		}
		reasons, out = append(reasons, p.Reason), append(out, who+" "+p.Message)
	}
	if len(out) == 0 {
		return nil
	}
	return notReady(reasons[0], clip(strings.Join(out, "; "), maxMessage))
}

// missingPods returns a problem when the Job has not created all its pods within Options.PodsGrace.
func (s *scope) missingPods() *blocker {
	missing, since := s.awaitedPods()
	if missing <= 0 || jobSuspended(s.job) {
		return nil
	}
	grace := cmp.Or(s.podsGrace, podsGrace)
	if age := s.now.Sub(since); age < grace {
		s.again(grace - age)
		return nil
	}
	n := s.shards()
	message := fmt.Sprintf("Job %s has created %d of %d pods", s.job.Name, n-missing, n)
	if s.podsError != "" {
		return notReady(v1alpha1.ReasonPodCreationFailed, message+": "+s.podsError)
	}
	return notReady(v1alpha1.ReasonPodCreationFailed, message+"; kubectl describe job "+s.job.Name+" shows the error")
}

// awaitedPods returns how many pods the Job must create, and since when. After the start these are the pods of shards that were added.
func (s *scope) awaitedPods() (missing int, since time.Time) {
	if s.job == nil {
		return 0, since
	}
	since = s.job.CreationTimestamp.Time
	if s.run.Admitted != nil && s.run.Admitted.After(since) {
		since = s.run.Admitted.Time
	}
	if !s.startDecided() {
		return s.plan.Shards - len(s.pods), since
	}
	for i := range s.run.Edits {
		if e := &s.run.Edits[i]; e.Field == fieldShards {
			since = e.Time.Time
		}
	}
	for i := range min(s.shards(), completions(s.job)) {
		if last := s.run.Last(i); s.pods[i] == nil && !spent(s.job, i) && (last == nil || last.Loss == nil) {
			missing++
		}
	}
	return missing, since
}

// jobSuspended returns whether a queue such as Kueue holds the Job back.
func jobSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// podProblem returns what keeps one pod from running. The message continues "pod NAME".
func podProblem(pod *corev1.Pod) *blocker {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return notReady(v1alpha1.ReasonUnschedulable, "cannot be scheduled: "+clip(c.Message, 512))
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil {
			if p := waitingProblem(&c, w); p != nil {
				return p
			}
		}
	}
	return nil
}

// mountGrace is how long the kubelet can take to mount the volumes of a pod before the operator reports it.
const mountGrace = 10 * time.Second

// mountProblem reports a pod that has a node and no volumes. The kubelet reports the missing object or key
// only in an event of the pod, so the message lists all objects that the spec mounts.
func (s *scope) mountProblem(pod *corev1.Pod) *blocker {
	var files []string
	for _, m := range compile.Mounts(&s.lt.Spec) {
		for _, item := range m.Items {
			files = append(files, fmt.Sprintf("%s %s (key %s)", m.Kind, m.Name, item.Key))
		}
	}
	since, waits := waitsForVolumes(pod)
	if len(files) == 0 || !waits {
		return nil
	}
	if left := since.Add(mountGrace).Sub(s.now); left > 0 {
		s.again(left)
		return nil
	}
	if s.mountError != "" {
		return notReady(v1alpha1.ReasonMountFailed, "cannot mount its volumes: "+s.mountError)
	}
	return notReady(v1alpha1.ReasonMountFailed, clip("cannot mount its volumes; check that these exist: "+strings.Join(files, ", "), 1024))
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

// waitingProblem returns why a container waits. It leaves out what the kubelet counts, such as the length of a
// back-off, because each try would change the message.
func waitingProblem(c *corev1.ContainerStatus, w *corev1.ContainerStateWaiting) *blocker {
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return notReady(v1alpha1.ReasonImagePullFailed, fmt.Sprintf("cannot pull image %q of container %s", c.Image, c.Name))
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return notReady(v1alpha1.ReasonCreateContainerFailed, fmt.Sprintf("cannot start container %s: %s", c.Name, clip(w.Message, 512)))
	case "CrashLoopBackOff":
		why := ""
		if t := c.LastTerminationState.Terminated; t != nil {
			why = ": " + terminated(t)
		}
		return notReady(v1alpha1.ReasonCrashLoopBackOff, fmt.Sprintf("restarts container %s repeatedly%s", c.Name, why))
	}
	return nil
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
