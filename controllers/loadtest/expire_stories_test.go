package loadtest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// keptFor configures runner.ttlAfterFinished.
func keptFor(ttl time.Duration) func(*configv1alpha1.OperatorConfig) {
	return func(c *configv1alpha1.OperatorConfig) { c.Runner.TTLAfterFinished = &metav1.Duration{Duration: ttl} }
}

// finished runs a test of two shards, and waits until its Job has ended.
func (w *world) finished(name string) *v1alpha1.LoadTest {
	w.Helper()
	w.apply(twoShards(name, time.Second).Build())
	lt := w.awaitPhase(name, v1alpha1.PhaseCompleted)
	w.Eventually(func() bool {
		job := &batchv1.Job{}
		return w.exists(job, name+"-1") && job.Status.CompletionTime != nil
	}).Should(gomega.BeTrue(), "the Job of %s does not end", name)
	w.wantEvents(name, eventsOfARun...) // the next operator does not repeat those that this one has not sent
	return lt
}

// eventsOfARun are the reasons of the events about a test that completes.
var eventsOfARun = []string{"PlanReady", "RunnersReady", "Started", "Completed"}

// wantKept expects what remains of a test whose Job is gone: the status without a change, the report and the run record.
func (w *world) wantKept(lt *v1alpha1.LoadTest) {
	w.Helper()
	now := w.get(lt.Name)
	if now.ResourceVersion != lt.ResourceVersion {
		w.Errorf("the LoadTest changed from\n%+v\nto\n%+v", lt.Status, now.Status)
	}
	w.report(now)
	if w.run(lt.Name) == nil {
		w.Error("the run record is gone")
	}
	w.Expect(w.eventsOf(lt.Name)).To(gomega.ConsistOf(eventsOfARun))
}

func TestSecretIsGoneAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	lt := w.finished("ended")
	w.awaitGone(&corev1.Secret{}, desired.TLSName(lt))
	w.operator()
	w.edit("ended", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
	w.await("ended", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	if w.exists(&corev1.Secret{}, desired.TLSName(lt)) {
		t.Error("the Secret is back")
	}
	for _, pod := range []string{"ended-1-0", "ended-1-1"} {
		if !w.exists(&corev1.Pod{}, pod) {
			t.Errorf("pod %s is gone before its logs could be read", pod)
		}
	}
	if !w.exists(&batchv1.Job{}, "ended-1") {
		t.Error("the Job is gone before the logs of its pods could be read")
	}
}

// A user deleted the Secret of a running test and created another one of its name.
func TestSecretOfAnotherOwnerStays(t *testing.T) {
	w := newWorld(t)
	lt := w.apply(twoShards("replaced", load).Build())
	w.awaitLoad("replaced", 100)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: desired.TLSName(lt)}}
	w.must(w.client.Delete(w.ctx, secret))
	other := &corev1.Secret{ObjectMeta: *secret.ObjectMeta.DeepCopy(), StringData: map[string]string{"of": "a user"}}
	w.must(w.client.Create(w.ctx, other))
	w.successor("replaced")
	w.endLoad("replaced")
	w.awaitPhase("replaced", v1alpha1.PhaseCompleted)
	w.edit("replaced", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
	w.await("replaced", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	if !w.exists(&corev1.Secret{}, other.Name) {
		t.Error("the operator deleted a Secret that it did not create")
	}
}

// A test that a user stops before its start has no logs to read.
func TestNothingRemainsOfATestThatDidNotStart(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	lt := w.apply(twoShards("unstarted", load).Build())
	w.awaitPhase("unstarted", v1alpha1.PhaseStarting)
	if !w.exists(&corev1.Secret{}, desired.TLSName(lt)) {
		t.Error("a test that starts has no Secret")
	}
	w.patch("unstarted", "/spec/stop", "true")
	w.awaitPhase("unstarted", v1alpha1.PhaseStopped)
	w.awaitGone(&corev1.Secret{}, desired.TLSName(lt))
	w.awaitGone(&batchv1.Job{}, "unstarted-1")
}

func TestJobIsGoneAfterTheTTL(t *testing.T) {
	w := newWorld(t)
	w.finished("read")
	w.operator() // its cache has the end of the Job
	w.later(58 * time.Minute)
	w.edit("read", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](7200) }) // brings a pass
	lt := w.await("read", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	job := &batchv1.Job{}
	if !w.exists(job, "read-1") {
		t.Fatal("the Job is gone before its TTL")
	}
	w.later(2 * time.Minute)
	w.operator()
	w.awaitGone(&batchv1.Job{}, "read-1")
	w.operator()
	w.finished("after") // the operator has had a pass of both
	w.wantKept(lt)
	var jobs batchv1.JobList
	w.must(w.client.List(w.ctx, &jobs, client.InNamespace(w.ns)))
	if n := len(jobs.Items); n != 1 {
		t.Errorf("%d Jobs, want the one of the second test", n)
	}
	for _, name := range []string{"read-1-0", "read-1-1"} { // which the garbage collector deletes, where there is one
		if pod := (&corev1.Pod{}); w.exists(pod, name) && !metav1.IsControlledBy(pod, job) {
			t.Errorf("pod %s does not go with its Job", name)
		}
	}
}

