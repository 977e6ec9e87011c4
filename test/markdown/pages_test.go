package markdown

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const root = "../.."

func pages(t *testing.T) []*Page {
	t.Helper()
	out, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLinks follows each link to a file or a heading of this project. Nothing is fetched.
func TestLinks(t *testing.T) {
	byFile := map[string]*Page{}
	for _, p := range pages(t) {
		byFile[p.File] = p
	}
	for _, p := range byFile {
		for _, l := range p.Links {
			if strings.Contains(l.Text, "://") || strings.HasPrefix(l.Text, "mailto:") {
				continue
			}
			file, anchor, anchored := strings.Cut(l.Text, "#")
			to := p.File
			if file != "" {
				to = path.Join(path.Dir(p.File), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s:%d: the file of the link %s does not exist", p.File, l.Line, l.Text)
				continue
			}
			if other := byFile[to]; anchored && (other == nil || !other.Anchors[anchor]) {
				t.Errorf("%s:%d: %s has no heading %s", p.File, l.Line, to, anchor)
			}
		}
	}
}

// programs are those of all blocks and code spans, and where they are.
func programs(t *testing.T, visit func(where string, line int, words []string)) {
	for _, p := range pages(t) {
		for _, b := range p.Blocks {
			for _, c := range b.Commands() {
				for _, words := range Programs(c.Text) {
					visit(p.File, c.Line, words)
				}
			}
		}
		for _, c := range p.Code {
			for _, words := range Programs(c.Text) {
				visit(p.File, c.Line, words)
			}
		}
	}
}

var makeTarget = regexp.MustCompile(`^[a-z][a-z0-9-]+$`)

// TestMakeTargets: what the pages tell readers to make is a target of the Makefile.
func TestMakeTargets(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if name, _, found := strings.Cut(line, ":"); found && makeTarget.MatchString(name) {
			targets[name] = true
		}
	}
	n := 0
	programs(t, func(file string, line int, words []string) {
		if words[0] != "make" {
			return
		}
		for _, w := range words[1:] {
			if !makeTarget.MatchString(w) {
				continue
			}
			if n++; !targets[w] {
				t.Errorf("%s:%d: the Makefile has no target %s", file, line, w)
			}
		}
	})
	if n < 10 {
		t.Errorf("the pages name %d targets only", n)
	}
}

// TestPathsOfCommands: a file of this project that a command names exists.
func TestPathsOfCommands(t *testing.T) {
	file := regexp.MustCompile(`^(?:config|charts|hack|docs|test|api)/[A-Za-z0-9._/-]+$`)
	n := 0
	programs(t, func(page string, line int, words []string) {
		for _, w := range words {
			if !file.MatchString(w) {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(root, w)); err != nil {
				t.Errorf("%s:%d: %s does not exist", page, line, w)
			}
		}
	})
	if n < 10 {
		t.Errorf("the pages name %d files only", n)
	}
}

// TestWaits: "kubectl wait" for the end of a LoadTest waits longer than the operator waits for runners: 10 minutes
// for the pods and 2 minutes for their connections.
func TestWaits(t *testing.T) {
	n := 0
	programs(t, func(page string, line int, words []string) {
		text := strings.Join(words, " ")
		_, timeout, found := strings.Cut(text, "--timeout=")
		if !strings.HasPrefix(text, "kubectl wait --for=condition=Finished loadtest/") || !found {
			return
		}
		n++
		if d, err := time.ParseDuration(timeout); err != nil || d < 13*time.Minute {
			t.Errorf("%s:%d: %s: want a timeout of 13m or longer", page, line, text)
		}
	})
	if n < 3 {
		t.Errorf("the pages wait %d times only", n)
	}
}

// TestWorkflowOfTheGate: the steps that the tutorial adds to the workflow compare reports that the workflow writes.
func TestWorkflowOfTheGate(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Run  string
				With struct{ Name, Path string }
			}
		}
	}
	raw, err := os.ReadFile(filepath.Join(root, "config/delivery/github-workflow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &workflow); err != nil {
		t.Fatal(err)
	}
	written, artifacts := map[string]bool{}, map[string]string{}
	for _, s := range workflow.Jobs["load-test"].Steps {
		for _, m := range regexp.MustCompile(`--output-file (\S+)`).FindAllStringSubmatch(s.Run, -1) {
			written[m[1]] = true
		}
		artifacts[s.With.Name] = s.With.Path
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/tutorials/pipeline.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, steps, _ := strings.Cut(string(page), "gh run download ")
	m := regexp.MustCompile(`--name (\S+)(?s:.*)run: h2surge compare (\S+) (\S+)`).FindStringSubmatch(steps)
	if m == nil || artifacts[m[1]] != m[2] || !written[m[3]] {
		t.Errorf("the steps %q use no reports of the workflow, which writes %v and keeps %v", m, written, artifacts)
	}
}

// TestValuesOfHelm: a value that a helm command sets is one of the chart's.
func TestValuesOfHelm(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "charts/h2surge/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	assigned := regexp.MustCompile(`(?:^|,)([A-Za-z0-9.\[\]]+)=`)
	n := 0
	programs(t, func(page string, line int, words []string) {
		for i, w := range words {
			if words[0] != "helm" && words[0] != "--set" || i == 0 || words[i-1] != "--set" {
				continue
			}
			for _, m := range assigned.FindAllStringSubmatch(w, -1) {
				n++
				if !hasValue(values, strings.Split(m[1], ".")) {
					t.Errorf("%s:%d: the chart has no value %s", page, line, m[1])
				}
			}
		}
	})
	if n < 5 {
		t.Errorf("the pages set %d values only", n)
	}
}

// TestNamespaceOfTheOperator: a helm command that watches namespaces installs the operator into another one, in
// which no tenant reads the key of the CA.
func TestNamespaceOfTheOperator(t *testing.T) {
	watched := regexp.MustCompile(`watchNamespaces=\{(.*?)\}`)
	n := 0
	programs(t, func(page string, line int, words []string) {
		text := strings.Join(words, " ")
		m := watched.FindStringSubmatch(text)
		_, after, found := strings.Cut(text, " --namespace ")
		if words[0] != "helm" || m == nil {
			return
		}
		n++
		if own, _, _ := strings.Cut(after, " "); !found || slices.Contains(strings.Split(m[1], ","), own) {
			t.Errorf("%s:%d: the operator is in namespace %q, and watches %s", page, line, own, m[1])
		}
	})
	if n == 0 {
		t.Error("no page watches namespaces")
	}
}

// TestDeletedCRDs: the commands that remove all LoadTests delete each CRD, however it was installed.
func TestDeletedCRDs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "config/crd/bases/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var want []string
	for _, file := range files {
		group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		want = append(want, plural+"."+group)
	}
	n := 0
	programs(t, func(page string, line int, words []string) {
		if page != "docs/operate/install.md" || !strings.HasPrefix(strings.Join(words, " "), "kubectl delete crd ") {
			return
		}
		n++
		for _, crd := range want {
			if !slices.Contains(words, crd) {
				t.Errorf("%s:%d: the command does not delete %s", page, line, crd)
			}
		}
	})
	if n != 1 {
		t.Errorf("%d commands delete the CRDs", n)
	}
}

