package loadtest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
)

// notWorse returns a test whose error rate must not be worse than in a report.
func notWorse(name string, from v1alpha1.BaselineReport) *v1alpha1.LoadTest {
	lt := twoShards(name, time.Second).Build()
	lt.Spec.Thresholds = append(lt.Spec.Thresholds, v1alpha1.Threshold{Name: "same", Metric: v1alpha1.MetricErrorRate,
		MaxIncrease: "1%", Baseline: &v1alpha1.Baseline{Report: &from}})
	return lt
}

func inConfigMap(name string) v1alpha1.BaselineReport {
	return v1alpha1.BaselineReport{ConfigMapRef: &v1alpha1.ConfigMapReference{Name: name}}
}

// lastOf returns the last threshold of the verdict.
func lastOf(lt *v1alpha1.LoadTest) v1alpha1.ThresholdStatus {
	all := lt.Status.Verdict.Thresholds
	return all[len(all)-1]
}

// notesOf returns the texts of the events about a LoadTest.
func (w *world) notesOf(name string) (notes string) {
	w.Helper()
	var list eventsv1.EventList
	w.must(w.client.List(w.ctx, &list, client.InNamespace(w.ns)))
	for i := range list.Items {
		if list.Items[i].Regarding.Name == name {
			notes += list.Items[i].Note + "\n"
		}
	}
	return notes
}

// A run is compared with the report of an earlier one. Without that report, or if it had another number of shards, the
// run is Inconclusive, and says which. A file is an error before anything starts.
func TestBaseline(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("earlier", time.Second).Build())
	kept := inConfigMap(w.awaitPhase("earlier", v1alpha1.PhaseCompleted).Status.Report.ConfigMapRef.Name)
	w.apply(notWorse("later", kept))
	w.apply(notWorse("alone", inConfigMap("gone")))
	more := notWorse("more", kept)
	more.Spec.Runner.Shards = 1
	w.apply(more)
	w.apply(notWorse("of-a-file", v1alpha1.BaselineReport{File: "kept.json"}))

	lt := w.awaitPhase("later", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	if st := lastOf(lt); !st.Passed || st.Limit != "<= 0% + 1 points" || st.Baseline != w.ns+"/earlier" {
		t.Errorf("threshold %+v", st)
	}
	if v := lt.Status.Verdict; !strings.Contains(v.Message, "; compared with "+w.ns+"/earlier of ") {
		t.Errorf("verdict %+v", v)
	}
	w.Eventually(func() string { return w.notesOf("later") }).Should(gomega.ContainSubstring("; compared with " + w.ns + "/earlier of "))
	if r := w.report(lt); r.LoadHash == "" || r.Verdict.Thresholds[len(r.Verdict.Thresholds)-1].Baseline.Change != "0 points" {
		t.Errorf("report %s %+v", r.LoadHash, r.Verdict)
	}
	for name, want := range map[string]string{
		"alone": "same: ErrorRate was not compared: the baseline, ConfigMap gone: it does not exist",
		"more":  "same: ErrorRate was not compared: the baseline " + w.ns + "/earlier has another number of shards: 2, and this run had 1",
	} {
		lt := w.awaitPhase(name, v1alpha1.PhaseCompleted)
		w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionUnknown, v1alpha1.ReasonNotCompared)
		if v := lt.Status.Verdict; v.Outcome != "Inconclusive" || v.Message != want || lastOf(lt).NotCompared == "" {
			t.Errorf("%s: verdict %+v, want %q", name, v, want)
		}
	}
	invalid := w.await("of-a-file", "refused", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Phase == v1alpha1.PhaseInvalid })
	w.wantCondition(invalid, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec)
}

// A ConfigMap that would take the memory of all tests does not, and the run says that it was not compared.
func TestHostileBaseline(t *testing.T) {
	w := newWorld(t)
	gz, err := checkpoint.Compress(json.RawMessage(`{"steps":[` + strings.Repeat("{},", 1<<17) + `{}]}`))
	w.must(err)
	cm := &corev1.ConfigMap{BinaryData: map[string][]byte{v1alpha1.KeyReport: gz}}
	cm.Namespace, cm.Name = w.ns, "hostile"
	w.must(w.client.Create(w.ctx, cm))
	w.apply(notWorse("victim", inConfigMap("hostile")))
	lt := w.awaitPhase("victim", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionUnknown, v1alpha1.ReasonNotCompared)
	if v := lt.Status.Verdict; !strings.Contains(v.Message, "objects and list elements") {
		t.Errorf("verdict %+v", v)
	}
}

// The first run of a schedule has no baseline, and is that of the second one.
func TestBaselineOfASchedule(t *testing.T) {
	w := newWorld(t)
	w.schedule("regression", v1alpha1.Threshold{Name: "same", Metric: v1alpha1.MetricErrorRate, MaxIncrease: "1%",
		Baseline: &v1alpha1.Baseline{Schedule: "regression"}})
	last := func() *v1alpha1.FinishedLoadTest { return w.scheduleStatus("regression").LastFinished }
	w.Eventually(last).ShouldNot(gomega.BeNil())
	first := w.get(last().Name)
	want := "same: ErrorRate was not compared: the baseline, schedule regression: it has no earlier run that passed"
	if v := first.Status.Verdict; v.Outcome != "Inconclusive" || v.Reason != v1alpha1.ReasonNotCompared || v.Message != want {
		t.Errorf("first run: verdict %+v, want %q", v, want)
	}
	w.endOperator()
	w.later(time.Minute)
	w.operator()
	w.Eventually(func() string { return last().Name }).ShouldNot(gomega.Equal(first.Name))
	second := w.get(last().Name)
	// On a slow machine there is a run between them, which is then the baseline.
	if v, st := second.Status.Verdict, lastOf(second); v.Outcome != "Passed" || !strings.HasPrefix(st.Baseline, w.ns+"/regression-") {
		t.Errorf("second run: verdict %+v", v)
	}
}

// A run of a schedule whose rate a user changed is neither compared nor a baseline, because it sent something else.
func TestBaselineOfAScheduleWithAnotherRate(t *testing.T) {
	w := newWorld(t)
	w.scheduleOf("tuned", load, v1alpha1.Threshold{Name: "same", Metric: v1alpha1.MetricErrorRate, MaxIncrease: "1%",
		Baseline: &v1alpha1.Baseline{Schedule: "tuned"}})
	// wantVerdict ends the load of a run, and checks why it was not compared.
	wantVerdict := func(name, want string) {
		w.endLoad(name)
		lt := w.awaitPhase(name, v1alpha1.PhaseCompleted)
		want = "same: ErrorRate was not compared: " + want
		if v := lt.Status.Verdict; v.Outcome != "Inconclusive" || v.Reason != v1alpha1.ReasonNotCompared || v.Message != want {
			t.Errorf("%s: verdict %+v, want %q", name, v, want)
		}
	}
	// next returns the run that the schedule has started, which is not another one.
	next := func(other string) (name string) {
		w.Eventually(func() string {
			if active := w.scheduleStatus("tuned").Active; len(active) > 0 {
				name = active[0].Name
			}
			return name
		}).ShouldNot(gomega.BeElementOf("", other))
		w.awaitLoad(name, 500)
		return name
	}
	first := next("")
	w.setRate(first, 2000)
	w.awaitApplied(first, 1)
	wantVerdict(first, "the rates of this run changed while it ran")
	w.endOperator()
	w.later(time.Minute)
	w.operator()
	wantVerdict(next(first), "the baseline, schedule tuned: it has no earlier run that passed")
}