// The operator plans the pass that deletes the Job: no event brings it.
func TestJobIsGoneWithoutAnEvent(t *testing.T) {
	const ttl = 4 * time.Second
	w := newWorldWith(t, keptFor(ttl))
	w.apply(twoShards("brief", time.Second).Build())
	lt := w.awaitPhase("brief", v1alpha1.PhaseCompleted)
	w.awaitGone(&batchv1.Job{}, "brief-1")
	if after := time.Since(lt.Status.CompletionTime.Time); after < ttl {
		t.Errorf("the Job is gone after %v", after)
	}
	w.wantEvents("brief", eventsOfARun...)
	w.wantKept(lt)
}

// A TTL of zero leaves the runners the time to end.
func TestJobIsGoneAtOnce(t *testing.T) {
	w := newWorldWith(t, keptFor(0))
	sidecar := rawTemplate(`{"spec":{"containers":[{"name":"sleeper","image":"sleeper:test"}]}}`)
	w.apply(twoShards("sidecar", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) { s.Runner.PodTemplate = sidecar }).Build())
	w.apply(twoShards("alone", time.Second).Build())
	lt := w.awaitPhase("alone", v1alpha1.PhaseCompleted)
	w.awaitGone(&batchv1.Job{}, "alone-1")
	for _, pod := range []string{"alone-1-0", "alone-1-1"} {
		if !w.runner(pod).Acked() {
			t.Errorf("the Job is gone before the runner of pod %s ended", pod)
		}
	}
	w.awaitGone(&corev1.Secret{}, desired.TLSName(lt))
	w.awaitPhase("sidecar", v1alpha1.PhaseCompleted)
	w.Eventually(func() bool { return w.runnerEnded("sidecar-1-0") && w.runnerEnded("sidecar-1-1") }).Should(gomega.BeTrue())
	if !w.exists(&batchv1.Job{}, "sidecar-1") {
		t.Error("the Job is gone, although a sidecar has podGrace to end")
	}
}

// Without the run record, status has the time of the end.
func TestRemainsWithoutARecord(t *testing.T) {
	w := newWorld(t)
	lt := w.finished("lost")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.ns, Name: desired.TLSName(lt), OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(lt, v1alpha1.GroupVersion.WithKind("LoadTest"))},
	}}
	w.awaitGone(&corev1.Secret{}, secret.Name)
	w.endOperator()
	w.must(w.client.Create(w.ctx, secret)) // as if the operator had ended before it deleted the Secret
	run := &statev1alpha1.LoadTestRun{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: desired.RunName(lt)}}
	w.must(w.client.Delete(w.ctx, run))
	w.operator()
	w.awaitGone(&corev1.Secret{}, secret.Name)
	if !w.exists(&batchv1.Job{}, "lost-1") {
		t.Error("the Job is gone before its TTL")
	}
	w.later(time.Hour)
	w.operator()
	w.awaitGone(&batchv1.Job{}, "lost-1")
	if now := w.get("lost"); now.ResourceVersion != lt.ResourceVersion {
		t.Errorf("the LoadTest changed from\n%+v\nto\n%+v", lt.Status, now.Status)
	}
	w.report(lt)
}

// A user deletes the damaged record of a finished test, as the runbook says.
func TestDamagedRecordOfAFinishedTestIsDeleted(t *testing.T) {
	w := newWorld(t)
	lt := w.finished("damaged")
	w.endOperator()
	w.rewriteRecord(lt, func(record map[string]any) { record["version"] = 99 })
	w.operator()
	w.await("damaged", "failing", func(lt *v1alpha1.LoadTest) bool {
		return hasCondition(lt, v1alpha1.ConditionReconciling, v1alpha1.ReasonRetryingAfterError)
	})
	w.must(w.client.Delete(w.ctx, &statev1alpha1.LoadTestRun{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: desired.RunName(lt)}}))
	now := w.await("damaged", "well", func(lt *v1alpha1.LoadTest) bool {
		return meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionReconciling) == nil
	})
	if diff := cmp.Diff(lt.Status, now.Status); diff != "" {
		t.Errorf("status (-before +after):\n%s", diff)
	}
}
