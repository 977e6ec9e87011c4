package loadtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// awaitGone waits until an object does not exist.
func (w *world) awaitGone(o client.Object, name string) {
	w.Helper()
	key := client.ObjectKey{Namespace: w.ns, Name: name}
	w.Eventually(func() bool { return apierrors.IsNotFound(w.client.Get(w.ctx, key, o)) }).Should(gomega.BeTrue(), "%T %s", o, name)
}

func (w *world) exists(o client.Object, name string) bool {
	w.Helper()
	err := w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// runnerEnded returns whether the runner's container in a pod has ended.
func (w *world) runnerEnded(name string) bool {
	pod := &corev1.Pod{}
	return w.exists(pod, name) && pod.Status.ContainerStatuses[0].State.Terminated != nil
}

func TestTTLOfAnInvalidSpec(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("invalid", time.Second).TTL(600).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Chains[0].Steps[0].Template = "absent"
	}).Build())
	lt := w.awaitPhase("invalid", v1alpha1.PhaseInvalid)
	w.later(500 * time.Second)
	w.edit("invalid", func(s *v1alpha1.LoadTestSpec) { s.Chains[0].Steps[0].Template = "gone" }) // an event, which brings a pass
	w.await("invalid", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	w.later(100 * time.Second)
	edit := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))
	w.must(client.IgnoreNotFound(w.client.Patch(w.ctx, lt, edit))) // brings the next pass; an earlier one can have the new time
	w.awaitGone(lt, "invalid")
}

