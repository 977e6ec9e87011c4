//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestQuotaRefusesReport: a quota refuses the ConfigMap of the report, and the operator is killed meanwhile. The test
// finishes with all its counts when the quota allows it.
func TestQuotaRefusesReport(t *testing.T) {
	s := newStory(t, "quota").withTarget()
	const rps, length = 200, 6 * time.Second
	s.apply(s.quickstart("quota", 2, hold(rps, length), withoutThresholds, smallRunner))
	w := s.watch("quota")
	s.awaitLoad(rps, short)
	s.forbid(corev1.ResourceList{"count/configmaps": resource.MustParse("0")})
	s.eventually(short, func() string { return s.refusalShown(w) })
	s.awaitReason("quota", "WriteRefused", 10*time.Second)

	for _, p := range s.operators() {
		s.crash(p)
	}
	time.Sleep(5 * time.Second) // the next operator meets the refusal, too
	if lt := s.loadTest("quota"); conditionIs(v1alpha1.ConditionFinished, metav1.ConditionTrue, "", "")(lt) {
		t.Errorf("the test finished without its report:\n%s", conditions(lt))
	}
	s.must(core.CoreV1().ResourceQuotas(s.ns).Delete(s.ctx, "forbidden", metav1.DeleteOptions{}))
	lt := s.awaitCondition("quota", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantAll(lt, rps*6)
	w.wantGrowing()
}

// TestJobsRefused: a quota refuses the Job of the runners. The test starts when the quota allows it.
func TestJobsRefused(t *testing.T) {
	t.Parallel()
	s := newStory(t, "jobs").withTarget()
	s.forbid(corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")})
	s.apply(s.quickstart("jobs", 1, hold(50, 4*time.Second), withoutThresholds, smallRunner))
	s.eventually(short, func() string {
		return lacks(s.loadTest("jobs"), v1alpha1.ConditionRunnersReady, v1alpha1.ReasonJobCreationFailed, "exceeded quota: forbidden")
	})
	s.must(core.CoreV1().ResourceQuotas(s.ns).Delete(s.ctx, "forbidden", metav1.DeleteOptions{}))
	lt := s.awaitCondition("jobs", v1alpha1.ConditionFinished, metav1.ConditionTrue, time.Minute)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantAll(lt, 50*4)
}

// forbid makes a quota and waits until the API server enforces it.
func (s *story) forbid(hard corev1.ResourceList) {
	s.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "forbidden", Namespace: s.ns}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	_, err := core.CoreV1().ResourceQuotas(s.ns).Create(s.ctx, quota, metav1.CreateOptions{})
	s.must(err)
	s.eventually(short, func() string {
		q, err := core.CoreV1().ResourceQuotas(s.ns).Get(s.ctx, "forbidden", metav1.GetOptions{})
		s.must(err)
		if len(q.Status.Hard) == 0 {
			return "the quota has no status"
		}
		return ""
	})
}

// refusalShown is empty if a condition has the API server's text.
func (s *story) refusalShown(w *sightings) string {
	lt := s.loadTest(w.name)
	for _, c := range lt.Status.Conditions {
		if strings.Contains(c.Message, "exceeded quota") {
			s.Logf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
			return ""
		}
	}
	return "no condition names the quota:\n" + conditions(lt)
}

// TestPodsRefused: the API server refuses the pods, and condition RunnersReady has its words.
func TestPodsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, want, podTemplate string }{
		{"limitrange", "minimum memory usage per Container is 10Gi", ""},
		{"podsecurity", "violates PodSecurity", `{"spec": {"hostNetwork": true}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, tc.name)
			s.eventually(short, func() string { // without it the API server refuses pods for another reason
				if _, err := core.CoreV1().ServiceAccounts(s.ns).Get(s.ctx, "default", metav1.GetOptions{}); err != nil {
					return err.Error()
				}
				return ""
			})
			if tc.podTemplate == "" {
				limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "large", Namespace: s.ns}, Spec: corev1.LimitRangeSpec{
					Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("10Gi")}}},
				}}
				_, err := core.CoreV1().LimitRanges(s.ns).Create(s.ctx, limits, metav1.CreateOptions{})
				s.must(err)
			}
			s.apply(s.quickstart("refused", 1, withoutThresholds, smallRunner, func(spec *v1alpha1.LoadTestSpec) {
				if tc.podTemplate != "" {
					spec.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte(tc.podTemplate)}
				}
			}))
			s.eventually(25*time.Second, func() string {
				return lacks(s.loadTest("refused"), v1alpha1.ConditionRunnersReady, v1alpha1.ReasonPodCreationFailed, tc.want)
			})
		})
	}
}
