package compile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/h2surge/h2surge/internal/compile"
)

func raw(json string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(json)} }

const minimal = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: small}
spec:
  targets: [{name: target, url: http://target.example}]
  templates: [{name: get}]
  chains: [{name: gets, target: target, steps: [{template: get}]}]
  rates: [{name: steady, requestsPerSecond: 10, duration: 1s}]
`

func TestLoad(t *testing.T) {
	const smallSpec = `{"targets":[{"name":"a","url":"http://a.example"}],"chains":[{"name":"a","target":"a","steps":[{"template":"a"}]}]}`
	for _, tc := range []struct {
		name, manifest string
		want           string // "namespace/name" of the LoadTest and of the ConfigMaps
	}{
		{"one document", minimal, "default/small"},
		{"a namespace", strings.Replace(minimal, "name: small", "name: small, namespace: there", 1), "there/small"},
		{"a ConfigMap and comments", "# first\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bodies}\ndata: {a: b}\n---\n# nothing\n---" + minimal,
			"default/small default/bodies"},
		{"JSON", `{"apiVersion":"h2surge.io/v1alpha1","kind":"LoadTest","metadata":{"name":"small"},"spec":` + smallSpec + `} {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`,
			"default/small default/c"},
		{"YAML that begins with a brace", `{apiVersion: h2surge.io/v1alpha1, kind: LoadTest, metadata: {name: small}, spec: ` + smallSpec + `}`, "default/small"},
		{"what kubectl get -o yaml shows", minimal + "status: {phase: Completed, startTime: \"2026-01-02T15:04:05Z\"}\n", "default/small"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := compile.Load(strings.NewReader(tc.manifest))
			if err != nil {
				t.Fatal(err)
			}
			got := []string{m.Name()}
			for _, cm := range m.ConfigMaps {
				got = append(got, cm.Namespace+"/"+cm.Name)
			}
			if joined := strings.Join(got, " "); joined != tc.want {
				t.Errorf("got %q, want %q", joined, tc.want)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	for _, tc := range []struct {
		name, manifest string
		want           []string
	}{
		{"nothing", "", []string{"the manifest has no LoadTest"}},
		{"comments", "# nothing here\n---\n", []string{"the manifest has no LoadTest"}},
		{"ConfigMap only", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", []string{"the manifest has no LoadTest"}},
		{"two LoadTests", minimal + "---" + minimal, []string{"document 2: is a second LoadTest; one run takes exactly one"}},
		{"another kind", minimal + "---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
			[]string{"document 2: kind: \"Service\" is not supported; allowed: LoadTest, ConfigMap, Secret"}},
		{"a schedule", "apiVersion: h2surge.io/v1alpha1\nkind: LoadTestSchedule\nmetadata: {name: a}\n",
			[]string{"document 1: kind: a LoadTestSchedule runs in a cluster only: apply it with kubectl apply, look at its condition Ready, " +
				"and run its template with kubectl h2surge run --from schedule/NAME; allowed: LoadTest, ConfigMap, Secret"}},
		{"another version", strings.Replace(minimal, "v1alpha1", "v1", 1),
			[]string{"document 1: apiVersion: \"h2surge.io/v1\" is not supported; allowed for a LoadTest: h2surge.io/v1alpha1"}},
		{"no kind", "a: b\n", []string{"document 1: kind: is required; allowed: LoadTest, ConfigMap, Secret"}},
		{"a list", "- a\n", []string{"document 1: must be an object with apiVersion and kind"}},
		{"invalid YAML", "a: b: c\n", []string{"document 1: yaml: mapping values are not allowed in this context"}},
		{"a key twice", strings.Replace(minimal, "kind: LoadTest", "kind: LoadTest\nkind: LoadTest", 1),
			[]string{"kind: is given twice, first in line 3; remove one of them"}},
		{"a key twice, JSON", `{"apiVersion":"h2surge.io/v1alpha1","kind":"LoadTest","metadata":{"name":"a"},"spec":{"stop":true,"stop":false}}`,
			append([]string{"spec.stop: is given twice, first in line 1; remove one of them"}, emptySpec...)},
		{"no spec", "apiVersion: h2surge.io/v1alpha1\nkind: LoadTest\nmetadata: {name: a}\n", []string{"spec: is needed"}},
		{"ConfigMap with an unknown field", minimal + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {}\n",
			[]string{"document 2: date: unknown field; did you mean data?"}},
		{"generateName too long", strings.Replace(minimal, "name: small", "generateName: "+strings.Repeat("a", 46), 1),
			[]string{"metadata.generateName: must have at most 45 characters, because the API server appends 5"}},
		{"generateName of other characters", strings.Replace(minimal, "name: small", "generateName: Small-", 1),
			[]string{"metadata.generateName: must be lower-case letters, digits and -, beginning with a letter or digit"}},
		{"ConfigMap without a name", minimal + "---\napiVersion: v1\nkind: ConfigMap\n", []string{"document 2: metadata.name: is needed"}},
		{"all mistakes at once", `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: bad, lables: {}}
spec:
  targets: [{name: target, url: http://target.example, conections: 7, connectTimeout: soon, maxConcurrentStreams: "7"}]
  templates: [{name: get, path: "/${x}", timeout: 5}, {Name: post}]
  chains: [{name: gets, target: target, weight: 0, steps: [{template: get}]}]
  rates: [{name: steady, requestsPerSecond: 1.5, duration: 1s}]
`, []string{
			"metadata.lables: unknown field; did you mean labels?",
			"spec.chains[0].weight: must be between 1 and 10000",
			"spec.rates[0].requestsPerSecond: must be an integer; write requestsPer: {count: 1, period: 2s} for 0.5 requests a second",
			"spec.targets[0].conections: unknown field; did you mean connections?",
			"spec.targets[0].connectTimeout: must be a duration such as 500ms or 1m30s",
			"spec.targets[0].maxConcurrentStreams: must be an integer; remove the quotes",
			"spec.templates[0].timeout: must be a duration such as 500ms or 1m30s; write 5s",
			"spec.templates[1].Name: unknown field; did you mean name?",
			"spec.templates[1].name: is needed",
			`spec.templates[0].path: variable "x" is not defined`,
		}},
		{"a name of another type, which others refer to", strings.NewReplacer("name: get}", "name: 7}", "template: get", `template: "7"`).Replace(minimal),
			[]string{`spec.templates[0].name: must be a string; put the number in quotes: "7"`}},
		{"durations with a fraction", strings.NewReplacer("duration: 1s", "duration: 1.5s", "path: /", "path: /, timeout: 0.5h").Replace(minimal), []string{
			"spec.rates[0].duration: must be a duration such as 500ms or 1m30s; write 1s500ms",
		}},
		{"unknown fields and mistakes that the compiler finds", strings.Replace(minimal, "templates: [{name: get}]", `templates: [{name: get, path: "/${x}", pth: /}]`, 1),
			[]string{"spec.templates[0].pth: unknown field; did you mean path?", `spec.templates[0].path: variable "x" is not defined`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := compile.Load(strings.NewReader(tc.manifest))
			var broken *compile.ManifestError
			if !errors.As(err, &broken) {
				t.Fatalf("got %v, want a ManifestError", err)
			}
			if diff := cmp.Diff(tc.want, compile.ErrorLines(broken.Errors)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// emptySpec is what is wrong with a spec without anything in it.
var emptySpec = []string{
	"spec.chains: is needed",
	"spec.targets: is needed",
	"spec.rates: at least 1 is needed",
}

func TestLoadIsBounded(t *testing.T) {
	_, err := compile.Load(&endless{})
	if err == nil || !strings.Contains(err.Error(), "more than 16777216 bytes") {
		t.Errorf("got %v", err)
	}
}

// endless is a reader without an end.
type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

// TestNoSecretsInErrors: an error line never quotes the value it is about.
func TestNoSecretsInErrors(t *testing.T) {
	manifest := `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: bad}
spec:
  targets: [{name: target, url: "http://me:hunter2@target.example", connectTo: hunter2}]
  variables: [{name: v, list: {values: ["hunter2\n"]}}]
  templates:
    - name: get
      body: "hunter2 ${"
      method: hunter2 x
      headers: [{name: authorization, value: "hunter2 ${v}"}, {name: a, value: "hunter2\r"}, {name: te, value: hunter2}]
      timeout: hunter2
  chains: [{name: gets, target: target, steps: [{template: get}]}]
  rates: [{name: steady, requestsPerSecond: hunter2, duration: 1s}]
  thresholds: [{name: a, metric: Rate, max: hunter2}]
  runner: {podTemplate: {spec: {nodeName: {hunter2: 1}, containers: hunter2}}}
`
	for _, m := range []string{manifest, strings.NewReplacer("timeout: hunter2", "", "requestsPerSecond: hunter2", "requestsPerSecond: 1").Replace(manifest)} {
		lines := linesOf(t, m)
		if len(lines) < 2 {
			t.Fatalf("only %q", lines)
		}
		for _, line := range lines {
			if strings.Contains(line, "hunter2") {
				t.Errorf("%s", line)
			}
		}
	}
}

func TestPodTemplate(t *testing.T) {
	for _, tc := range []struct {
		name, json string
		want       []string
	}{
		{"none", "", nil},
		{"any part", `{"metadata":{"labels":{"a":"b"}},"spec":{"tolerations":[{"key":"x","tolerationSeconds":3}],"containers":[{"name":"runner","resources":{"limits":{"memory":"1Gi","cpu":2},"requests":{"cpu":0.5}}}]}}`, nil},
		{"unknown fields", `{"spec":{"tolerations":[{"keys":"x"}],"prioritty":"high"}}`, []string{
			"spec.runner.podTemplate.spec.tolerations[0].keys: unknown field",
			"spec.runner.podTemplate.spec.prioritty: unknown field",
		}},
		{"directives of the merge", `{"spec":{"$retainKeys":["containers"],"$setElementOrder/volumes":[{"name":"a"}],"containers":[{"name":"runner","$deleteFromPrimitiveList/args":["a"]}],"volumes":[{"$patch":"replace"}],"securityContext":{"$patch":"delete"}}}`, []string{
			`spec.runner.podTemplate.spec.$retainKeys: unknown field`,
			`spec.runner.podTemplate.spec.$setElementOrder/volumes: unknown field`,
			`spec.runner.podTemplate.spec.containers[0].$deleteFromPrimitiveList/args: unknown field`,
			`spec.runner.podTemplate.spec.volumes[0].$patch: unknown field`,
			`spec.runner.podTemplate.spec.securityContext.$patch: unknown field`,
		}},
		{"a number for a string", `{"spec":{"containers":[{"name":"runner","env":[{"name":"a","value":1}]}]}}`,
			[]string{"spec.runner.podTemplate.spec.containers.env.value: must be a string; put the value in quotes"}},
		{"a string for a number", `{"spec":{"priority":"high"}}`, []string{"spec.runner.podTemplate.spec.priority: must be int32, not string"}},
		{"a quantity", `{"spec":{"containers":[{"name":"runner","resources":{"limits":{"memory":"lots"}}}]}}`,
			[]string{"spec.runner.podTemplate: has a quantity that cannot be read; allowed: such as 500m or 1Gi"}},
		{"a time", `{"metadata":{"creationTimestamp":"soon"}}`, []string{"spec.runner.podTemplate: is not a pod template"}},
		{"containers without names", `{"spec":{"containers":[{"image":"a"},{"name":"b"},{"name":"b"}]}}`, []string{
			"spec.runner.podTemplate.spec.containers[0].name: is needed; the runner's own container is called runner",
			"spec.runner.podTemplate.spec.containers[2].name: is the name of an earlier container too",
		}},
		{"a list", `[]`, []string{"spec.runner.podTemplate: is not a pod template"}},
		{"broken", `{`, []string{"spec.runner.podTemplate: is not JSON"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			template, errs := compile.PodTemplate(raw(tc.json))
			var want []string
			want = append(want, tc.want...)
			if diff := cmp.Diff(want, append([]string(nil), compile.ErrorLines(errs)...)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if (template == nil) != (len(tc.want) > 0) {
				t.Errorf("template is %v", template)
			}
		})
	}
}
