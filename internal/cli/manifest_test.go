package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/golden"
)

const configMap = `apiVersion: v1
kind: ConfigMap
metadata: {name: table}
data: {a.csv: "x"}
`

// dirOf writes files into a new directory.
func dirOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A manifest is named by -f or as an argument, and may be a directory.
func TestNamesOfManifests(t *testing.T) {
	dir := dirOf(t, map[string]string{
		"loadtest.yaml": manifest, "table.yml": configMap, "tables.json": "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"b\"}\n}",
		"kustomization.yaml": "kind: Kustomization\n", "notes.txt": "x",
	})
	test := filepath.Join(dir, "loadtest.yaml")
	for _, args := range [][]string{
		{"-f", test}, {test}, {"--filename=" + test}, {"-f", dir}, {dir}, {"-f", test, "-f", filepath.Join(dir, "table.yml")}, {test, filepath.Join(dir, "tables.json")}, {"-"},
	} {
		for _, command := range []string{"run", "lint", "try --dry-run"} {
			var e *fakeEngine
			if command == "run" {
				e = newFakeEngine(answered(10, 0, 1000))
			}
			if got := h2surge(t, e, nil, append(strings.Fields(command), args...)...); got.code != 0 {
				t.Errorf("%s %v: exit code %d\n%s%s", command, args, got.code, got.out, got.errors)
			}
		}
	}
}

