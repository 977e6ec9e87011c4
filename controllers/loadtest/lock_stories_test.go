package loadtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// locked sends 1000 requests a second for d, and needs lock "core".
func locked(name string, d time.Duration) *builder.LoadTest {
	return twoShards(name, d).Edit(func(s *v1alpha1.LoadTestSpec) { s.Lock = "core" })
}

// awaitLocked waits until RunnersReady shows that a test waits for its lock, with a text.
func (w *world) awaitLocked(name, text string) *v1alpha1.LoadTest {
	w.Helper()
	return w.awaitMessage(name, v1alpha1.ConditionRunnersReady, v1alpha1.ReasonWaitingForLock, text)
}

// wantNoRunners checks that a test has no Job.
func (w *world) wantNoRunners(name string) {
	w.Helper()
	if w.exists(&batchv1.Job{}, name+"-1") {
		w.Errorf("%s has a Job", name)
	}
}

func TestLock(t *testing.T) {
	w := newWorld(t)
	w.apply(locked("a", load).Build())
	w.awaitLoad("a", 100)
	w.apply(locked("b", load).Build())
	lt := w.awaitLocked("b", "0 of 2 runners are ready: lock core is held by LoadTest "+w.ns+"/a")
	if lt.Status.Phase != v1alpha1.PhasePending {
		t.Errorf("phase %s", lt.Status.Phase)
	}
	w.apply(locked("c", time.Second).Build())
	w.awaitLocked("c", "lock core is held by LoadTest "+w.ns+"/a; before this test: LoadTest "+w.ns+"/b")
	w.apply(twoShards("other", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) { s.Lock = "other" }).Build())
	w.awaitPhase("other", v1alpha1.PhaseCompleted)
	w.wantNoRunners("b")
	w.wantNoRunners("c")

	w.endOperator() // the next one finds a running and two that wait
	w.operator()
	w.endLoad("a")
	a := w.awaitPhase("a", v1alpha1.PhaseCompleted)
	b := w.awaitLoad("b", 100)
	if b.Status.StartTime.Before(a.Status.CompletionTime) {
		t.Errorf("b started at %v, before a ended at %v", b.Status.StartTime, a.Status.CompletionTime)
	}
	w.wantNoRunners("c")
	w.edit("b", func(s *v1alpha1.LoadTestSpec) { s.Stop = true })
	w.awaitPhase("c", v1alpha1.PhaseCompleted)
	for _, name := range []string{"a", "b", "c"} { // the operator deletes a lock that no LoadTest names
		w.must(w.client.Delete(w.ctx, w.get(name)))
	}
	var jobs []client.Object
	for _, job := range w.jobs() {
		jobs = append(jobs, &job)
	}
	w.collectGarbage(jobs...) // the pod of c may not have ended
	w.awaitGone(&statev1alpha1.LoadTestLock{}, "core")
}

// A holder whose Job the API server refuses is passed over after a while, and gets its turn back.
func TestLockOfARefusedTest(t *testing.T) {
	w := newWorld(t)
	w.refuseJobs()
	w.apply(locked("a", time.Second).Build())
	w.awaitMessage("a", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "the API server refuses Job a-1: ")
	w.apply(locked("b", time.Second).Build())
	w.awaitLocked("b", "held by LoadTest "+w.ns+"/a")
	w.later(time.Minute)
	w.edit("a", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // sooner than the end of its turn
	w.awaitMessage("b", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "the API server refuses Job b-1: ")
	w.awaitLocked("a", "held by LoadTest "+w.ns+"/b")
	w.later(time.Minute)
	w.edit("b", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) })
	w.awaitMessage("a", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "the API server refuses Job a-1: ")
}

// The lock of a LoadTest that was deleted is free when its pods have ended.
func TestLockOfADeletedTest(t *testing.T) {
	w := newWorld(t)
	a := w.apply(locked("a", load).Build())
	w.awaitLoad("a", 100)
	w.apply(locked("b", time.Second).Build())
	w.awaitLocked("b", "a")
	w.runner("a-1-0").Silence() // else the operator ends them
	w.runner("a-1-1").Silence()
	w.must(w.client.Delete(w.ctx, a))
	w.awaitMessage("b", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonLockNotGiven, "held by LoadTest "+w.ns+"/a, whose Job a-1 has not ended")
	w.must(w.client.Delete(w.ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "a-1"}}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.awaitMessage("b", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonLockNotGiven, "held by LoadTest "+w.ns+"/a, whose pod a-1-0 has not ended")
	w.sweep(a)
	w.awaitPhase("b", v1alpha1.PhaseCompleted)
}

