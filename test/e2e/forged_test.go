//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestForgedPlan: a tenant puts the plan of another test in the place of the operator's. It does not run.
func TestForgedPlan(t *testing.T) {
	t.Parallel()
	s := newStory(t, "forged-plan").withTarget()
	suspended := func(spec *v1alpha1.LoadTestSpec) { spec.Suspend = true }
	s.apply(s.quickstart("other", 1, hold(500, 5*time.Second), withoutThresholds, smallRunner, suspended))
	s.apply(s.quickstart("mine", 1, hold(50, 5*time.Second), withoutThresholds, smallRunner, suspended))
	forged := s.planOf("mine")
	forged.BinaryData = s.planOf("other").BinaryData
	s.replace(forged)
	s.suspend("mine", false)
	lt := s.awaitCondition("mine", v1alpha1.ConditionStalled, metav1.ConditionTrue, short)
	s.wantCondition(lt, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, v1alpha1.ReasonNameConflict)
	if n := s.stats().Requests; n != 0 || len(s.runners()) != 0 {
		t.Errorf("the target received %d requests, %d runners", n, len(s.runners()))
	}
	s.mustKubectl("", "delete", "configmap", forged.Name)
	lt = s.awaitCondition("mine", v1alpha1.ConditionFinished, metav1.ConditionTrue, time.Minute)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	if sent, received := s.wantCounts(lt), s.stats().Requests; sent != received || sent > 300 {
		t.Errorf("sent %d, received %d; want 250", sent, received)
	}
}

// planOf returns the ConfigMap with the only plan of a test.
func (s *story) planOf(name string) (out *corev1.ConfigMap) {
	s.Helper()
	s.eventually(short, func() string {
		list, err := core.CoreV1().ConfigMaps(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=plan,h2surge.io/loadtest=" + name})
		s.must(err)
		if len(list.Items) != 1 {
			return fmt.Sprintf("%d plans", len(list.Items))
		}
		out = &list.Items[0]
		return ""
	})
	return out
}

// replace deletes a ConfigMap and creates it again with other content, before the operator does.
func (s *story) replace(cm *corev1.ConfigMap) {
	s.Helper()
	maps := core.CoreV1().ConfigMaps(s.ns)
	cm.ResourceVersion, cm.UID = "", ""
	s.eventually(short, func() string {
		if err := maps.Delete(s.ctx, cm.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err.Error()
		}
		if _, err := maps.Create(s.ctx, cm, metav1.CreateOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestForgedReport: a tenant stores the report of a test that passed under the name of one that fails. It is not believed.
func TestForgedReport(t *testing.T) {
	t.Parallel()
	s := newStory(t, "forged-report").withTarget()
	s.apply(s.quickstart("good", 1, hold(50, time.Second), withoutThresholds, smallRunner))
	good := s.awaitFinished("good")
	maps := core.CoreV1().ConfigMaps(s.ns)
	report, err := maps.Get(s.ctx, good.Status.Report.ConfigMapRef.Name, metav1.GetOptions{})
	s.must(err)

	before := s.stats().Requests
	s.apply(s.quickstart("bad", 1, hold(50, 8*time.Second), smallRunner, func(spec *v1alpha1.LoadTestSpec) {
		spec.Thresholds = []v1alpha1.Threshold{{Name: "impossible", Metric: v1alpha1.MetricRate, Min: ptr.To(intstr.FromInt32(1_000_000))}}
	}))
	s.awaitLoad(before+50, short)
	report.Name, report.ResourceVersion, report.UID = "bad-report", "", ""
	report.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.loadTest("bad"), v1alpha1.GroupVersion.WithKind("LoadTest"))}
	_, err = maps.Create(s.ctx, report, metav1.CreateOptions{})
	s.must(err)
	lt := s.awaitCondition("bad", v1alpha1.ConditionStalled, metav1.ConditionTrue, short)
	s.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionUnknown, v1alpha1.ReasonInProgress)
	s.mustKubectl("", "delete", "configmap", "bad-report")
	lt = s.awaitCondition("bad", v1alpha1.ConditionFinished, metav1.ConditionTrue, time.Minute)
	if conditionIs(v1alpha1.ConditionPassed, metav1.ConditionTrue, "", "")(lt) || lt.Status.Verdict.Outcome == good.Status.Verdict.Outcome { // GeneratorBound on a busy machine
		t.Errorf("the test passed, as the forged report says:\n%s", conditions(lt))
	}
}

// TestStoppedWithoutAnAnswer: the only runner gets no CPU. The test ends after spec.stop nevertheless, and the runner ends when it wakes up.
func TestStoppedWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := newStory(t, "mute").withTarget()
	s.onThisMachine()
	s.apply(s.quickstart("mute", 1, hold(100, 5*time.Minute), withoutThresholds, smallRunner))
	s.awaitLoad(200, short)
	thaw := s.freeze(s.runners()[0])
	begun := time.Now()
	s.mustKubectl("", "patch", "loadtest", "mute", "--type=merge", "-p", `{"spec":{"stop":true}}`)
	lt := s.awaitCondition("mute", v1alpha1.ConditionFinished, metav1.ConditionTrue, 2*time.Minute) // unreachableTimeout is a minute
	t.Logf("FIGURE spec.stop to the end without an answer: %v", time.Since(begun).Round(time.Second))
	s.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonRunnerLost)
	s.wantMessage(lt, v1alpha1.ConditionFinished, "mute-1-0", "it may send requests until")
	thaw() // it catches up until it gets SIGTERM
	time.Sleep(5 * time.Second)
	received := s.stats().Requests
	time.Sleep(3 * time.Second)
	if now := s.stats().Requests; now != received {
		t.Errorf("the target received %d requests 5 s after the runner woke up", now-received)
	}
}