// The operator was away while a LoadTest with a finalizer was deleted: no collector knows its runners.
func TestDeletedWhileTheOperatorWasAway(t *testing.T) {
	w := newWorld(t)
	lt := twoShards("kept", load).Build()
	lt.Finalizers = []string{"example.com/keep"}
	lt = w.apply(lt)
	w.awaitLoad("kept", 100)
	w.endOperator()
	w.must(w.client.Delete(w.ctx, lt))
	w.operator()
	w.awaitGone(&batchv1.Job{}, "kept-1")
	if !w.exists(&v1alpha1.LoadTest{}, "kept") {
		t.Error("the LoadTest is gone, so its finalizer was not needed")
	}
	w.must(w.client.Patch(w.ctx, lt, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
}

// A container that does not end keeps a pod running after its runner has ended.
func TestSidecarThatDoesNotEnd(t *testing.T) {
	w := newWorld(t)
	sidecar := rawTemplate(`{"spec":{"containers":[{"name":"sleeper","image":"sleeper:test"}]}}`)
	w.apply(twoShards("sidecar", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) { s.Runner.PodTemplate = sidecar }).Build())
	w.apply(twoShards("alone", time.Second).Build())
	for _, name := range []string{"sidecar", "alone"} {
		w.awaitPhase(name, v1alpha1.PhaseCompleted)
		for _, pod := range []string{name + "-1-0", name + "-1-1"} {
			w.Eventually(func() bool { return w.runnerEnded(pod) }).Should(gomega.BeTrue())
		}
	}
	w.Eventually(func() bool {
		job := &batchv1.Job{}
		return w.exists(job, "alone-1") && job.Status.CompletionTime != nil
	}).Should(gomega.BeTrue())
	w.operator() // its cache has the ends of all pods
	w.later(2 * time.Minute)
	for _, name := range []string{"sidecar", "alone"} {
		w.edit(name, func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
	}
	w.awaitGone(&batchv1.Job{}, "sidecar-1")
	w.await("alone", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	if !w.exists(&batchv1.Job{}, "alone-1") {
		t.Error("the Job was deleted, although its pods had ended by themselves; their logs are lost")
	}
}

// An edit before the start makes the spec invalid: the runners would wait for nothing.
func TestEditToAnInvalidSpecBeforeStart(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.apply(twoShards("edited", time.Second).Build())
	w.awaitPhase("edited", v1alpha1.PhaseStarting)
	w.edit("edited", func(s *v1alpha1.LoadTestSpec) { s.Chains[0].Steps[0].Template = "absent" })
	w.awaitPhase("edited", v1alpha1.PhaseInvalid)
	w.awaitGone(&batchv1.Job{}, "edited-1")
	w.holding(nil)
	w.edit("edited", func(s *v1alpha1.LoadTestSpec) { s.Chains[0].Steps[0].Template = s.Templates[0].Name })
	lt := w.awaitPhase("edited", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
}

// refuseObjects creates a quota that allows no more objects of a resource, and waits until the API server refuses a
// copy of probe. It plays the quota controller, which envtest lacks.
func (w *world) refuseObjects(resourceName corev1.ResourceName, probe client.Object) (lift func()) {
	w.Helper()
	list := func(n string) corev1.ResourceList { return corev1.ResourceList{resourceName: resource.MustParse(n)} }
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "none-left"}, Spec: corev1.ResourceQuotaSpec{Hard: list("0")}}
	w.must(w.client.Create(w.ctx, quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: list("0"), Used: list("9")}
	w.must(w.client.Status().Update(w.ctx, quota))
	probe.SetNamespace(w.ns)
	probe.SetGenerateName("probe-")
	w.Eventually(func() bool {
		o := probe.DeepCopyObject().(client.Object)
		err := w.client.Create(w.ctx, o)
		if err == nil {
			w.must(w.client.Delete(w.ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))) // stories count Jobs
		}
		return apierrors.IsForbidden(err)
	}).Should(gomega.BeTrue(), "the quota is not applied")
	return func() { w.must(w.client.Delete(w.ctx, quota)) }
}

func (w *world) refuseConfigMaps() (lift func()) {
	w.Helper()
	return w.refuseObjects(corev1.ResourceConfigMaps, &corev1.ConfigMap{})
}

// awaitMessage waits until a condition has a reason and its message a text.
func (w *world) awaitMessage(name, kind, reason, text string) *v1alpha1.LoadTest {
	w.Helper()
	return w.await(name, kind+" "+reason, func(lt *v1alpha1.LoadTest) bool {
		c := meta.FindStatusCondition(lt.Status.Conditions, kind)
		return c != nil && c.Reason == reason && strings.Contains(c.Message, text)
	})
}

const quotaExceeded = "exceeded quota: none-left, requested: configmaps=1, used: configmaps=9, limited: configmaps=0"

func TestReportRefused(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			w := newWorld(t)
			w.apply(twoShards("refused", load).Build())
			w.awaitLoad("refused", 1)
			lift := w.refuseConfigMaps()
			w.endLoad("refused")
			lt := w.awaitMessage("refused", v1alpha1.ConditionFinished, v1alpha1.ReasonWriteRefused, "the API server refuses ConfigMap refused-report: ")
			w.wantCondition(lt, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWriteRefused)
			if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionReconciling); !strings.Contains(c.Message, quotaExceeded) {
				t.Errorf("the message has no error of the API server: %s", c.Message)
			}
			if lt.Status.Phase != v1alpha1.PhaseFinishing || lt.Status.Results == nil || lt.Status.Results.Requests.Sent != 300_000 {
				t.Errorf("phase %s, results %+v; want Finishing and 300000 sent", lt.Status.Phase, lt.Status.Results)
			}
			if restart {
				w.wantEvents("refused", "PlanReady", "RunnersReady", "Started", "WriteRefused")
				w.endOperator()
				lift() // before the next operator, which would send the event again
				w.operator()
			} else {
				lift()
			}
			lt = w.awaitPhase("refused", v1alpha1.PhaseCompleted)
			if n := lt.Status.Results.Requests.Sent; n != 300_000 {
				t.Errorf("sent %d, want 300000", n)
			}
			if meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionReconciling) != nil {
				t.Errorf("conditions:\n%s", conditionsOf(lt))
			}
			w.report(lt)
			w.wantEvents("refused", "PlanReady", "RunnersReady", "Started", "WriteRefused", "Completed")
		})
	}
}

