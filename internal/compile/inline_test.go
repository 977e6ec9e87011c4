package compile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// TestInline compiles a chain whose first step has a request of its own, and the same chain by templates:
// the plans are equal.
func TestInline(t *testing.T) {
	const base = `{name: base, method: POST, headers: [{name: a, value: base}, {name: b, value: base}], timeout: 2s}`
	const create = `extends: base, path: '/s/${v}', headers: [{name: B, value: own}], expect: {status: [201]}, capture: [{name: s, header: location}]`
	const read = `path: '${s}', bodyFrom: {configMapKeyRef: {name: m, key: k}}`
	variables := "{name: v, uuid: {}}"
	inline, warnings := parts{
		variables: variables, templates: base,
		steps: "{name: create, request: {" + create + "}}, {name: read, onFailure: Continue, request: {" + read + "}}",
	}.plan(t)
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	named, _ := parts{
		variables: variables, templates: base + ", {name: create, " + create + "}, {name: read, " + read + "}",
		steps: "{template: create}, {template: read, onFailure: Continue}",
	}.plan(t)
	if diff := cmp.Diff(named, inline); diff != "" {
		t.Errorf("plan (-by templates +by requests):\n%s", diff)
	}
	if got := inline.Chains[0].Steps[0]; got.Method != http.MethodPost || len(got.Headers) != 2 || got.Expect.Status[0] != (rv.StatusRange{From: 201, To: 201}) {
		t.Errorf("the first step is %+v", got)
	}
}

func TestMistakesInInlineRequests(t *testing.T) {
	const at = "spec.chains[0].steps[1]"
	second := func(step string) parts { return parts{steps: "{template: get}, {" + step + "}"} }
	checkMistakes(t, []mistake{
		{"undefined variable", second("name: own, request: {path: '/${x}'}"), []string{at + `.request.path: variable "x" is not defined`}},
		{"path", second("name: own, request: {path: x}"), []string{at + ".request.path: must begin with / or with a capture"}},
		{"unknown field", second("name: own, request: {pth: x}"), []string{at + ".request.pth: unknown field; did you mean path?"}},
		{"a name in the request", second("name: own, request: {name: x}"), []string{at + ".request.name: unknown field"}},
		{"empty method", second("name: own, request: {method: ''}"), []string{at + ".request.method: must not be empty"}},
		{"check", second("name: own, request: {expect: {checks: [{name: a, header: b}]}}"), []string{at + ".request.expect.checks[0]: " + comparing}},
		{"unknown base", second("name: own, request: {extends: other}"), []string{at + `.request.extends: there is no template "other"`}},
		{"no name", second("request: {path: /}"), []string{at + ": a step with a request or await needs a name"}},
		{"name of another step", second("name: get, request: {path: /}"), []string{at + `.name: "get" is the name of step 0 too; give one of them another name`}},
		{"bad name", second("name: Own, request: {path: /}"), []string{at + ".name: must be lower-case letters, digits and -, beginning and ending with a letter or digit"}},
		{"request and template", second("name: own, template: get, request: {path: /}"), []string{at + ": exactly one of request, template, parallel and await is needed"}},
		{"in parallel", second("parallel: [{template: get, name: a}, {name: b, request: {}}]"), []string{at + ".parallel[1].request: unknown field", at + ".parallel[1].template: is needed"}},
		{"capture that a later step makes", parts{steps: "{name: a, request: {path: '${s}'}}, {name: b, request: {capture: [{name: s, header: location}]}}"},
			[]string{`spec.chains[0].steps[0].request.path: capture "s" is read by step "a" of chain "gets" before step "b" makes it`}},
		{"mistake in a template that a request extends", parts{templates: "{name: base, path: a}", steps: "{name: a, request: {extends: base}}"},
			[]string{"spec.templates[0].path: must begin with / or with a capture"}},
		{"65 steps", parts{steps: distinct(65)}, []string{"spec.chains[0].steps: has 65 entries, at most 64 are possible"}},
	})
}

// distinct are n steps with requests of their own.
func distinct(n int) string {
	var steps []string
	for i := range n {
		steps = append(steps, fmt.Sprintf("{name: s-%d, request: {}}", i))
	}
	return strings.Join(steps, ", ")
}

const comparing = "exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed, and none with jsonSchema"

// TestTemplatesAreOptional has a LoadTest without templates, and warnings about requests of steps.
func TestTemplatesAreOptional(t *testing.T) {
	m, err := compile.Load(strings.NewReader(`
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: small}
spec:
  targets: [{name: target, url: http://target.example}]
  chains: [{name: gets, target: target, steps: [{name: get, request: {method: get, capture: [{name: c, status: {}}]}}]}]
  rates: [{name: steady, requestsPerSecond: 10, duration: 1s}]
`))
	if err != nil {
		t.Fatal(err)
	}
	_, warnings, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	want := []string{
		"spec.chains[0].steps[0].request.method: methods are case-sensitive, and this one is not all upper case",
		`spec.chains[0].steps[0].request.capture[0]: capture "c" is never read`,
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if line := m.Positions.Line("spec.chains[0].steps[0].request.method"); line != 7 {
		t.Errorf("the method is in line %d, want 7", line)
	}
}
