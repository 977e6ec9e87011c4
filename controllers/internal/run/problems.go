package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/internal/compile"
)

// podsGrace is the default of Options.PodsGrace.
const podsGrace = 10 * time.Second

// PodProblems are the reasons of what keeps pods from running. The first one that occurs is the reason of
// the condition.
var PodProblems = []string{
	v1alpha1.ReasonPodCreationFailed, v1alpha1.ReasonUnschedulable, v1alpha1.ReasonImagePullFailed,
	v1alpha1.ReasonMountFailed,
	v1alpha1.ReasonCreateContainerFailed, v1alpha1.ReasonCrashLoopBackOff,
}

// Diagnose returns what keeps pods from running; nil: nothing known. The message stays the same as long as
// the cause does. Pods with the same problem are one entry: "pod a and 2 more cannot be scheduled: ...".
func Diagnose(f *Facts) *Blocker {
	names := map[Blocker][]string{}
	for _, pod := range f.Pods {
		p := PodProblem(pod)
		if p == nil {
			p = f.MountProblem(pod)
		}
		if p != nil {
			names[*p] = append(names[*p], pod.Name)
		}
	}
	all := slices.SortedFunc(maps.Keys(names), func(a, b Blocker) int {
		return cmp.Or(cmp.Compare(slices.Index(PodProblems, a.Reason), slices.Index(PodProblems, b.Reason)),
			cmp.Compare(a.Message, b.Message))
	})
	var reasons, out []string
	if p := f.MissingPods(); p != nil {
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
	return NotReady(reasons[0], shorten.To(strings.Join(out, "; "), MaxMessage))
}

// MissingPods returns a problem when the Job has not created all its pods within Options.PodsGrace.
func (f *Facts) MissingPods() *Blocker {
	missing, since := f.awaitedPods()
	if missing <= 0 || JobSuspended(f.Job) {
		return nil
	}
	grace := cmp.Or(f.PodsGrace, podsGrace)
	if age := f.Now.Sub(since); age < grace {
		f.Again(grace - age)
		return nil
	}
	n := f.Shards()
	message := fmt.Sprintf("Job %s has created %d of %d pods", f.Job.Name, n-missing, n)
	if f.PodsError != "" {
		return NotReady(v1alpha1.ReasonPodCreationFailed, message+": "+f.PodsError)
	}
	return NotReady(v1alpha1.ReasonPodCreationFailed, message+"; kubectl describe job "+f.Job.Name+" shows the error")
}

// awaitedPods returns how many pods the Job must create, and since when. After the start these are the pods of shards
// that were added.
func (f *Facts) awaitedPods() (missing int, since time.Time) {
	if f.Job == nil {
		return 0, since
	}
	since = f.JobSince()
	if !f.StartDecided() {
		return f.Plan.Shards - len(f.Pods), since
	}
	for i := range f.Record.Edits {
		if e := &f.Record.Edits[i]; e.Field == FieldShards {
			since = e.Time.Time
		}
	}
	for i := range min(f.Shards(), Completions(f.Job)) {
		if last := f.Record.Last(i); f.Pods[i] == nil && !Spent(f.Job, i) && (last == nil || last.Loss == nil) {
			missing++
		}
	}
	return missing, since
}

// PodProblem returns what keeps one pod from running. The message continues "pod NAME".
func PodProblem(pod *corev1.Pod) *Blocker {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return NotReady(v1alpha1.ReasonUnschedulable, "cannot be scheduled: "+shorten.To(c.Message, 512))
		}
	}
	for _, all := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range all {
			if w := all[i].State.Waiting; w != nil {
				if p := waitingProblem(&all[i], w); p != nil {
					return p
				}
			}
		}
	}
	return nil
}

// mountGrace is how long the kubelet can take to mount the volumes of a pod before the operator reports it.
const mountGrace = 10 * time.Second

// MountProblem reports a pod that has a node and no volumes. The kubelet reports the missing object or key
// only in an event of the pod, so the message lists all objects that the pod mounts.
func (f *Facts) MountProblem(pod *corev1.Pod) *Blocker {
	since, waits := waitsForVolumes(pod)
	if !waits {
		return nil
	}
	files := []string{"ConfigMap " + f.Record.Plan.Name, "Secret " + desired.TLSName(f.LoadTest)}
	for _, m := range compile.Mounts(&f.LoadTest.Spec) {
		for _, item := range m.Items {
			files = append(files, fmt.Sprintf("%s %s (key %s)", m.Kind, m.Name, item.Key))
		}
	}
	if left := since.Add(mountGrace).Sub(f.Now); left > 0 {
		f.Again(left)
		return nil
	}
	if f.MountError != "" {
		return NotReady(v1alpha1.ReasonMountFailed, "cannot mount its volumes: "+f.MountError)
	}
	return NotReady(v1alpha1.ReasonMountFailed, shorten.To("cannot mount its volumes; check that these exist: "+
		strings.Join(files, ", "), 1024))
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
func waitingProblem(c *corev1.ContainerStatus, w *corev1.ContainerStateWaiting) *Blocker {
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"RegistryUnavailable":
		return NotReady(v1alpha1.ReasonImagePullFailed, fmt.Sprintf("cannot pull image %q of container %s", c.Image, c.Name))
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return NotReady(v1alpha1.ReasonCreateContainerFailed, fmt.Sprintf("cannot start container %s: %s", c.Name,
			shorten.To(w.Message, 512)))
	case "CrashLoopBackOff":
		why := ""
		if t := c.LastTerminationState.Terminated; t != nil {
			why = ": " + terminated(t)
		}
		return NotReady(v1alpha1.ReasonCrashLoopBackOff, fmt.Sprintf("restarts container %s repeatedly%s", c.Name, why))
	}
	return nil
}
