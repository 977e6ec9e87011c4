package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/test/golden"
)

func TestLint(t *testing.T) {
	for name, code := range map[string]int{"mistakes": 1, "files": 1, "places": 1, "sound": 0, "warnings": 0, "uris": 0, "never": 1, "helm": 0, "several": 1, "list": 1, "twins": 1, "schedule": 1} {
		got := h2surge(t, nil, nil, "lint", "testdata/lint/"+name+".yaml")
		if got.code != code || got.errors != "" {
			t.Errorf("%s: exit code %d, errors %q", name, got.code, got.errors)
		}
		golden.Compare(t, "lint/"+name+".txt", got.out)
	}
}

// TestRunPrintsWhatLintPrints: all mistakes that only the content of files shows, each once.
func TestRunPrintsWhatLintPrints(t *testing.T) {
	const name = "testdata/lint/places.yaml"
	want := h2surge(t, nil, nil, "lint", name).out
	for _, args := range [][]string{{"run", name}, {"try", name}, {"try", "--dry-run", name}} {
		var out, errs strings.Builder
		code := execute(t.Context(), append([]string{"h2surge"}, args...), strings.NewReader(""), &out, &errs, parts())
		if diff := cmp.Diff(want, errs.String()); code != 1 || diff != "" {
			t.Errorf("%v: exit code %d (-want +got):\n%s", args, code, diff)
		}
	}
}

func TestLintOfManyAndStrict(t *testing.T) {
	warnings, err := os.ReadFile("testdata/lint/warnings.txt")
	if err != nil {
		t.Fatal(err)
	}
	found, _ := strings.CutSuffix(string(warnings), "1 LoadTest is valid\n")
	for _, tc := range []struct {
		name, want string
		code       int
		args       []string
	}{
		{"strict", found, 1, []string{"--strict", "testdata/lint/sound.yaml", "testdata/lint/warnings.yaml"}},
		{"nothing at all", "1 LoadTest is valid\n", 0, []string{"--strict", "testdata/lint/sound.yaml"}},
		{"one cannot be read", "/does/not/exist: no such file or directory\n" + found, 1, []string{"/does/not/exist", "testdata/lint/warnings.yaml"}},
		{"standard input", "1 LoadTest is valid\n", 0, []string{"-"}},
		{"notes are not warnings", "testdata/lint/helm.yaml:3: note: 2 objects of other kinds: not checked (Deployment, Service)\n2 LoadTests are valid\n", 0, []string{"--strict", "testdata/lint/helm.yaml"}},
		{"a target", "1 Target is valid\n", 0, []string{"../../config/samples/targets/nrf.yaml"}},
		{"a directory", "8 Targets are valid\n", 0, []string{"-f", "../../config/samples/targets"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := h2surge(t, nil, nil, append([]string{"lint"}, tc.args...)...)
			if got.code != tc.code || got.out != tc.want || got.errors != "" {
				t.Errorf("exit code %d, output\n%serrors %q", got.code, got.out, got.errors)
			}
		})
	}
	if got := h2surge(t, nil, nil, "lint"); got.code != 1 || !strings.HasPrefix(got.errors, "-f FILE: the argument is missing") {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
}

// TestListOfALoadTest: run, try and lint read what kubectl get -o json prints.
func TestListOfALoadTest(t *testing.T) {
	item := must(yaml.YAMLToJSON([]byte(firstManifest)))
	list := fmt.Sprintf("{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n%s\n]}\n", item)
	got := h2surge(t, nil, nil, "run", "--dry-run", "-f", file(t, "list.json", list))
	if got.code != 0 || !strings.Contains(got.out, "name: first\n") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.errors)
	}
	wrong := file(t, "wrong.json", strings.Replace(list, `"requestsPerSecond":10`, `"requestsPerSecond":-1`, 1))
	for _, command := range []string{"run", "try", "lint"} {
		if got := h2surge(t, nil, nil, command, "-f", wrong); got.code != 1 || !strings.Contains(got.out+got.errors, wrong+":2: spec.rates[0].requestsPerSecond: ") {
			t.Errorf("%s: exit code %d: %s%s", command, got.code, got.out, got.errors)
		}
	}
	two := file(t, "two.json", strings.Replace(list, "\n]", ",\n"+string(item)+"]", 1))
	if got := h2surge(t, nil, nil, "run", "-f", two); got.code != 1 || !strings.Contains(got.errors, "two.json:3: document 1: items[1]: is a second LoadTest") {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
}