// TestBaselineOfBuilds: with bash -e, as in pipelines, a build of the main branch that passed is the next baseline. An
// inconclusive one, whose exit code is 3, is it only if there is none, because such a build can be slow. A failed one
// is not. All end with the exit code of h2surge.
func TestBaselineOfBuilds(t *testing.T) {
	commands := ""
	for _, p := range pages(t) {
		for _, b := range p.Blocks {
			if p.File != "docs/how-to/ci-cd.md" || !strings.Contains(b.Text, "this.json") {
				continue
			}
			for _, c := range b.Commands() {
				commands += c.Text + "\n"
			}
		}
	}
	for _, tc := range []struct {
		code         int
		before, want string // main.json
	}{
		{0, "", "this"}, {0, "old", "this"}, {2, "", ""}, {2, "old", "old"}, {3, "", "this"}, {3, "old", "old"},
	} {
		script := fmt.Sprintf("h2surge() { printf this >this.json; return %d; }\n%s", tc.code, commands)
		cmd := exec.Command("bash", "-e", "-c", script)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"BRANCH=main", "PATH=" + os.Getenv("PATH")}
		file := filepath.Join(cmd.Dir, "main.json")
		if tc.before != "" {
			if err := os.WriteFile(file, []byte(tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != tc.code {
			t.Errorf("%v, want exit code %d:\n%s\n%s", err, tc.code, script, out)
		}
		if got, _ := os.ReadFile(file); string(got) != tc.want { // no file: empty
			t.Errorf("exit code %d, main.json %q before: it is %q, want %q", tc.code, tc.before, got, tc.want)
		}
	}
}

// hasValue reports whether the values have the path, or end in an empty map or list on it, which takes anything.
func hasValue(values map[string]any, path []string) bool {
	name, _, _ := strings.Cut(path[0], "[")
	v, found := values[name]
	below, isMap := v.(map[string]any)
	switch {
	case !found || len(path) == 1:
		return found
	case isMap && len(below) > 0:
		return hasValue(below, path[1:])
	}
	list, isList := v.([]any)
	return isMap || isList && len(list) == 0
}
