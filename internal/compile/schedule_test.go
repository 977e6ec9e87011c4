package compile

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestScheduleSchema: the schema of LoadTestSchedules is that of the CRD.
func TestScheduleSchema(t *testing.T) {
	raw, err := os.ReadFile("../../config/crd/bases/h2surge.io_loadtestschedules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	want, got := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], scheduleSchema().Properties["spec"]
	want.Properties["template"].Properties["spec"] = got.Properties["template"].Properties["spec"]
	var compare func(path string, want, got *schema)
	compare = func(path string, want, got *schema) {
		bounds := func(s *schema) []any {
			return []any{
				s.Type, s.Pattern, s.Enum, s.Minimum, s.Maximum, s.MinLength, s.MaxLength, s.MinFields, s.MaxFields, s.Values != nil,
				slices.Sorted(slices.Values(s.Required)), slices.Sorted(maps.Keys(s.Properties)),
			}
		}
		if diff := cmp.Diff(bounds(want), bounds(got)); diff != "" {
			t.Errorf("%s (-CRD +schedule.go):\n%s", path, diff)
			return
		}
		for name := range want.Properties {
			compare(path+"."+name, want.Properties[name], got.Properties[name])
		}
	}
	compare("spec", want, got)
}