// A test that is suspended before its start lets the next one have the lock, and waits again after that.
func TestLockOfASuspendedTest(t *testing.T) {
	w := newWorld(t)
	w.holding(func(job *batchv1.Job, index int) bool { return strings.HasPrefix(job.Name, "a-") })
	w.apply(locked("a", time.Second).Build())
	w.awaitPhase("a", v1alpha1.PhaseStarting)
	w.apply(locked("b", load).Build())
	w.awaitLocked("b", "held by LoadTest "+w.ns+"/a")
	w.edit("a", func(s *v1alpha1.LoadTestSpec) { s.Suspend = true })
	w.awaitLoad("b", 100)
	w.edit("a", func(s *v1alpha1.LoadTestSpec) { s.Suspend = false })
	w.awaitLocked("a", "held by LoadTest "+w.ns+"/b")
	w.holding(nil)
	w.endLoad("b")
	w.awaitPhase("a", v1alpha1.PhaseCompleted)
}

// The time in which a test waits for its lock counts for no timeout.
func TestLockTakesNoTime(t *testing.T) {
	w := newWorld(t)
	w.apply(locked("a", load).Build())
	w.awaitLoad("a", 100)
	w.apply(locked("b", load).Deadline(3600).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Runner.StartTimeout = &v1alpha1.Duration{Duration: 30 * time.Minute}
	}).Build())
	w.awaitLocked("b", "a")
	w.later(2 * time.Hour)
	w.edit("a", func(s *v1alpha1.LoadTestSpec) { s.Stop = true })
	w.awaitLoad("b", 100)
	w.later(time.Hour) // the deadline counts from the lock
	lt := w.awaitPhase("b", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonDeadlineExceeded)
}

// A wait for a lock ends also if the test needs the lock no more.
func TestLockRemovedAfterAWait(t *testing.T) {
	w := newWorld(t)
	w.apply(locked("a", load).Build())
	w.awaitLoad("a", 100)
	w.apply(locked("b", load).Deadline(3600).Build())
	w.awaitLocked("b", "a")
	w.later(2 * time.Hour)
	w.edit("b", func(s *v1alpha1.LoadTestSpec) { s.Lock = "" })
	w.awaitLoad("b", 100)
}

// The time of a second wait for a lock does not count either.
func TestLockAfterASuspensionTakesNoTime(t *testing.T) {
	w := newWorld(t)
	w.apply(locked("a", load).Build())
	w.awaitLoad("a", 100)
	w.apply(locked("b", load).Deadline(3600).Edit(func(s *v1alpha1.LoadTestSpec) { s.Suspend = true }).Build())
	w.awaitPhase("b", v1alpha1.PhaseSuspended)
	w.suspend("b", false)
	w.awaitLocked("b", "a")
	w.later(2 * time.Hour)
	w.edit("b", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](36000) }) // brings a pass
	lt := w.await("b", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 3 })
	w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForLock)
	w.edit("a", func(s *v1alpha1.LoadTestSpec) { s.Stop = true })
	w.awaitLoad("b", 100)
}

// A suspended test does not wait for its lock, so the deadline counts; the time in which it waited before does not.
func TestDeadlineOfASuspendedTestWithALock(t *testing.T) {
	w := newWorld(t)
	w.apply(locked("a", load).Build())
	w.awaitLoad("a", 100)
	w.apply(locked("b", load).Deadline(3600).Build())
	w.awaitLocked("b", "a")
	w.later(2 * time.Hour)
	w.suspend("b", true)
	w.awaitMessage("b", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonSuspended, "")
	w.later(59 * time.Minute)
	w.edit("b", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](36000) }) // brings a pass
	lt := w.await("b", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 3 })
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonSuspended)
	w.later(time.Minute)
	w.edit("b", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](36001) }) // brings a pass
	lt = w.awaitPhase("b", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonDeadlineExceeded)
}

