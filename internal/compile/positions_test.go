package compile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/internal/compile"
)

// atLines renders errors with their lines.
func atLines(p *compile.Positions, errs field.ErrorList) []string {
	lines := compile.ErrorLines(errs)
	for i, err := range errs {
		lines[i] = compile.Place("f", p.OfError(err)) + lines[i]
	}
	return lines
}

// placed loads and compiles a manifest and returns all that is wrong with it.
func placed(t testing.TB, manifest string) []string {
	t.Helper()
	m, err := compile.Load(strings.NewReader(manifest))
	var broken *compile.ManifestError
	if errors.As(err, &broken) {
		return atLines(broken.Positions, broken.Errors)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	return atLines(m.Positions, errs)
}

const firstDocument = `# a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
---
`

const blockStyle = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata:
  name: block
spec:
  targets:
    - name: target
      url: http://target.example
  templates:
    - name: get
      headers:
        - name: a
          value: b
        - name: c
          value: d
    -
      name: post
  chains:
    - {name: gets, target: target, steps: [{template: get}, {template: post}]}
  rates:
  - {name: steady, requestsPerSecond: 10,
     duration: 1s}
`

func TestPositions(t *testing.T) {
	block := func(replace ...string) string { return strings.NewReplacer(replace...).Replace(blockStyle) }
	for _, tc := range []struct {
		name, manifest string
		want           []string
	}{
		{"nothing wrong", blockStyle, []string{}},
		{"unknown field", block("url:", "uri: x\n      url:"), []string{"f:8: spec.targets[0].uri: unknown field; did you mean url?"}},
		{"in a list", block("value: d", "value: ${x}"), []string{`f:15: spec.templates[0].headers[1].value: variable "x" is not defined`}},
		{"item behind its dash", block("name: post", "nam: post", ", {template: post}", ""), []string{
			"f:17: spec.templates[1].nam: unknown field; did you mean name?", "f:17: spec.templates[1].name: is needed"}},
		{"in the second document", firstDocument + block("value: d", "value: 7"), []string{"f:21: spec.templates[0].headers[1].value: must be a string; put the number in quotes: \"7\""}},
		{"of the second document", block() + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a.b: 1\n",
			[]string{"f:29: document 2: data[a.b]: must be a string; put the number in quotes: \"1\""}},
		{"missing in the second document", block() + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {}\n",
			[]string{"f:26: document 2: metadata.name: is needed"}},
		{"missing field", block("url: http://target.example", "connections: 1"), []string{"f:7: spec.targets[0]: exactly one of url and urls is needed"}},
		{"missing section", "apiVersion: h2surge.io/v1alpha1\nkind: LoadTest\nmetadata: {name: a}\n", []string{
			"f:1: spec: is needed"}},
		{"flow style over lines", block("duration: 1s", "duration: soon"), []string{
			"f:22: spec.rates[0].duration: must be a duration such as 500ms or 1m30s"}},
		{"a key twice, and more", block("name: target\n", "name: target\n      name: other\n", "value: b", "value: ${x}"), []string{
			"f:8: spec.targets[0].name: is given twice, first in line 7; remove one of them",
			`f:14: spec.templates[0].headers[0].value: variable "x" is not defined`, `f:20: spec.chains[0].target: there is no target "target"`}},
		{"a key twice in another document", block() + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  b: c\n  b: d\n",
			[]string{"f:29: document 2: data.b: is given twice, first in line 28; remove one of them"}},
		{"syntax", firstDocument + "a:\n  b: c\n d: e\n", []string{"f:9: not valid YAML: did not find expected key; check the indentation of this line, and the quotes and brackets of the lines above"}},
		{"no LoadTest", firstDocument, []string{"f: the manifest has no LoadTest"}},
		{"another kind", block() + "---\nkind: Pod\napiVersion: v1\n",
			[]string{"f:24: document 2: kind: \"Pod\" is not supported; allowed: LoadTest, ConfigMap, Secret"}},
		{"anchor and alias", block("      headers:", "      headers: &h", "name: post", "{name: post, headers: *h}", "value: d", "value: ${x}"), []string{
			`f:15: spec.templates[0].headers[1].value: variable "x" is not defined`, `f:15: spec.templates[1].headers[1].value: variable "x" is not defined`}},
		{"merge", block("- name: get\n", "- name: get\n      expect: &e\n        statu: []\n", "name: post", "{name: post, expect: {<<: *e}}"), []string{
			"f:12: spec.templates[0].expect.statu: unknown field; did you mean status?", "f:12: spec.templates[1].expect.statu: unknown field; did you mean status?"}},
		{"merge of an existing template", block("- name: get\n", "- &get\n      name: get\n", "name: post", "{<<: *get, name: post}"), []string{
			`f:18: document 1: key "name" is set here and by "<<"; write it without "<<"`}},
		{"JSON", "\n{\"apiVersion\":\"h2surge.io/v1alpha1\",\n\"kind\":\"LoadTest\",\"metadata\":\n{\"name\":\"\\ud83d\\ude00\",\n\"a\":1}\n}\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\n\n\"metadata\":{}}", []string{
			"f:5: metadata.a: unknown field", "f:2: spec: is needed", "f:9: document 2: metadata.name: is needed",
			"f:4: metadata.name: must be lower-case letters, digits and -, beginning and ending with a letter or digit"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, placed(t, tc.manifest)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzPositions: whatever the input and the path, the line is one of the input.
func FuzzPositions(f *testing.F) {
	f.Add(blockStyle, "spec.templates[0].headers[1].value")
	f.Add(firstDocument+blockStyle, "document 1: metadata.name")
	f.Add("apiVersion: h2surge.io/v1alpha1\nkind: LoadTest\nspec: &a {<<: *a, \"\": *a}\n", "spec.x.")
	f.Add("{\"apiVersion\":\"h2surge.io/v1alpha1\",\"kind\":\"LoadTest\"}\n[1,\n2]", "document 2[1]")
	f.Add("a: &a [*a]\n\"\": *a", "document 1: a[0][0][0]")
	f.Fuzz(func(t *testing.T, manifest, path string) {
		m, err := compile.Load(strings.NewReader(manifest))
		var broken *compile.ManifestError
		var p *compile.Positions
		switch {
		case errors.As(err, &broken):
			p = broken.Positions
			for _, line := range atLines(p, broken.Errors) {
				if strings.Contains(line, "\n") {
					t.Errorf("not a line: %q", line)
				}
			}
			for _, err := range broken.Errors {
				if n := p.OfError(err); n < 0 || n > 1+strings.Count(manifest, "\n") {
					t.Errorf("%v is said to be in line %d", err, n)
				}
			}
		case err == nil:
			p = m.Positions
		default:
			t.Fatal(err)
		}
		if n := p.Line(path); n < 0 || n > 1+strings.Count(manifest, "\n") {
			t.Errorf("line %d of %d", n, 1+strings.Count(manifest, "\n"))
		}
	})
}

// TestLinesOfManyFields: the lines of twice as many fields cost twice as much. A look at a key of more than 32 bytes used to allocate, so that
// allocations count the looks.
func TestLinesOfManyFields(t *testing.T) {
	allocations := func(fields int) float64 {
		var manifest strings.Builder
		manifest.WriteString("apiVersion: h2surge.io/v1alpha1\nkind: LoadTest\nmetadata: {name: many}\nspec:\n")
		for i := range fields {
			fmt.Fprintf(&manifest, "  a-field-with-a-long-name-that-is-unknown-%d: 1\n", i)
		}
		return testing.AllocsPerRun(1, func() {
			if got := placed(t, manifest.String()); len(got) < fields || !strings.HasPrefix(got[0], "f:5: spec.a-field") {
				t.Fatalf("%d mistakes of %d fields, the first is %s", len(got), fields, got[0])
			}
		})
	}
	if few, many := allocations(200), allocations(800); many > 6*few {
		t.Errorf("%.0f allocations for 200 unknown fields, %.0f for 800", few, many)
	}
}
