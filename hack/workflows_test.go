package hack

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// pinned matches an action of this repository, or one of a full version.
var pinned = regexp.MustCompile(`^(\./|[\w-]+/[\w/-]+@v\d+\.\d+\.\d+$)`)

// TestActionsArePinned reads the workflows and the actions, and each script that they name.
func TestActionsArePinned(t *testing.T) {
	workflows, _ := filepath.Glob("../.github/workflows/*.yaml")
	actions, _ := filepath.Glob("../.github/actions/*/action.yaml")
	if len(workflows) < 2 || len(actions) < 2 {
		t.Fatalf("workflows %v, actions %v", workflows, actions)
	}
	for _, file := range slices.Concat(workflows, actions) {
		var content any
		if err := yaml.UnmarshalStrict(readFile(t, file), &content); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		each(content, func(key, value string) {
			if key == "uses" && !pinned.MatchString(value) {
				t.Errorf("%s: %s has no full version", file, value)
			}
			if script, ok := strings.CutPrefix(value, `"$GITHUB_ACTION_PATH/`); ok && key == "run" {
				info, err := os.Stat(filepath.Join(filepath.Dir(file), strings.TrimSuffix(script, `"`)))
				if err != nil || info.Mode()&0o100 == 0 {
					t.Errorf("%s: %s is not a program: %v", file, script, err)
				}
			}
		})
	}
}

// each calls f for each string below v that has a key.
func each(v any, f func(key, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			if s, ok := below.(string); ok {
				f(key, s)
			}
			each(below, f)
		}
	case []any:
		for _, below := range v {
			each(below, f)
		}
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestJobsOfCI: the workflow has the jobs of .ci/run. Its jobs build their tools themselves, and e2e is a job of its own.
func TestJobsOfCI(t *testing.T) {
	var want []string
	for _, list := range regexp.MustCompile(`(?m)^(?:first|stories|others)="(.*)"$`).FindAllStringSubmatch(string(readFile(t, "../.ci/run")), -1) {
		want = append(want, strings.Fields(list[1])...)
	}
	want = slices.DeleteFunc(want, func(j string) bool { return j == "tools" || j == "e2e" })
	var workflow struct {
		Jobs struct {
			Job struct {
				Strategy struct{ Matrix struct{ Job []string } }
			}
			E2E map[string]any
		}
	}
	if err := yaml.Unmarshal(readFile(t, "../.github/workflows/ci.yaml"), &workflow); err != nil {
		t.Fatal(err)
	}
	got := workflow.Jobs.Job.Strategy.Matrix.Job
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); len(want) < 10 || diff != "" || workflow.Jobs.E2E == nil {
		t.Errorf("jobs (-.ci/run +ci.yaml):\n%s", diff)
	}
}
