//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestInvalidManifest is story 3: what is wrong is refused by the API server where it can see
// it, and told with its path where it cannot.
func TestInvalidManifest(t *testing.T) {
	t.Parallel()
	s := newStory(t, "manifest")
	t.Run("refused", func(t *testing.T) { s.refused(t) })
	t.Run("told", func(t *testing.T) { s.told(t) })
}

func (s *story) refused(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		spoil      func(*v1alpha1.LoadTestSpec)
	}{
		{"url and urls", "exactly one of url and urls is needed", func(spec *v1alpha1.LoadTestSpec) {
			spec.Targets[0].URLs = []string{"http://other:8080"}
		}},
		{"two modes", "exactly one of requestsPerSecond, requestsPer, chainsPerSecond and closedLoop", func(spec *v1alpha1.LoadTestSpec) {
			spec.Rates[0].ClosedLoop = &v1alpha1.ClosedLoop{}
		}},
		{"no bound", "duration, requests or both are needed", func(spec *v1alpha1.LoadTestSpec) {
			spec.Rates[0].Duration, spec.Rates[0].Requests = nil, nil
		}},
		{"too many shards", "spec.runner.shards", func(spec *v1alpha1.LoadTestSpec) { spec.Runner.Shards = 257 }},
		{"a name with a capital", "spec.targets[0].name", func(spec *v1alpha1.LoadTestSpec) { spec.Targets[0].Name = "Target" }},
	} {
		out, err := s.kubectl(s.manifest(s.quickstart("refused", 1, tc.spoil)), "apply", "-f", "-")
		if err == nil || !strings.Contains(out, tc.want) {
			t.Errorf("%s: kubectl apply said (%v)\n%swant it to fail with %q", tc.name, err, out, tc.want)
		}
	}
	unknown := strings.Replace(s.manifest(s.quickstart("refused", 1)), `"rates":`, `"rate":[],"rates":`, 1)
	if out, err := s.kubectl(unknown, "apply", "-f", "-"); err == nil || !strings.Contains(out, `unknown field "spec.rate"`) {
		t.Errorf("an unknown field: kubectl apply said (%v)\n%s", err, out)
	}
}

func (s *story) told(t *testing.T) {
	for _, tc := range []struct {
		name  string
		want  []string
		spoil func(*v1alpha1.LoadTestSpec)
	}{
		{"variable", []string{"spec.chains[0].steps[0].request.path", "nowhere"}, func(spec *v1alpha1.LoadTestSpec) {
			spec.Chains[0].Steps[0].Request.Path = "/${nowhere}"
		}},
		{"template", []string{"spec.chains[0].steps[0].template", "nothing"}, func(spec *v1alpha1.LoadTestSpec) {
			spec.Chains[0].Steps[0] = v1alpha1.Step{Template: "nothing"}
		}},
		{"pod", []string{"spec.runner.podTemplate", "nodeSelektor"}, func(spec *v1alpha1.LoadTestSpec) {
			spec.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte(`{"spec":{"nodeSelektor":{}}}`)}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &story{T: t, ctx: t.Context(), ns: s.ns}
			s.apply(s.quickstart(tc.name, 1, tc.spoil))
			lt := s.awaitCondition(tc.name, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, short)
			s.wantCondition(lt, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec)
			s.wantCondition(lt, v1alpha1.ConditionStalled, metav1.ConditionTrue, "")
			message := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionPlanReady).Message
			for _, w := range tc.want {
				if !strings.Contains(message, w) {
					t.Errorf("PlanReady says %q, want %q in it", message, w)
				}
			}
			if lt.Status.Phase != v1alpha1.PhaseInvalid {
				t.Errorf("phase %s, want %s", lt.Status.Phase, v1alpha1.PhaseInvalid)
			}
			if n := len(s.runners()); n != 0 {
				t.Errorf("%d runners for a plan that cannot be made", n)
			}
			s.eventually(short, func() string {
				if got := s.reasons(tc.name); !contains(got, []string{v1alpha1.ReasonInvalidSpec}) {
					return fmt.Sprintf("events %q, want %s", got, v1alpha1.ReasonInvalidSpec)
				}
				return ""
			})
		})
	}
}