// TestFilesBesideATest: a file with ConfigMaps and Secrets only, also in a List, is not a manifest of its own.
func TestFilesBesideATest(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"a List of ConfigMaps":   {"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(configMap), "\n", "\n  ") + "\n", ""},
		"a List with a LoadTest": {"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(manifest), "\n", "\n  ") + "\n", "-f: 2 files have more than ConfigMaps and Secrets"},
		"a LoadTest":             {manifest, "-f: 2 files have more than ConfigMaps and Secrets"},
		"a LoadTest but no kind": {strings.Replace(manifest, "kind: LoadTest\n", "", 1), "-f: 2 files have more than ConfigMaps and Secrets"},
		"comments":               {"# nothing\n", ""},
		"an empty document":      {"# nothing\n---\n" + configMap, ""},
		"another kind":           {"apiVersion: v1\nkind: Service\n", "-f: 2 files have more than ConfigMaps and Secrets"},
	} {
		dir := dirOf(t, map[string]string{"a.yaml": manifest, "b.yaml": tc.content})
		got := h2surge(t, nil, nil, "run", "-f", dir, "--dry-run")
		if got.code != 0 && tc.want == "" || !strings.Contains(got.errors, tc.want) {
			t.Errorf("%s: exit code %d, %q, want %q", name, got.code, got.errors, tc.want)
		}
	}
}

// Mistakes have the line of their own file, and a file that several manifests share is reported once.
func TestLinesOfSeveralFiles(t *testing.T) {
	dir := dirOf(t, map[string]string{
		"a.yaml":     strings.Replace(manifest, "path: /", "pth: /", 1),
		"b.yaml":     strings.Replace(manifest, "target: a,", "target: b,", 1),
		"table.yaml": strings.Replace(configMap, "\ndata:", "\ndta:", 1),
	})
	t.Chdir(dir)
	got := h2surge(t, nil, nil, "lint", "-f", ".")
	want := "a.yaml:8: spec.templates[0].pth: unknown field; did you mean path?\n"
	if got.code != 1 || !strings.Contains(got.out, want) || !strings.Contains(got.out, "b.yaml:10: spec.chains[0].target: there is no target \"b\"") ||
		strings.Count(got.out, "table.yaml:4: ") != 1 {
		t.Errorf("exit code %d\n%s", got.code, got.out)
	}
}

func TestJoined(t *testing.T) {
	text := joined([]manifestFile{{name: "a", content: []byte("1\n2")}, {name: "b", content: []byte("1\n")}, {name: "-", content: []byte(`{"x":1}`)}})
	if want := "1\n2\n---\n1\n---\n{\"x\":1}\n"; string(text.content) != want {
		t.Errorf("%q, want %q", text.content, want)
	}
	for line, want := range map[int]string{0: "a, b, stdin: ", 1: "a:1: ", 2: "a:2: ", 4: "b:1: ", 6: "stdin:1: "} {
		if got := text.place(line); got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}

// The manifest of --dry-run is the LoadTest that would have run.
func TestDryRun(t *testing.T) {
	args := []string{"-D", "10s", "--rps", "0.5", "-d", `{"a":"$b"}`, "-H", "x: y", "http://127.0.0.1:80/a?b", "http://127.0.0.1:80/c", "--dry-run"}
	for _, format := range []string{"yaml", "json"} {
		got := h2surge(t, nil, nil, append([]string{"run", "-o", format}, args...)...)
		if got.code != 0 || got.errors != "" {
			t.Fatalf("exit code %d: %s", got.code, got.errors)
		}
		m, err := compile.Load(strings.NewReader(got.out))
		if err != nil {
			t.Fatalf("%v\n%s", err, got.out)
		}
		flags := formOf(t, args[:len(args)-3]...)
		want, err := flags.loadTest(nil, args[len(args)-3], args[len(args)-2])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Spec, m.LoadTest.Spec); diff != "" || m.LoadTest.Name != "command-line" {
			t.Errorf("%s: name %s, spec (-want +got):\n%s", format, m.LoadTest.Name, diff)
		}
		if format == "yaml" {
			golden.Compare(t, "dry-run.yaml", got.out)
		}
	}
	name := file(t, "loadtest.yaml", manifest)
	got := h2surge(t, nil, nil, "run", name, "--dry-run", "--target-url", "http://h:9")
	if got.code != 0 || !strings.Contains(got.out, "url: http://h:9\n") {
		t.Errorf("a manifest: exit code %d\n%s%s", got.code, got.out, got.errors)
	}
}

// TestDryRunOfWorkers: the LoadTest has as many workers as -t.
func TestDryRunOfWorkers(t *testing.T) {
	for threads, want := range map[string]string{"1": "", "4": "cpusPerShard: 4", "257": "-t: must be between 1 and 256"} {
		got := h2surge(t, nil, nil, "run", "-n", "300", "-c", "300", "-t", threads, "http://a.example", "--dry-run")
		if !strings.Contains(got.out+got.errors, want) || strings.Contains(got.out, "cpusPerShard") != (threads == "4") {
			t.Errorf("-t %s: exit code %d, want %q\n%s%s", threads, got.code, want, got.out, got.errors)
		}
	}
}

// YAML has the fields of JSON.
func TestReportAsYAML(t *testing.T) {
	of := func(args ...string) string {
		got := h2surge(t, newFakeEngine(answered(10, 0, 1000)), nil, append([]string{"run", "-q", "-f", "-"}, args...)...)
		if got.code != 0 {
			t.Fatalf("exit code %d: %s", got.code, got.errors)
		}
		return got.out
	}
	var fromYAML, fromJSON rv.Report
	if err := yaml.UnmarshalStrict([]byte(of("-o", "yaml")), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(of("-o", "json")), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if fromYAML.Requests != fromJSON.Requests || fromYAML.Kind != rv.ReportKind {
		t.Errorf("YAML %+v, JSON %+v", fromYAML.Requests, fromJSON.Requests)
	}
	saved := filepath.Join(t.TempDir(), "r.yaml")
	of("--output-file", saved)
	b, err := os.ReadFile(saved)
	if err != nil || !strings.HasPrefix(string(b), "apiVersion: ") {
		t.Errorf("saved: %v, %.80s", err, b)
	}
}

func TestVersionFlag(t *testing.T) {
	want := h2surge(t, nil, nil, "version").out
	if got := h2surge(t, nil, nil, "--version"); got.code != 0 || got.out != want || want == "" {
		t.Errorf("exit code %d: %q, want %q", got.code, got.out, want)
	}
}
