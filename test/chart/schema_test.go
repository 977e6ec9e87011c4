//go:build chart

package chart

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// Each of these values is refused, and the error says where.
func TestRefused(t *testing.T) {
	touch(t)
	for _, tc := range []struct{ name, values, want string }{
		{"unknown key", "replica: 2", "additional properties 'replica' not allowed"},
		{"unknown key below", "image: {name: x}", "at '/image': additional properties 'name' not allowed"},
		{"unknown key of the configuration", "config: {runner: {cpu: 1}}", "at '/config/runner'"},
		{"namespaces in the configuration", "config: {namespaces: [a]}", "at '/config'"},
		{"no replicas", "replicas: 0", "at '/replicas': minimum"},
		{"half a replica", "replicas: 1.5", "at '/replicas'"},
		{"replicas as text", `replicas: "2"`, "at '/replicas': got string, want integer"},
		{"switch as text", `crd: {install: "false"}`, "at '/crd/install': got string, want boolean"},
		{"tag in the repository", "image: {repository: 'a/b:v1'}", "at '/image/repository'"},
		{"scheme in the repository", "image: {repository: 'https://a/b'}", "at '/image/repository'"},
		{"no repository", "image: {repository: ''}", "at '/image/repository'"},
		{"tag with a colon", "image: {tag: ':v1'}", "at '/image/tag'"},
		{"tag as number", "image: {tag: 1.2}", "at '/image/tag': got number, want string"},
		{"short digest", "image: {digest: 'sha256:0123'}", "at '/image/digest'"},
		{"digest without algorithm", "image: {digest: '" + digest[7:] + "'}", "at '/image/digest'"},
		{"pull policy", "image: {pullPolicy: Sometimes}", "at '/image/pullPolicy'"},
		{"pull secret as map", "image: {pullSecrets: [{name: a}]}", "at '/image/pullSecrets/0': got object, want string"},
		{"namespaces as text", "watchNamespaces: a", "at '/watchNamespaces': got string, want array"},
		{"name of a namespace", "watchNamespaces: [A_b]", "at '/watchNamespaces/0'"},
		{"a namespace twice", "{watchNamespaces: [a, a], metrics: {secure: false}}", "at '/watchNamespaces'"},
		{"log level", "config: {logging: {level: trace}}", "at '/config/logging/level'"},
		{"duration", "config: {runner: {podTimeout: 10}}", "at '/config/runner/podTimeout': got number, want string"},
		{"duration's unit", "config: {runner: {podTimeout: 1d}}", "at '/config/runner/podTimeout'"},
		{"report too large", "config: {report: {maxBytes: 2000000}}", "at '/config/report/maxBytes': maximum"},
		{"scrape interval", "metrics: {podMonitor: {interval: often}}", "at '/metrics/podMonitor/interval'"},
		{"error ratio", "metrics: {prometheusRule: {errorRatio: 5}}", "at '/metrics/prometheusRule/errorRatio': maximum"},
		{"reader without namespace", "metrics: {readers: [{name: prometheus}]}", "at '/metrics/readers/0'"},
		{"unavailable", "podDisruptionBudget: {maxUnavailable: half}", "at '/podDisruptionBudget/maxUnavailable'"},
		{"label as number", "podLabels: {a: 1}", "at '/podLabels/a': got number, want string"},
		{"environment without name", "env: [{value: x}]", "at '/env/0': missing property 'name'"},
		{"extra object as number", "extraObjects: [1]", "at '/extraObjects/0'"},
		{"test's deadline", "test: {activeDeadlineSeconds: 1}", "at '/test/activeDeadlineSeconds': minimum"},

		{"replicas without a leader", "{replicas: 2, leaderElection: {enabled: false}}", "replicas: must be 1 if leaderElection.enabled is false"},
		{"no name of the Lease", "leaderElection: {id: ''}", "at '/leaderElection/id'"},
		{"probe of another path", "livenessProbe: {httpGet: {path: /}}", "at '/livenessProbe/httpGet': got object, want integer"},
		{"strategy", "strategy: {type: BlueGreen}", "at '/strategy/type'"},
		{"volume without name", "extraVolumes: [{emptyDir: {}}]", "at '/extraVolumes/0': missing property 'name'"},
		{"mount without path", "extraVolumeMounts: [{name: ca}]", "at '/extraVolumeMounts/0': missing property 'mountPath'"},
		{"scrape timeout", "metrics: {podMonitor: {scrapeTimeout: soon}}", "at '/metrics/podMonitor/scrapeTimeout'"},
		{"two pods without a leader", "{strategy: {type: RollingUpdate}, leaderElection: {enabled: false}}", "strategy.type: must be Recreate"},
		{"certificate of plain HTTP", "metrics: {secure: false, tlsSecret: a}", "metrics.tlsSecret: cannot be used with metrics.secure=false"},
		{"readers of open metrics", "metrics: {secure: false, readers: [{namespace: a, name: b}]}", "metrics.readers: cannot be used with metrics.secure=false"},
		{"readers without a ClusterRole", "{watchNamespaces: [a], rbac: {metricsAuth: false}, metrics: {readers: [{namespace: a, name: b}]}}", "metrics.readers: cannot be used with watchNamespaces and rbac.metricsAuth=false"},
		{"monitor of nothing", "metrics: {enabled: false, serviceMonitor: {enabled: true}}", "metrics.serviceMonitor.enabled: must be false"},
		{"policies for no namespace", "networkPolicy: {enabled: true}", "networkPolicy.enabled: must be false"},
		{"test of a target that is not allowed", "config: {targets: {allowed: [{name: a, hosts: ['*.test.svc', 127x0x0x1], cidrs: [10.0.0.0/8, 127.1.0.0/16]}]}}", "test.enabled: must be false, or a rule of config.targets.allowed must match 127.0.0.1/32"},
		{"test of a denied target", "config: {targets: {denied: [{name: loopback, cidrs: [127.0.0.0/8]}]}}", "test.enabled: must be false, or no rule of config.targets.denied may match 127.0.0.1/32"},
		{"test with a denied field", "{nodeSelector: {a: b}, config: {runner: {deniedPodFields: [spec.hostNetwork, spec.nodeSelector]}}}", "test.enabled: must be false with spec.nodeSelector in config.runner.deniedPodFields"},
		{"test with a denied field of a list", "config: {runner: {deniedPodFields: [spec.initContainers.restartPolicy]}}", "test.enabled: must be false with spec.initContainers.restartPolicy in config.runner.deniedPodFields"},
		{"test of a tenant with a rate", "{watchNamespaces: [a], tenants: [{name: t, namespaces: [a], limits: {requestsPerSecond: 100}}]}", "test.enabled: must be false, or test.namespace must not be one of tenant t"},
		{"test where nobody looks", "{watchNamespaces: [a], metrics: {secure: false}, test: {namespace: b}}", "test.namespace: must be one of watchNamespaces"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := helm(t, tc.values, "template", release, chartDir, oldest)
			if err == nil {
				t.Fatal("it was taken")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestImage(t *testing.T) {
	for _, tc := range []struct{ values, want string }{
		{"", "h2surge:dev"},
		{"image: {repository: 'registry.example.com:5000/a/h2surge'}", "registry.example.com:5000/a/h2surge:dev"},
		{"image: {tag: v1}", "h2surge:v1"},
		{"image: {digest: '" + digest + "'}", "h2surge@" + digest},
		{"image: {tag: v1, digest: '" + digest + "'}", "h2surge:v1@" + digest},
	} {
		if got := image(t, tc.values); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.values, got, tc.want)
		}
	}
}

func image(t *testing.T, values string) string {
	t.Helper()
	container := manager(t, objects(t, render(t, values)))
	return container["image"].(string)
}

// property is what the schema says of a value.
type property struct {
	Description          string              `json:"description"`
	Type                 any                 `json:"type"`
	AdditionalProperties any                 `json:"additionalProperties"`
	Properties           map[string]property `json:"properties"`
	Items                *property           `json:"items"`
}

func schema(t *testing.T) property {
	t.Helper()
	var out property
	if err := json.Unmarshal([]byte(read(t, "charts/h2surge/values.schema.json")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every value is described and nothing else is taken; what values.yaml has is in the schema.
func TestSchemaIsWhole(t *testing.T) {
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(read(t, "charts/h2surge/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, p property, v any)
	walk = func(path string, p property, v any) {
		if p.Description == "" && path != "" {
			t.Errorf("%s has no description", path)
		}
		if p.Properties == nil {
			return
		}
		if p.AdditionalProperties != false {
			t.Errorf("%s takes unknown keys", path)
		}
		have, _ := v.(map[string]any)
		for name, below := range p.Properties {
			walk(path+"/"+name, below, have[name])
			if _, ok := have[name]; !ok && path != "/config" && !strings.HasPrefix(path, "/config/") && path != "/resources" && name != "global" && path+"/"+name != "/enabled" && path != "/strategy" {
				t.Errorf("%s/%s is in the schema and not in values.yaml", path, name)
			}
		}
	}
	walk("", schema(t), values)
}

// The schema's "config" is OperatorConfig without what the chart itself sets.
func TestSchemaOfConfigIsOperatorConfig(t *testing.T) {
	own := []string{"namespaces", "operatorNamespace", "leaderElection", "metrics", "health"}
	got := keys("", schema(t).Properties["config"])
	want := slices.DeleteFunc(fields("", reflect.TypeFor[configv1alpha1.OperatorConfig]()), func(name string) bool {
		return slices.Contains(own, strings.Split(name, ".")[1])
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config in values.schema.json (-OperatorConfig +schema):\n%s", diff)
	}
}

func keys(path string, p property) []string {
	var out []string
	for name, below := range p.Properties {
		out = append(out, path+"."+name)
		if name != "resources" {
			out = append(out, keys(path+"."+name, below)...)
		}
	}
	slices.Sort(out)
	return out
}

func fields(path string, t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // TypeMeta
		}
		out = append(out, path+"."+name)
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && of.PkgPath() == t.PkgPath() {
			out = append(out, fields(path+"."+name, of)...)
		}
	}
	slices.Sort(out)
	return out
}