func TestPlanRefused(t *testing.T) {
	w := newWorld(t)
	lift := w.refuseConfigMaps()
	w.apply(twoShards("refused", time.Second).Build())
	lt := w.awaitMessage("refused", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonWriteRefused, "0 of 2 runners are ready: the API server refuses ConfigMap refused-plan-")
	if !strings.Contains(conditionsOf(lt), quotaExceeded) {
		t.Errorf("conditions:\n%s", conditionsOf(lt))
	}
	lift()
	w.awaitPhase("refused", v1alpha1.PhaseCompleted)
	w.wantEvents("refused", "PlanReady", "WriteRefused", "RunnersReady", "Started", "Completed")
}

// A plan that the API server refuses after an edit must not start on the Job of the earlier plan.
func TestPlanOfAnEditRefused(t *testing.T) {
	w := newWorld(t)
	w.holding(func(job *batchv1.Job, _ int) bool { return true })
	w.apply(twoShards("edited", time.Second).Build())
	w.awaitPhase("edited", v1alpha1.PhaseStarting)
	lift := w.refuseConfigMaps()
	w.edit("edited", func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](2000) })
	w.awaitMessage("edited", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonWriteRefused, quotaExceeded)
	w.holding(nil)
	w.runner("edited-1-1")
	lift()
	lt := w.awaitPhase("edited", v1alpha1.PhaseCompleted)
	if n := lt.Status.Results.Requests.Sent; n != 2000 {
		t.Errorf("sent %d, want 2000", n)
	}
}

func TestJobRefused(t *testing.T) {
	w := newWorld(t)
	lift := w.refuseJobs()
	w.apply(twoShards("refused", time.Second).Build())
	w.awaitMessage("refused", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "the API server refuses Job refused-1: ")
	lift()
	w.awaitPhase("refused", v1alpha1.PhaseCompleted)
	w.wantEvents("refused", "PlanReady", "JobCreationFailed", "RunnersReady", "Started", "Completed")
}

// The API server answers 409 if it cannot count a new object in a ResourceQuota, because others change the quota, too.
func TestConflictOfAQuota(t *testing.T) {
	w := newWorld(t)
	w.endOperator()
	var jobs, budgets atomic.Bool // were refused
	kube := rest.CopyConfig(apiServer)
	kube.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			apply := req.Method == http.MethodPatch && !strings.HasSuffix(req.URL.Path, "/status")
			if apply && strings.Contains(req.URL.Path, "/jobs/") && !jobs.Swap(true) ||
				apply && strings.Contains(req.URL.Path, "/poddisruptionbudgets/") && !budgets.Swap(true) {
				status := apierrors.NewConflict(corev1.Resource("resourcequotas"), "all", errors.New("the object has been modified")).ErrStatus
				body, err := json.Marshal(status)
				return &http.Response{StatusCode: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(bytes.NewReader(body)), Request: req}, err
			}
			return rt.RoundTrip(req)
		})
	})
	done, cancel, _ := w.replica(kube)
	t.Cleanup(func() { cancel(); w.must(<-done) })
	lt := w.apply(twoShards("counted", load).Build())
	w.awaitLoad("counted", 100)
	w.Eventually(func() int { return w.budget(lt) }).Should(gomega.Equal(2))
	w.wantEvents("counted", "PlanReady", "RunnersReady", "Started")
	if !jobs.Load() || !budgets.Load() {
		t.Errorf("the API server refused a Job: %t, a budget: %t", jobs.Load(), budgets.Load())
	}
}

// An object of the test uses up a quota, and the operator needs it again. The API server asks the quota before it looks whether the object exists.
func TestQuotaIsUsedUp(t *testing.T) {
	for name, tt := range map[string]struct {
		resource corev1.ResourceName
		probe    client.Object
		then     func(*world)
	}{
		"the Secret, for another Job": {corev1.ResourceSecrets, &corev1.Secret{}, func(w *world) {
			w.edit("again", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" })
			w.Eventually(func() bool { return w.exists(&batchv1.Job{}, "again-2") }).Should(gomega.BeTrue())
		}},
		"the plan, for another operator": {corev1.ResourceConfigMaps, &corev1.ConfigMap{}, (*world).operator},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.holding(func(*batchv1.Job, int) bool { return true })
			w.apply(twoShards("again", load).Build())
			w.awaitPhase("again", v1alpha1.PhaseStarting)
			w.refuseObjects(tt.resource, tt.probe)
			tt.then(w)
			w.holding(nil)
			w.awaitLoad("again", 100)
		})
	}
}

