//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

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
			s.eventually(short, func() string {
				return lacks(s.loadTest("refused"), v1alpha1.ConditionRunnersReady, v1alpha1.ReasonPodCreationFailed, tc.want)
			})
		})
	}
}