// A test that lost its lock, because an administrator gave it to another one, does not start while another one runs.
func TestLockTaken(t *testing.T) {
	w := newWorld(t)
	w.holding(func(job *batchv1.Job, index int) bool { return strings.HasPrefix(job.Name, "a-") })
	w.apply(locked("a", time.Second).Build())
	w.awaitPhase("a", v1alpha1.PhaseStarting)
	b := w.apply(locked("b", load).Build())
	w.awaitLocked("b", "held by LoadTest "+w.ns+"/a")
	w.Eventually(func() error { // the operator writes it, too
		lock := &statev1alpha1.LoadTestLock{}
		if err := w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: "core"}, lock); err != nil {
			return err
		}
		lock.Holder.Name, lock.Holder.UID = b.Name, b.UID
		return w.client.Update(w.ctx, lock)
	}).Should(gomega.Succeed())
	w.awaitLoad("b", 100)
	w.awaitLocked("a", "held by LoadTest "+w.ns+"/b")
	w.holding(nil)
	w.endLoad("b")
	w.awaitPhase("a", v1alpha1.PhaseCompleted)
}

// suspendJob is what a queue such as Kueue does.
func (w *world) suspendJob(name string, suspend bool, change func(*batchv1.Job)) {
	w.Helper()
	w.Eventually(func() error {
		job := &batchv1.Job{}
		if err := w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, job); err != nil {
			return err
		}
		job.Spec.Suspend = ptr.To(suspend)
		if change != nil {
			change(job)
		}
		return w.client.Update(w.ctx, job)
	}).Should(gomega.Succeed())
	w.Eventually(func() bool {
		job := &batchv1.Job{}
		w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, job))
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobSuspended && (c.Status == corev1.ConditionTrue) == suspend
		})
	}).Should(gomega.BeTrue(), "the Job controller has seen suspend: %v of Job %s", suspend, name)
}

// finalizers makes these the finalizers of a pod.
func (w *world) finalizers(name string, all ...string) {
	w.Helper()
	pod := &corev1.Pod{}
	w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, pod))
	before := pod.DeepCopy()
	pod.Finalizers = all
	w.must(w.client.Patch(w.ctx, pod, client.MergeFrom(before)))
}

// Kueue suspends the Job at its creation, adds a node selector and a toleration when it admits it, and can suspend it again.
func TestKueue(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	lt := twoShards("queued", load).Deadline(3600).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Runner.StartTimeout = &v1alpha1.Duration{Duration: 30 * time.Minute}
		s.Runner.PodTemplate = rawTemplate(`{"spec":{"tolerations":[{"key":"load","operator":"Exists"}]}}`)
	}).Build()
	lt.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "load"}
	w.apply(lt)
	w.awaitPhase("queued", v1alpha1.PhaseStarting)
	w.suspendJob("queued-1", true, nil)
	w.holding(nil)
	w.awaitMessage("queued", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonQueued, "0 of 2 runners are ready: Job queued-1 is suspended by a queue")
	w.Eventually(func() bool { return w.run("queued").Queued }).Should(gomega.BeTrue(), "the cache can have the Job of before")
	w.later(2 * time.Hour)
	w.edit("queued", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
	w.await("queued", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	w.wantCondition(w.get("queued"), v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonQueued)

	admitted := func(job *batchv1.Job) {
		job.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "load"}
		job.Spec.Template.Spec.Tolerations = append(job.Spec.Template.Spec.Tolerations, corev1.Toleration{Key: "spot", Operator: corev1.TolerationOpExists})
	}
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.suspendJob("queued-1", false, admitted)
	w.runner("queued-1-0")
	w.awaitMessage("queued", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonWaitingForPods, "1 of 2 pods are running")
	w.finalizers("queued-1-0", "example.com/terminates")
	w.suspendJob("queued-1", true, nil) // another workload preempts it
	w.awaitMessage("queued", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonQueued, "is suspended by a queue")
	w.later(time.Hour)
	w.suspendJob("queued-1", false, nil) // while the pod that it had terminates
	w.runner("queued-1-0-again-1")
	w.awaitMessage("queued", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonWaitingForPods, "1 of 2 pods are running")
	w.finalizers("queued-1-0")
	w.awaitGone(&corev1.Pod{}, "queued-1-0")
	w.holding(nil)
	w.awaitLoad("queued", 100)

	job := &batchv1.Job{}
	w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: "queued-1"}, job))
	if job.Labels["kueue.x-k8s.io/queue-name"] != "load" || job.Spec.Template.Spec.NodeSelector["pool"] != "load" || len(job.Spec.Template.Spec.Tolerations) != 2 {
		t.Errorf("labels %v, node selector %v, tolerations %v", job.Labels, job.Spec.Template.Spec.NodeSelector, job.Spec.Template.Spec.Tolerations)
	}
	if run := w.run("queued"); run.Attempt != 1 || run.Losses != 0 {
		t.Errorf("the operator made %d Jobs, and %d of them lost a runner", run.Attempt, run.Losses)
	}
	w.later(time.Hour) // the deadline counts from the last admission
	end := w.awaitPhase("queued", v1alpha1.PhaseFailed)
	if c := meta.FindStatusCondition(end.Status.Conditions, v1alpha1.ConditionFinished); c.Reason != v1alpha1.ReasonDeadlineExceeded {
		t.Errorf("ended with %s: %s; runners %+v", c.Reason, c.Message, end.Status.Runners)
	}
}

