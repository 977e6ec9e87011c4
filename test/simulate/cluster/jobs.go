package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

// job is what the Job controller knows of an Indexed Job with backoffLimitPerIndex 0.
type job struct {
	// ended has the exit of each index: whether it succeeded.
	ended map[int]bool
	// retry is when it creates pods again after an error.
	retry time.Time
}

// syncJob creates and deletes the pods of a Job, and writes its status.
func (c *Cluster) syncJob(of *batchv1.Job) {
	j := c.jobs[of.UID]
	if j == nil {
		j = &job{ended: map[int]bool{}}
		c.jobs[of.UID] = j
	}
	if of.DeletionTimestamp != nil || isFinished(of) {
		return
	}
	completions := int(ptr.Deref(of.Spec.Completions, 1))
	suspended := ptr.Deref(of.Spec.Suspend, false)
	have, status := map[int]bool{}, batchv1.JobStatus{}
	for _, p := range apiserver.Objects[*corev1.Pod](c.opts.Server) {
		index, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
		if !metav1.IsControlledBy(p, of) || err != nil {
			continue
		}
		switch {
		case isEnded(p):
			if _, known := j.ended[index]; !known && index < completions {
				j.ended[index] = p.Status.Phase == corev1.PodSucceeded
			}
			continue
		case p.DeletionTimestamp != nil:
			status.Terminating = ptr.To(ptr.Deref(status.Terminating, 0) + 1)
		case suspended || index >= completions:
			_ = c.opts.Server.Delete(p, metav1.DeleteOptions{})
		default:
			status.Active++
			if isReady(p) {
				status.Ready = ptr.To(ptr.Deref(status.Ready, 0) + 1)
			}
		}
		have[index] = true
	}
	for index := range j.ended {
		if index >= completions {
			delete(j.ended, index)
		}
	}
	for index := 0; index < completions && !suspended; index++ {
		if _, ended := j.ended[index]; !ended && !have[index] && c.create(of, j, index) {
			status.Active++
		}
	}
	c.writeStatus(of, j, status, completions)
}

// create creates the pod of an index. It returns whether it did.
func (c *Cluster) create(of *batchv1.Job, j *job, index int) bool {
	if time.Now().Before(j.retry) {
		c.at(j.retry)
		return false
	}
	p := &corev1.Pod{ObjectMeta: *of.Spec.Template.ObjectMeta.DeepCopy(), Spec: *of.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name = of.Namespace, fmt.Sprintf("%s-%d-%05x", of.Name, index, c.opts.Rand.IntN(1<<20))
	number := strconv.Itoa(index)
	p.Labels, p.Annotations = with(p.Labels, batchv1.ControllerUidLabel, string(of.UID)), with(p.Annotations,
		batchv1.JobCompletionIndexAnnotation, number)
	p.Labels = with(with(p.Labels, batchv1.JobNameLabel, of.Name), batchv1.JobCompletionIndexAnnotation, number)
	p.Spec.Hostname = of.Name + "-" + number
	p.Finalizers = []string{batchv1.JobTrackingFinalizer}
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, batchv1.SchemeGroupVersion.WithKind("Job"))}
	p.Status.Phase = corev1.PodPending
	_, err := apiserver.Create(c.opts.Server, p)
	if err == nil {
		return true
	}
	j.retry = time.Now().Add(10 * time.Second)
	c.event(of, "Job", "FailedCreate", "Error creating: "+err.Error())
	c.at(j.retry)
	return false
}

// event creates an event of an object.
func (c *Cluster) event(of client.Object, kind, reason, message string) {
	e := &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: of.GetNamespace(), Name: of.GetName(),
		UID: of.GetUID()}, Reason: reason, Message: message, Type: corev1.EventTypeWarning, LastTimestamp: now()}
	e.Namespace, e.Name = of.GetNamespace(), fmt.Sprintf("%s.%x", of.GetName(), time.Now().UnixNano())
	_, _ = apiserver.Create(c.opts.Server, e)
}

// writeStatus writes what the Job controller knows, and then lets pods go that it has counted.
func (c *Cluster) writeStatus(of *batchv1.Job, j *job, s batchv1.JobStatus, completions int) {
	succeeded, failed := indexes(j.ended, true), indexes(j.ended, false)
	_ = apiserver.Change(c.opts.Server, of.Namespace, of.Name, func(o *batchv1.Job) {
		o.Status.Active, o.Status.Ready, o.Status.Terminating = s.Active, s.Ready, s.Terminating
		o.Status.Succeeded, o.Status.Failed = int32(len(succeeded)), int32(len(failed))
		o.Status.CompletedIndexes, o.Status.FailedIndexes = ranges(succeeded), ptr.To(ranges(failed))
		suspended := ptr.Deref(o.Spec.Suspend, false)
		setJobCondition(o, batchv1.JobSuspended, suspended, "JobSuspended")
		if suspended {
			o.Status.StartTime = nil
		} else if o.Status.StartTime == nil {
			o.Status.StartTime = ptr.To(now())
		}
		if len(j.ended) < completions || s.Terminating != nil || s.Active > 0 {
			return
		}
		if len(failed) == 0 {
			o.Status.CompletionTime = ptr.To(now())
		}
		setJobCondition(o, batchv1.JobComplete, len(failed) == 0, "CompletionsReached")
		setJobCondition(o, batchv1.JobFailed, len(failed) > 0, "FailedIndexes")
	})
	for _, p := range apiserver.Objects[*corev1.Pod](c.opts.Server) {
		if metav1.IsControlledBy(p, of) && isEnded(p) {
			_ = c.opts.Server.RemoveFinalizer(p, batchv1.JobTrackingFinalizer)
		}
	}
}

// setJobCondition sets a condition. One that was never true is not set to false.
func setJobCondition(o *batchv1.Job, of batchv1.JobConditionType, is bool, reason string) {
	i := slices.IndexFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == of })
	status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[is]
	switch {
	case i < 0 && is:
		o.Status.Conditions = append(o.Status.Conditions, batchv1.JobCondition{Type: of, Status: status, Reason: reason,
			LastTransitionTime: now()})
	case i >= 0 && o.Status.Conditions[i].Status != status:
		o.Status.Conditions[i].Status, o.Status.Conditions[i].LastTransitionTime = status, now()
	}
}

func isFinished(of *batchv1.Job) bool {
	return slices.ContainsFunc(of.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type != batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	})
}

// indexes returns the indexes that succeeded, or those that failed.
func indexes(ended map[int]bool, succeeded bool) (out []int) {
	for index, did := range ended {
		if did == succeeded {
			out = append(out, index)
		}
	}
	slices.Sort(out)
	return out
}

// ranges writes numbers as the status of a Job has them: 0,3-5.
func ranges(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i + 1
		for j < len(numbers) && numbers[j] == numbers[j-1]+1 {
			j++
		}
		text := strconv.Itoa(numbers[i])
		if j > i+1 {
			text += "-" + strconv.Itoa(numbers[j-1])
		}
		out, i = append(out, text), j
	}
	return strings.Join(out, ",")
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func now() metav1.Time { return metav1.Now().Rfc3339Copy() }
