package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
	"github.com/h2surge/h2surge/test/markdown"
)

// schedule returns a valid LoadTestSchedule.
func schedule() map[string]any {
	return map[string]any{
		"apiVersion": "h2surge.io/v1alpha1", "kind": "LoadTestSchedule",
		"metadata": map[string]any{"name": "nightly", "namespace": "default"},
		"spec": map[string]any{
			"schedule": "30 2 * * 1-5", "timeZone": "Europe/Berlin",
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"team": "core"}},
				"spec":     builder.Full()["spec"],
			},
		},
	}
}

func TestRulesOfSchedules(t *testing.T) {
	c := newClient(t)
	for _, row := range []struct {
		name  string
		path  string
		value any
		want  string
	}{
		{"valid", "", nil, ""},
		{"a name of 41 characters", "metadata.name", strings.Repeat("a", 41), ""},
		{"long name", "metadata.name", strings.Repeat("a", 42), "metadata.name must have at most 41 characters"},
		{"dotted name", "metadata.name", "a.b", "metadata.name must be lower-case letters, digits and -, without dots"},
		{"no schedule", "spec.schedule", "", "at least 1 chars long"},
		{"four fields", "spec.schedule", "* * * *", "must have five fields"},
		{"six fields", "spec.schedule", "0 * * * * *", "must have five fields"},
		{"every", "spec.schedule", "@every 1h", "must have five fields"},
		{"daily", "spec.schedule", "@daily", ""},
		{"time zone in the schedule", "spec.schedule", "CRON_TZ=UTC 0 * * * *", "must not contain TZ; use timeZone"},
		{"local time", "spec.timeZone", "Local", "must not be Local"},
		{"no time zone", "spec.timeZone", "", "at least 1 chars long"},
		{"unknown policy", "spec.concurrencyPolicy", "Queue", `supported values: "Allow", "Forbid", "Replace"`},
		{"short deadline", "spec.startingDeadlineSeconds", int64(9), "greater than or equal to 10"},
		{"long deadline", "spec.startingDeadlineSeconds", int64(604801), "less than or equal to 604800"},
		{"negative limit", "spec.historyLimits.passed", int64(-1), "greater than or equal to 0"},
		{"high limit", "spec.historyLimits.error", int64(1001), "less than or equal to 1000"},
		{"a rule of LoadTests", "spec.template.spec.runner.shards", int64(3), "must be at least runner.shards, one for each shard"},
		{"a duration with a fraction", "spec.template.spec.gracefulStop", "1.5s", "should match"},
		{"a duration without a fraction", "spec.template.spec.gracefulStop", "1s500ms", ""},
		{"unknown field of the template", "spec.template.spec.rate", int64(3), `unknown field "spec.template.spec.rate"`},
		{"name in the template", "spec.template.metadata.name", "x", `unknown field "spec.template.metadata.name"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc := schedule()
			if row.path != "" {
				if err := unstructured.SetNestedField(doc, row.value, strings.Split(row.path, ".")...); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, p := range byServer(t, c, doc) {
				got = append(got, p.path+": "+p.message)
			}
			all := strings.Join(got, "\n")
			if row.want == "" && all != "" || !strings.Contains(all, row.want) {
				t.Errorf("got %q, want %q", all, row.want)
			}
		})
	}
}

// TestSchedulesOfTheDocs creates each LoadTestSchedule of the samples and the pages, and compiles its template.
func TestSchedulesOfTheDocs(t *testing.T) {
	c := newClient(t)
	texts := map[string]string{}
	files, err := filepath.Glob("../../config/samples/schedules/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	pages, err := markdown.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		for _, b := range p.Blocks {
			if b.Language == "yaml" && strings.Contains(b.Text, "kind: LoadTestSchedule\n") {
				texts[b.File] = b.Text
			}
		}
	}
	if len(texts) < 2 {
		t.Errorf("%d schedules", len(texts))
	}
	for file, text := range texts {
		var doc map[string]any
		s := &v1alpha1.LoadTestSchedule{}
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		doc["metadata"].(map[string]any)["namespace"] = "default"
		if got := byServer(t, c, doc); got != nil {
			t.Errorf("%s: the API server refuses it: %v", file, got)
		}
		if _, _, errs := compile.Compile("default/x", &s.Spec.Template.Spec); len(errs) > 0 {
			t.Errorf("%s: %v", file, errs)
		}
	}
}
