package cluster

import (
	"fmt"
	"maps"
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
	// ended has the indices whose pod ended: whether it succeeded.
	ended map[int]bool
	// retry is when it creates pods again after an error.
	retry time.Time
}

// syncJob creates and deletes the pods of a Job, and writes its status.
func (c *Cluster) syncJob(of *batchv1.Job) {
	if of.DeletionTimestamp != nil || jobHas(of, batchv1.JobComplete) || jobHas(of, batchv1.JobFailed) {
		return
	}
	j := c.jobs[of.UID]
	if j == nil {
		j = &job{ended: map[int]bool{}}
		c.jobs[of.UID] = j
	}
	completions, have := int(ptr.Deref(of.Spec.Completions, 1)), map[int]bool{}
	if ptr.Deref(of.Spec.Suspend, false) {
		completions = 0
	}
	var active, ready, terminating int32
	for _, p := range c.podsOf(of) {
		index, _ := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
		_, known := j.ended[index]
		switch {
		case isEnded(p):
			// A pod is counted once: the finalizer goes then.
			if !known && slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) {
				j.ended[index] = p.Status.Phase == corev1.PodSucceeded
			}
		case p.DeletionTimestamp != nil:
			terminating++
			have[index] = true
		case index >= completions:
			_ = c.opts.Server.Delete(p, metav1.DeleteOptions{})
			terminating++
		default:
			active++
			have[index] = true
			if isReady(p) {
				ready++
			}
		}
	}
	for index := range completions {
		if _, ended := j.ended[index]; !ended && !have[index] && c.create(of, j, index) {
			active++
		}
	}
	c.writeStatus(of, j, batchv1.JobStatus{Active: active, Ready: &ready, Terminating: &terminating})
}

func (c *Cluster) podsOf(of *batchv1.Job) []*corev1.Pod {
	return slices.DeleteFunc(apiserver.Objects[*corev1.Pod](c.opts.Server), func(p *corev1.Pod) bool {
		return !metav1.IsControlledBy(p, of)
	})
}

// create creates the pod of an index. It returns whether it did.
func (c *Cluster) create(of *batchv1.Job, j *job, index int) bool {
	if c.at(j.retry); time.Now().Before(j.retry) {
		return false
	}
	p := &corev1.Pod{Spec: *of.Spec.Template.Spec.DeepCopy()}
	number := strconv.Itoa(index)
	p.Namespace, p.Name = of.Namespace, fmt.Sprintf("%s-%s-%05x", of.Name, number, c.opts.Rand.IntN(1<<20))
	p.Labels = map[string]string{batchv1.ControllerUidLabel: string(of.UID), batchv1.JobNameLabel: of.Name}
	p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: number}
	maps.Copy(p.Labels, p.Annotations)
	maps.Copy(p.Labels, of.Spec.Template.Labels)
	maps.Copy(p.Annotations, of.Spec.Template.Annotations)
	p.Spec.Hostname = of.Name + "-" + number
	p.Finalizers = []string{batchv1.JobTrackingFinalizer}
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, batchv1.SchemeGroupVersion.WithKind("Job"))}
	p.Status.Phase = corev1.PodPending
	_, err := apiserver.Create(c.opts.Server, p)
	if err != nil {
		j.retry = time.Now().Add(10 * time.Second)
		c.event(of, "FailedCreate", "Error creating: "+err.Error())
		c.at(j.retry)
	}
	return err == nil
}

// event creates an event of an object.
func (c *Cluster) event(of client.Object, reason, message string) {
	e := &corev1.Event{Reason: reason, Message: message, Type: corev1.EventTypeWarning, LastTimestamp: now()}
	e.InvolvedObject = corev1.ObjectReference{Namespace: of.GetNamespace(), Name: of.GetName(), UID: of.GetUID()}
	e.Namespace, e.Name = of.GetNamespace(), fmt.Sprintf("%s.%x", of.GetName(), time.Now().UnixNano())
	_, _ = apiserver.Create(c.opts.Server, e)
}

// writeStatus writes the status of a Job, and then lets the pods go that it has counted.
func (c *Cluster) writeStatus(of *batchv1.Job, j *job, next batchv1.JobStatus) {
	ended := c.podsOf(of)
	_ = apiserver.Change(c.opts.Server, of.Namespace, of.Name, func(o *batchv1.Job) {
		completions, suspended := int(ptr.Deref(o.Spec.Completions, 1)), ptr.Deref(o.Spec.Suspend, false)
		maps.DeleteFunc(j.ended, func(index int, _ bool) bool { return index >= completions })
		next.Conditions, next.StartTime = o.Status.Conditions, o.Status.StartTime
		next.CompletedIndexes, next.Succeeded = indices(j.ended, true, completions)
		failed, n := indices(j.ended, false, completions)
		next.FailedIndexes, next.Failed = &failed, n
		o.Status = next
		setJob(o, batchv1.JobSuspended, suspended)
		if o.Status.StartTime == nil && !suspended {
			o.Status.StartTime = ptr.To(now())
		}
		if len(j.ended) == completions && next.Active == 0 && *next.Terminating == 0 {
			setJob(o, batchv1.JobComplete, n == 0)
			setJob(o, batchv1.JobFailed, n > 0)
		}
	})
	for _, p := range ended {
		if isEnded(p) {
			_ = c.opts.Server.RemoveFinalizer(p, batchv1.JobTrackingFinalizer)
		}
	}
}

// indices returns those that succeeded, or those that failed, as the status of a Job has them: 0,3-5.
func indices(ended map[int]bool, succeeded bool, completions int) (out string, n int32) {
	is := func(index int) bool { did, ok := ended[index]; return ok && did == succeeded }
	for i := 0; i < completions; i++ {
		if !is(i) {
			continue
		}
		from := i
		out, n = out+","+strconv.Itoa(i), n+1
		for ; is(i + 1); i++ {
			n++
		}
		if i > from {
			out += "-" + strconv.Itoa(i)
		}
	}
	return strings.TrimPrefix(out, ","), n
}

func jobHas(of *batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(of.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

// setJob sets a condition. One that was never true stays absent.
func setJob(o *batchv1.Job, condition batchv1.JobConditionType, is bool) {
	if jobHas(o, condition) == is {
		return
	}
	to := batchv1.JobCondition{Type: condition, Status: corev1.ConditionFalse, LastTransitionTime: now()}
	if is {
		to.Status = corev1.ConditionTrue
	}
	others := slices.DeleteFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == condition })
	o.Status.Conditions = append(others, to)
}

func now() metav1.Time { return metav1.Now().Rfc3339Copy() }