// TestLintFormats has the formats for other programs.
func TestLintFormats(t *testing.T) {
	for _, format := range []string{"json", "github", "sarif"} {
		got := h2surge(t, nil, nil, "lint", "-o", format, "testdata/lint/several.yaml", "testdata/lint/does,not:exist.yaml")
		if got.code != 1 || got.errors != "" {
			t.Errorf("%s: exit code %d, errors %q", format, got.code, got.errors)
		}
		golden.Compare(t, "lint/several."+format+".txt", got.out)
		if format != "github" && !json.Valid([]byte(got.out)) {
			t.Errorf("%s: the output is not JSON", format)
		}
		if sound := h2surge(t, nil, nil, "lint", "-o", format, "testdata/lint/sound.yaml"); sound.code != 0 || strings.Contains(sound.out, "null") {
			t.Errorf("%s of a sound manifest: exit code %d\n%s", format, sound.code, sound.out)
		}
	}
	if got := h2surge(t, nil, nil, "lint", "-o", "xml", "-"); got.code != 1 || got.errors != "-o: \"xml\" is not a format; allowed: github, json, sarif, text\n" {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
}

// TestLintOfAMissingFile: run refuses the file that lint does, unless only a pod may have it.
func TestLintOfAMissingFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tc := range []struct {
		file, pod string
		code      int
	}{
		{"absent.csv", "", 1},
		{"/does/not/exist.csv", "", 0},
		{"absent.csv", "\n  runner: {podTemplate: {metadata: {labels: {a: b}}}}", 0},
	} {
		text := strings.Replace(firstManifest, "range: {start: 0, end: 100}", "csv: {file: "+tc.file+"}", 1) + tc.pod
		if err := os.WriteFile("first.yaml", []byte(strings.Replace(text, "${ue}", "${ue.id}", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		got := h2surge(t, nil, nil, "lint", "first.yaml")
		if warns := strings.Contains(got.out, "first.yaml:12: warning: spec.variables[0].csv.file: "); got.code != tc.code || warns != (tc.code == 0) ||
			!strings.Contains(got.out, tc.file+": no such file or directory") {
			t.Errorf("%s%s: exit code %d, want %d\n%s", tc.file, tc.pod, got.code, tc.code, got.out)
		}
		if run := h2surge(t, nil, nil, "run", "--dry-run", "first.yaml"); run.code != 1 || run.errors == "" {
			t.Errorf("%s: run ends with exit code %d", tc.file, run.code)
		}
	}
}

// TestTables: lint, run and try name the line of the manifest, the variable, the file and its line.
func TestTables(t *testing.T) {
	t.Chdir(t.TempDir())
	text := strings.NewReplacer("range: {start: 0, end: 100}", "csv: {file: items.csv}", "${ue}", "${ue.id}").Replace(firstManifest)
	if err := os.WriteFile("first.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ table, want string }{
		{"id,name\n1,a\n2\n", "first.yaml:12: spec.variables[0].csv: items.csv: line 3: the number of fields is 1, and that of columns is 2\n"},
		{"id,name\n1,a\n2,b,c\n", "first.yaml:12: spec.variables[0].csv: items.csv: line 3: the number of fields is 3, and that of columns is 2\n"},
		{"id,name\n1,a\"b\n", "first.yaml:12: spec.variables[0].csv: items.csv: line 2: bare \" in non-quoted-field\n"},
		{"", "first.yaml:12: spec.variables[0].csv: items.csv: the row with the column names: the table is empty\n"},
		{"id,name\n", "first.yaml:12: spec.variables[0].csv: items.csv: the table has no rows\n"},
		{"nr,name\n1,a\n", "first.yaml:23: spec.chains[0].steps[0].request.path: the variable ue has no column \"id\"; the first row names 2\n"},
	} {
		if err := os.WriteFile("items.csv", []byte(tc.table), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"lint", "run", "try"} {
			var out, errs strings.Builder
			code := execute(t.Context(), []string{"h2surge", command, "-f", "first.yaml"}, strings.NewReader(""), &out, &errs, parts())
			if code != 1 || !strings.Contains("\n"+out.String()+errs.String(), "\n"+tc.want) {
				t.Errorf("%q: %s: exit code %d\n%s%swant %s", tc.table, command, code, out.String(), errs.String(), tc.want)
			}
		}
	}
}

// TestMeasured has the size of a test, as thresholds see it.
func TestMeasured(t *testing.T) {
	from := int64(0)
	warm := rv.Rate{Name: "warm", WarmUp: true, Count: 100, Period: time.Second, Duration: time.Hour}
	hold := rv.Rate{Name: "hold", Count: 10, Period: time.Second, Duration: 20 * time.Second}
	ramp := rv.Rate{Name: "ramp", Count: 10, RampFrom: &from, Period: time.Second, Duration: 20 * time.Second}
	counted := rv.Rate{Name: "counted", ClosedLoop: true, Requests: 500}
	loop := rv.Rate{Name: "loop", ClosedLoop: true, Duration: time.Minute}
	own := rv.Rate{Name: "own", Chain: 1, Count: 1, Period: time.Second, Duration: 10 * time.Second}
	instances := rv.Rate{Name: "instances", ChainsPerSecond: true, Count: 1, Period: time.Second, Duration: time.Second}
	for _, tc := range []struct {
		name, stage string
		rates       []rv.Rate
		want        size
	}{
		{"a warm-up does not count", "", []rv.Rate{warm, hold}, size{20 * time.Second, 200}},
		{"stages one after another", "", []rv.Rate{hold, ramp}, size{40 * time.Second, 300}},
		{"one stage", "ramp", []rv.Rate{hold, ramp, counted}, size{20 * time.Second, 100}},
		{"a number of requests", "", []rv.Rate{counted}, size{0, 500}},
		{"a closed loop", "", []rv.Rate{hold, loop}, size{80 * time.Second, 0}},
		{"a chain with stages of its own", "", []rv.Rate{hold, own}, size{40 * time.Second, 210}},
		{"instances", "", []rv.Rate{instances}, size{time.Second, 0}},
	} {
		plan := &rv.Plan{Chains: []rv.Chain{{StartAfter: 30 * time.Second}}, Rates: tc.rates}
		if got := measured(plan, tc.stage); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// TestManyMistakes: 100 are printed, errors rather than warnings, and a line says how many more there are.
func TestManyMistakes(t *testing.T) {
	sound, err := os.ReadFile("testdata/lint/sound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	repeated := func(format string, n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, format, i)
		}
		return out.String()
	}
	unused := strings.Replace(string(sound), "  templates:", "  variables:\n"+repeated("    - {name: unused%d, uuid: {}}\n", 32)+"  templates:", 1)
	for _, tc := range []struct {
		name, manifest   string
		errors, warnings int
		last             string
	}{
		{"errors", string(sound) + repeated("  unknown%d: 1\n", 150), 100, 0, "stdin: note: 50 more are not printed; correct these first"},
		{"errors rather than warnings", unused + repeated("  unknown%d: 1\n", 90), 90, 10, "stdin: note: 22 more are not printed; correct these first"},
		{"as many as are printed", string(sound) + repeated("  unknown%d: 1\n", 100), 100, 0, "stdin:108: spec.unknown99: unknown field"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs strings.Builder
			if code := execute(t.Context(), []string{"h2surge", "lint", "-"}, strings.NewReader(tc.manifest), &out, &errs, parts()); code != 1 {
				t.Errorf("exit code %d", code)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if errors, warnings := strings.Count(out.String(), ": unknown field"), strings.Count(out.String(), ": warning: "); errors != tc.errors || warnings != tc.warnings {
				t.Errorf("%d errors and %d warnings, want %d and %d", errors, warnings, tc.errors, tc.warnings)
			}
			if got := lines[len(lines)-1]; got != tc.last {
				t.Errorf("the last line is %q, want %q", got, tc.last)
			}
		})
	}
}

// TestLintOfAbsentObjects: each warning names what h2surge run takes in place of the object. That command refuses the same manifest.
func TestLintOfAbsentObjects(t *testing.T) {
	const rest = `
  chains: [{name: c, target: t, steps: [{name: s, request: {path: /}}]}]
  rates: [{name: r, closedLoop: {}, requests: 50}]
`
	for target, want := range map[string]string{
		"tls: {caFrom: {configMapKeyRef: {name: a, key: ca.crt}}}":       "ConfigMap in the manifest, or file in place",
		"tls: {caFrom: {secretKeyRef: {name: a, key: ca.crt}}}":          "Secret in the manifest, or file in place",
		"tls: {certificate: {secretRef: {name: a}}}":                     "Secret in the manifest, or files in place",
		"auth: {basic: {secretRef: {name: a}}}":                          "Secret in the manifest, or files in place",
		"auth: {bearer: {tokenFrom: {secretKeyRef: {name: a, key: k}}}}": "Secret in the manifest, or file in place",
	} {
		name := file(t, "m.yaml", "apiVersion: h2surge.io/v1alpha1\nkind: LoadTest\nmetadata: {name: a}\nspec:\n  targets: [{name: t, url: 'https://a', "+target+"}]"+rest)
		lint, run := h2surge(t, nil, nil, "lint", name), h2surge(t, nil, nil, "run", "--dry-run", name)
		if want = "; h2surge run needs the " + want + " of this field\n"; lint.code != 0 || !strings.Contains(lint.out, want) || run.code != 1 {
			t.Errorf("%s: exit codes %d and %d\n%s%s", target, lint.code, run.code, lint.out, run.errors)
		}
	}
}

// TestLintOfALargePlan has bodies that gzip cannot compress to the size of a ConfigMap.
func TestLintOfALargePlan(t *testing.T) {
	noise := make([]byte, plan.MaxCompressed+64<<10)
	random := rand.NewChaCha8([32]byte{})
	if _, err := random.Read(noise); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile("testdata/lint/sound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var templates, steps []string
	for i, body := range slices.Collect(slices.Chunk(noise, 64<<10)) {
		templates = append(templates, fmt.Sprintf("{name: large%d, method: POST, body: %q}", i, base64.StdEncoding.EncodeToString(body)))
		steps = append(steps, fmt.Sprintf("{template: large%d}", i))
	}
	large := strings.NewReplacer("{name: get}", strings.Join(templates, ", "), "{template: get}", strings.Join(steps, ", ")).Replace(string(sound))
	found := lintManifest(strings.NewReader(large))
	i := slices.IndexFunc(found, func(m mistake) bool { return strings.Contains(m.text, v1alpha1.ReasonPlanTooLarge) })
	if i < 0 {
		t.Fatalf("no mistake says %s", v1alpha1.ReasonPlanTooLarge)
	}
	want := regexp.MustCompile(`^spec: the plan has \d+ compressed bytes; allowed: at most 1044480; shorten bodies and lists \(PlanTooLarge\)$`)
	if m := found[i]; m.line != 4 || m.level != isError || !want.MatchString(m.text) {
		t.Errorf("%+v, want an error of line 4 that matches %s", m, want)
	}
	if len(large) > plan.MaxCanonical {
		t.Error("the test has the other limit")
	}
}

// TestLintOfSamples: they are what people begin with.
func TestLintOfSamples(t *testing.T) {
	for _, name := range samples(t) {
		if got := h2surge(t, nil, nil, "lint", name); got.code != 0 {
			t.Errorf("%s", got.out)
		}
	}
}

// samples are the manifests in config/samples.
func samples(t *testing.T) (out []string) {
	t.Helper()
	all, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(all) < 5 {
		t.Fatal(all, err)
	}
	for _, name := range all {
		if filepath.Base(name) != "kustomization.yaml" {
			out = append(out, name)
		}
	}
	return out
}

// FuzzLint: whatever the manifest, nothing panics, and each mistake is a line of its own.
func FuzzLint(f *testing.F) {
	for _, name := range []string{"mistakes", "files", "sound", "warnings", "several", "helm", "list"} {
		b, err := os.ReadFile("testdata/lint/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, manifest string) {
		if strings.Contains(manifest, "file") {
			return // of this machine
		}
		text := &manifestText{content: []byte(manifest), files: []manifestFile{{name: "f", first: 1}}}
		every := (&linted{checked: map[string]int{}}).every(text)
		for _, m := range append(lintManifest(strings.NewReader(manifest)), every...) {
			if line := m.in(text); strings.Contains(line, "\n") || m.line < 0 || m.line > 1+strings.Count(manifest, "\n") {
				t.Errorf("%q", line)
			}
		}
	})
}
