package hack

import (
	"os"
	"os/exec"
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

// emptyFails matches an array that bash before 4.4, as on macOS, refuses with "set -u" if it is empty.
var emptyFails = regexp.MustCompile(`(?:^|[^+])"\$\{\w+\[@\]\}"`)

// TestActionsRunInBashOfMacOS reads the scripts of the actions, which also run on macOS, with bash 3.2.
func TestActionsRunInBashOfMacOS(t *testing.T) {
	scripts, _ := filepath.Glob("../.github/actions/*/*.sh")
	if len(scripts) < 3 {
		t.Fatalf("scripts %v", scripts)
	}
	for _, file := range scripts {
		for _, array := range emptyFails.FindAllString(string(readFile(t, file)), -1) {
			t.Errorf(`%s: %s fails if it is empty; allowed: ${args[@]+"${args[@]}"}`, file, array)
		}
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

// TestPublish runs the last step of a release with programs that print their arguments. A pre-release is not the latest image, which the
// README runs.
func TestPublish(t *testing.T) {
	var workflow struct {
		Jobs struct {
			Release struct{ Steps []struct{ Run string } }
		}
	}
	if err := yaml.Unmarshal(readFile(t, "../.github/workflows/release.yaml"), &workflow); err != nil {
		t.Fatal(err)
	}
	steps := workflow.Jobs.Release.Steps
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin/tools"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"gh", "bin/tools/crane"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\necho ${0##*/} $*\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for version, want := range map[string]string{
		"v0.1.0":      "gh release edit v0.1.0 --draft=false\ncrane tag registry/h2surge:v0.1.0 latest\n",
		"v0.2.0-rc.1": "gh release edit v0.2.0-rc.1 --draft=false\n",
	} {
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", steps[len(steps)-1].Run)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "IMAGE=registry/h2surge", "VERSION=" + version}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s: %v, %q, want %q", version, err, out, want)
		}
	}
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
