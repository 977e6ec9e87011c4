package loadtest_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/test/builder"
)

// forge replaces a ConfigMap of the operator by one of a tenant, who may write ConfigMaps and LoadTests.
func (w *world) forge(name string, change func(*corev1.ConfigMap)) {
	w.Helper()
	cm := w.configMap(name)
	change(cm)
	w.Eventually(func() error { // the operator can be faster
		w.must(client.IgnoreNotFound(w.client.Delete(w.ctx, cm)))
		cm.ResourceVersion, cm.UID = "", ""
		return w.client.Create(w.ctx, cm)
	}).Should(gomega.Succeed())
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.Helper()
	cm := &corev1.ConfigMap{}
	w.Eventually(func() error { return w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, cm) }).Should(gomega.Succeed())
	return cm
}

// planOf returns the name of the only plan of a LoadTest, once it is there.
func (w *world) planOf(name string) (out string) {
	w.Helper()
	w.Eventually(func() int {
		var list corev1.ConfigMapList
		w.must(w.client.List(w.ctx, &list, client.InNamespace(w.ns),
			client.MatchingLabels{desired.LabelLoadTest: name, desired.LabelComponent: desired.ComponentPlan}))
		if len(list.Items) == 1 {
			out = list.Items[0].Name
		}
		return len(list.Items)
	}).Should(gomega.Equal(1))
	return out
}

// otherPlan has a hundred times the load.
func otherPlan(t *testing.T) func(*corev1.ConfigMap) {
	return func(cm *corev1.ConfigMap) {
		p, err := plan.Decode(cm.BinaryData[desired.KeyPlan], "")
		if err != nil {
			t.Fatal(err)
		}
		p.Rates[0].Count *= 100
		canonical, _, err := plan.Canonical(p)
		if err != nil {
			t.Fatal(err)
		}
		gz, err := plan.Gzip(canonical)
		if err != nil {
			t.Fatal(err)
		}
		cm.BinaryData[desired.KeyPlan] = gz
	}
}

// TestForgedPlan: a plan that the operator did not write never runs.
func TestForgedPlan(t *testing.T) {
	for name, change := range map[string]func(*corev1.ConfigMap){
		"other content":   otherPlan(t),
		"can be edited":   func(cm *corev1.ConfigMap) { cm.Immutable = nil },
		"other owner":     func(cm *corev1.ConfigMap) { otherPlan(t)(cm); cm.OwnerReferences = nil },
		"without a label": func(cm *corev1.ConfigMap) { otherPlan(t)(cm); cm.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			lift := w.refuseJobs()
			w.apply(twoShards("forged", time.Second).Build())
			of := w.planOf("forged")
			w.endOperator() // it must find out without having seen the change
			w.forge(of, change)
			lift()
			w.operator()
			lt := w.await("forged", "stalled", func(lt *v1alpha1.LoadTest) bool {
				return hasCondition(lt, v1alpha1.ConditionStalled, v1alpha1.ReasonNameConflict)
			})
			if lt.Status.StartTime != nil || len(w.jobs()) != 0 {
				t.Errorf("started at %v, %d Jobs", lt.Status.StartTime, len(w.jobs()))
			}
			w.must(w.client.Delete(w.ctx, w.configMap(of)))
			w.edit("forged", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // sooner than the retry
			w.wantSent(w.awaitPhase("forged", v1alpha1.PhaseCompleted), 1000)
		})
	}
}

// TestForgedPlanWhileWatching: a plan that is replaced between its creation and the start of the Job is noticed.
func TestForgedPlanWhileWatching(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.apply(twoShards("forged", time.Second).Build())
	of := w.planOf("forged")
	w.forge(of, otherPlan(t))
	w.await("forged", "stalled", func(lt *v1alpha1.LoadTest) bool {
		return hasCondition(lt, v1alpha1.ConditionStalled, v1alpha1.ReasonNameConflict)
	})
}

// TestPlanReplacedWhileRunning: the operator compiles the plan of a run again if the ConfigMap has another one.
func TestPlanReplacedWhileRunning(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("replaced", load).Build())
	w.awaitLoad("replaced", 200)
	w.endOperator()
	w.forge(w.run("replaced").Plan.Name, otherPlan(t))
	w.operator()
	w.endLoad("replaced")
	w.wantSent(w.awaitPhase("replaced", v1alpha1.PhaseCompleted), 300_000)
}

// TestForgedJob: the operator does not wait for a Job that it did not create and does not watch.
func TestForgedJob(t *testing.T) {
	w := newWorld(t)
	lt := w.apply(twoShards("forged", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) { s.Suspend = true }).Build())
	w.awaitPhase("forged", v1alpha1.PhaseSuspended)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "forged-1", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(lt, v1alpha1.GroupVersion.WithKind("LoadTest"))}}, Spec: foreignJob()}
	w.must(w.client.Create(w.ctx, job))
	w.edit("forged", func(s *v1alpha1.LoadTestSpec) { s.Suspend = false })
	w.await("forged", "stalled", func(lt *v1alpha1.LoadTest) bool {
		return hasCondition(lt, v1alpha1.ConditionStalled, v1alpha1.ReasonNameConflict)
	})
	w.must(w.client.Delete(w.ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.edit("forged", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // sooner than the retry
	w.wantSent(w.awaitPhase("forged", v1alpha1.PhaseCompleted), 1000)
}

// TestForgedReport: a report that the operator did not write decides nothing.
func TestForgedReport(t *testing.T) {
	for name, change := range map[string]func(*corev1.ConfigMap){
		"other content": func(*corev1.ConfigMap) {},
		"can be edited": func(cm *corev1.ConfigMap) { cm.Immutable = nil },
		"other owner":   func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(builder.Minimal("good").Build())
			w.awaitPhase("good", v1alpha1.PhaseCompleted)
			report := w.configMap("good-report")

			impossible := func(s *v1alpha1.LoadTestSpec) {
				s.Thresholds = []v1alpha1.Threshold{{Name: "impossible", Metric: v1alpha1.MetricRate, Min: ptr.To(intstr.FromInt32(1_000_000_000))}}
			}
			lt := w.apply(twoShards("bad", load).Edit(impossible).Build())
			w.awaitLoad("bad", 200)
			report.Name, report.Labels[desired.LabelLoadTest] = "bad-report", "bad"
			report.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(lt, v1alpha1.GroupVersion.WithKind("LoadTest"))}
			report.ResourceVersion, report.UID = "", ""
			change(report)
			w.must(w.client.Create(w.ctx, report))
			w.endLoad("bad")
			lt = w.await("bad", "stalled", func(lt *v1alpha1.LoadTest) bool {
				return hasCondition(lt, v1alpha1.ConditionStalled, v1alpha1.ReasonNameConflict)
			})
			w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionUnknown, v1alpha1.ReasonInProgress)
			w.must(w.client.Delete(w.ctx, report))
			w.edit("bad", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // sooner than the retry
			lt = w.awaitPhase("bad", v1alpha1.PhaseCompleted)
			w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionFalse, v1alpha1.ReasonThresholdsFailed)
			if r := w.report(lt); r.Verdict.Outcome != runnerv1alpha1.OutcomeFailed {
				t.Errorf("the report says %s", r.Verdict.Outcome)
			}
		})
	}
}

func hasCondition(lt *v1alpha1.LoadTest, kind, reason string) bool {
	c := meta.FindStatusCondition(lt.Status.Conditions, kind)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == reason
}