// A test that waits in a queue moves to another one with its label.
func TestAnotherQueue(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	const queue = "kueue.x-k8s.io/queue-name"
	lt := twoShards("moved", load).Build()
	lt.Labels = map[string]string{queue: "a"}
	w.apply(lt)
	w.awaitPhase("moved", v1alpha1.PhaseStarting)
	w.suspendJob("moved-1", true, nil)
	job := &batchv1.Job{}
	w.edit("moved", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // a pass has seen all of the Job
	w.await("moved", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	w.awaitMessage("moved", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonQueued, "")
	w.Eventually(func() error {
		lt := w.get("moved")
		lt.Labels[queue] = "b"
		return w.client.Update(w.ctx, lt)
	}).Should(gomega.Succeed())
	w.Eventually(func() bool { return w.exists(job, "moved-2") }).Should(gomega.BeTrue(), "there is no Job for the other queue")
	if job.Labels[queue] != "b" {
		t.Errorf("the second Job has labels %v", job.Labels)
	}
	w.awaitGone(&batchv1.Job{}, "moved-1")
}

// The time in a queue does not count, whatever ends it.
func TestQueueThatATestLeaves(t *testing.T) {
	for name, tt := range map[string]struct{ leave, enter func(*v1alpha1.LoadTestSpec) }{
		"suspended": {func(s *v1alpha1.LoadTestSpec) { s.Suspend = true }, func(s *v1alpha1.LoadTestSpec) { s.Suspend = false }},
		"invalid": {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](0) },
			func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](1000) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.holding(func(*batchv1.Job, int) bool { return true })
			w.apply(twoShards("left", load).Deadline(3600).Build())
			w.awaitPhase("left", v1alpha1.PhaseStarting)
			w.suspendJob("left-1", true, nil)
			w.Eventually(func() bool { return w.run("left").Queued }).Should(gomega.BeTrue())
			w.later(2 * time.Hour)
			w.edit("left", tt.leave)
			w.awaitGone(&batchv1.Job{}, "left-1")
			w.await("left", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
			w.holding(nil)
			w.edit("left", tt.enter)
			w.awaitLoad("left", 100)
		})
	}
}

// A Job that is refused does not wait in the queue of the Job before.
func TestQueueOfAJobThatIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.apply(twoShards("replaced", load).Deadline(3600).Build())
	w.awaitPhase("replaced", v1alpha1.PhaseStarting)
	w.suspendJob("replaced-1", true, nil)
	w.Eventually(func() bool { return w.run("replaced").Queued }).Should(gomega.BeTrue())
	w.later(2 * time.Hour)
	lift := w.refuseJobs()
	w.edit("replaced", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" })
	w.awaitMessage("replaced", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "the API server refuses Job replaced-2: ")
	lift()
	w.holding(nil)
	w.awaitLoad("replaced", 100)
}