// A quota has no place for another Job while the Job before exists.
func TestQuotaHasPlaceForOneJob(t *testing.T) {
	for name, then := range map[string]func(*world){
		"an edit": func(w *world) {
			w.edit("again", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" })
		},
		"a lost runner": func(w *world) { w.exit("again-1-0", 137, "OOMKilled", "") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
			w.apply(twoShards("again", load).Build())
			w.runner("again-1-0")
			lift := w.refuseJobs()
			then(w)
			w.awaitGone(&batchv1.Job{}, "again-1")
			if run := w.run("again"); run.Attempt != 2 || w.exists(&batchv1.Job{}, "again-2") {
				t.Errorf("attempt %d, Jobs %v; want 2 without its Job", run.Attempt, w.jobs())
			}
			lift()
			w.holding(nil)
			w.await("again", "running", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Phase == v1alpha1.PhaseRunning })
		})
	}
}

// refuseJobs is refuseObjects for Jobs.
func (w *world) refuseJobs() (lift func()) {
	probe := &batchv1.Job{}
	probe.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "a"}}}
	return w.refuseObjects("count/jobs.batch", probe)
}

// startTimeout runs from the creation of the Job, and not from the first attempt.
func TestStartTimeoutAfterARefusal(t *testing.T) {
	w := newWorld(t)
	lift := w.refuseJobs()
	w.apply(twoShards("late", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Runner.StartTimeout = &v1alpha1.Duration{Duration: 50 * time.Second}
	}).Build())
	w.awaitMessage("late", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "the API server refuses Job late-1: ")
	began := w.run("late").Changes[0].DecidedAt.Time
	w.later(time.Minute)
	w.edit("late", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
	w.Eventually(func() bool {                                                                         // a pass that began before the minute must not create the Job
		return w.run("late").Changes[0].DecidedAt.Sub(began) >= time.Minute
	}).Should(gomega.BeTrue())
	lift()
	w.edit("late", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3601) }) // brings a pass
	w.awaitPhase("late", v1alpha1.PhaseCompleted)
}

