package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// former is a LoadTest that a user stopped, and that Argo CD and Flux applied.
func former() *v1alpha1.LoadTest {
	lt := builder.Minimal("pcf").Build()
	lt.UID, lt.Spec.Stop, lt.Spec.Suspend = "1", true, true
	lt.Labels = map[string]string{"team": "core", "app.kubernetes.io/instance": "app", "kustomize.toolkit.fluxcd.io/name": "app"}
	lt.Annotations = map[string]string{
		"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}", "argocd.argoproj.io/tracking-id": "app", v1alpha1.AnnotationScheduledTime: "t",
	}
	ends(lt)
	return lt
}

func TestKubeRunFrom(t *testing.T) {
	schedule := &v1alpha1.LoadTestSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"},
		Spec: v1alpha1.LoadTestScheduleSpec{Template: v1alpha1.LoadTestTemplate{
			Metadata: v1alpha1.TemplateMetadata{Labels: map[string]string{"team": "core"}}, Spec: builder.Minimal("x").Build().Spec,
		}},
	}
	broken := builder.Minimal("broken").Build()
	broken.Spec.Chains[0].Target = "absent"
	copied := former()
	copied.Name, copied.GenerateName = "pcf-x7k2p", "pcf-"
	for _, tc := range []struct {
		name  string
		args  []string
		code  int
		made  string // pattern of the name of the new LoadTest
		notes map[string]string
		errs  string
	}{
		{"a name of its own", []string{"--from", "pcf"}, 0, "^pcf-[a-z0-9]+$", map[string]string{"note": "x"}, "created LoadTest default/pcf-"},
		{"the copy of a copy", []string{"--from", "pcf-x7k2p"}, 0, "^pcf-[a-z0-9]{5}$", map[string]string{"note": "x"}, "created LoadTest default/pcf-"},
		{"a name", []string{"--from", "pcf", "--name", "two"}, 0, "^two$", map[string]string{"note": "x"}, "created LoadTest default/two"},
		{"a prefix", []string{"--from", "pcf", "--name", "two", "--generate-name"}, 0, "^two-[a-z0-9]+$", map[string]string{"note": "x"}, "created LoadTest default/two-"},
		{"a schedule", []string{"--from", "schedule/nightly"}, 0, "^nightly-[a-z0-9]+$", nil, "created LoadTest default/nightly-"},
		{"no LoadTest", []string{"--from", "absent"}, 1, "", nil, `"absent" not found`},
		{"no schedule", []string{"--from", "schedule/pcf"}, 1, "", nil, `"pcf" not found`},
		{"another namespace", []string{"--from", "pcf", "-n", "core"}, 1, "", nil, `"pcf" not found`},
		{"a spec with an error", []string{"--from", "broken"}, 1, "", nil, "spec.chains[0].target"},
		{"its own name", []string{"--from", "pcf", "--name", "pcf"}, 1, "", nil, "already exists"},
		{"a file, too", []string{"--from", "pcf", "-f", "-"}, 1, "", nil, "--from: not allowed with -f"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			known := []client.Object{former(), copied.DeepCopy(), broken.DeepCopy(), schedule.DeepCopy()}
			f := &fakeCluster{t: t, ticks: always(), objects: known}
			code, _, errs := f.kubectl("", append([]string{"run"}, tc.args...)...)
			if code != tc.code || !strings.Contains(errs, tc.errs) {
				t.Fatalf("exit code %d, want %d; %s", code, tc.code, errs)
			}
			if tc.made == "" {
				return
			}
			var list v1alpha1.LoadTestList
			if err := f.client.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			for _, lt := range list.Items {
				if lt.Name == "pcf" || lt.Name == "pcf-x7k2p" || lt.Name == "broken" {
					continue
				}
				if !regexp.MustCompile(tc.made).MatchString(lt.Name) || lt.Spec.Stop || lt.Spec.Suspend || lt.Status.Phase != "" || lt.UID != "" {
					t.Errorf("created %+v", lt)
				}
				if diff := cmp.Diff(map[string]string{"team": "core"}, lt.Labels) + cmp.Diff(tc.notes, lt.Annotations); diff != "" {
					t.Error(diff)
				}
				return
			}
			t.Error("no LoadTest was created")
		})
	}
}