// The bound of a refused Job is that of both turns together, without the time between them.
func TestJobRefusedInTwoTurns(t *testing.T) {
	w := newWorld(t)
	w.refuseJobs()
	w.apply(twoShards("held", time.Second).Build())
	w.awaitMessage("held", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "the API server refuses Job held-1: ")
	w.later(6 * time.Minute)
	w.suspend("held", true)
	w.awaitPhase("held", v1alpha1.PhaseSuspended)
	w.later(11 * time.Minute)
	w.suspend("held", false)
	lt := w.awaitMessage("held", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "")
	if lt.Status.Phase != v1alpha1.PhasePending {
		t.Errorf("phase %s after the first refusal of the second turn", lt.Status.Phase)
	}
	w.later(5 * time.Minute)
	w.edit("held", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
	w.awaitPhase("held", v1alpha1.PhaseFailed)
}

// A refusal of the Job has a bound of its own. Nodes that change meanwhile do not lead to another Job.
func TestJobRefusedForTooLong(t *testing.T) {
	w := newWorld(t)
	w.changeNodes()
	w.refuseJobs()
	w.apply(twoShards("never", time.Second).Build())
	w.awaitMessage("never", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "the API server refuses Job never-1: ")
	w.later(11 * time.Minute)
	w.edit("never", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
	lt := w.awaitPhase("never", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonJobCreationFailed)
}

func TestRunRecordRefused(t *testing.T) {
	w := newWorld(t)
	lift := w.refuseObjects("count/loadtestruns.internal.h2surge.io", &statev1alpha1.LoadTestRun{Record: runtime.RawExtension{Raw: []byte("{}")}})
	w.apply(twoShards("refused", time.Second).Build())
	w.awaitMessage("refused", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonWriteRefused, "the API server refuses LoadTestRun refused")
	lift()
	w.awaitPhase("refused", v1alpha1.PhaseCompleted)
	w.wantEvents("refused", "PlanReady", "WriteRefused", "RunnersReady", "Started", "Completed")
}

// The Job controller reports in an event that the API server refuses its pods.
func TestErrorOfMissingPodsIsQuoted(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.apply(twoShards("limited", time.Second).Build())
	w.awaitPhase("limited", v1alpha1.PhaseStarting)
	w.refusePods("limited")
	w.awaitMessage("limited", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonPodCreationFailed,
		`0 of 2 runners are ready: Job limited-1 has created 0 of 2 pods: pods "limited-1-*" is forbidden: maximum cpu usage per Container is 10m, but limit is 1`)
	w.wantEvents("limited", "PlanReady", "PodCreationFailed")
}

// refusePods makes the Job controller report that the API server refuses the pods of a test.
func (w *world) refusePods(name string) {
	w.Helper()
	job := &w.jobs()[0]
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: w.ns, Name: name + "-event"},
		InvolvedObject: corev1.ObjectReference{Kind: "Job", Namespace: w.ns, Name: job.Name, UID: job.UID},
		Reason:         "FailedCreate", Type: corev1.EventTypeWarning, LastTimestamp: metav1.Now(),
		Message: `Error creating: pods "` + name + `-1-0-x7k2p" is forbidden: maximum cpu usage per Container is 10m, but limit is 1`,
	}
	w.must(w.client.Create(w.ctx, event))
	w.later(2 * soon)
	w.edit(name, func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
}

// The same while the test runs, for the pod of a shard that was added.
func TestErrorOfAnAddedPodIsQuoted(t *testing.T) {
	w := newWorld(t)
	w.apply(scalable("grows", 1, load).Build())
	w.awaitLoad("grows", 100)
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.edit("grows", func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 2 })
	w.await("grows", "scaled", func(*v1alpha1.LoadTest) bool { return *w.jobs()[0].Spec.Completions == 2 })
	w.refusePods("grows")
	w.awaitMessage("grows", v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJoining,
		`1 of 2 runners are ready; the others join when they are ready; Job grows-1 has created 1 of 2 pods: `+
			`pods "grows-1-*" is forbidden: maximum cpu usage per Container is 10m, but limit is 1`)
}

// budget is minAvailable of the PodDisruptionBudget of a LoadTest; 0: there is none.
func (w *world) budget(lt *v1alpha1.LoadTest) int {
	w.Helper()
	out := &policyv1.PodDisruptionBudget{}
	if !w.exists(out, desired.BudgetName(lt)) {
		return 0
	}
	if !metav1.IsControlledBy(out, lt) {
		w.Error("the LoadTest does not own its budget, so it is not deleted with it")
	}
	return out.Spec.MinAvailable.IntValue()
}

func TestDisruptionBudget(t *testing.T) {
	w := newWorld(t)
	lt := w.apply(scalable("protected", 1, load).Build())
	budget := func() int { return w.budget(lt) }
	w.awaitLoad("protected", 100)
	w.Eventually(budget).Should(gomega.Equal(1))
	w.scale("protected", 2)
	w.Eventually(budget).Should(gomega.Equal(2))
	w.successor("protected")
	w.scale("protected", 1)
	w.Eventually(budget).Should(gomega.Equal(1))
	w.edit("protected", func(s *v1alpha1.LoadTestSpec) { s.Runner.PodDisruptionBudget = v1alpha1.PodDisruptionBudgetDisabled })
	w.Eventually(budget).Should(gomega.Equal(0))
	w.edit("protected", func(s *v1alpha1.LoadTestSpec) { s.Runner.PodDisruptionBudget = v1alpha1.PodDisruptionBudgetEnabled })
	w.Eventually(budget).Should(gomega.Equal(1))
	w.endLoad("protected")
	w.awaitPhase("protected", v1alpha1.PhaseCompleted)
	w.Eventually(budget).Should(gomega.Equal(0))
}
