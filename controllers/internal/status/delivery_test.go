package status

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

const delivery = "../../../config/delivery/"

// healths are what Argo CD must show for a state of the truth table: for all states of a phase, and for states that
// differ from their phase.
var healths = map[string]string{
	string(v1alpha1.PhasePending): "Progressing", string(v1alpha1.PhaseStarting): "Progressing",
	string(v1alpha1.PhaseRunning): "Progressing", string(v1alpha1.PhaseFinishing): "Progressing",
	string(v1alpha1.PhaseSuspended): "Suspended", string(v1alpha1.PhaseInvalid): "Degraded",
	string(v1alpha1.PhaseStopped): "Degraded", string(v1alpha1.PhaseFailed): "Degraded",
	"a name is taken": "Degraded", "finished, passed": "Healthy", "finished, a deletion is refused": "Healthy",
	"finished, no thresholds":        "Healthy",
	"finished, a shard never joined": "Healthy", "finished, threshold exceeded": "Degraded",
	"finished, too many errors": "Degraded",
	"finished, teardown failed": "Degraded", "finished, inconclusive": "Degraded",
	"finished, a loss tolerated":                     "Degraded",
	"finished, a loss tolerated, threshold exceeded": "Degraded",
}

// fluxHealths are the same for Flux, which does not know Suspended.
var fluxHealths = map[string]string{
	"Progressing": "inProgress", "Suspended": "inProgress", "Healthy": "current", "Degraded": "failed",
}

func healthOf(state string, phase v1alpha1.Phase) string {
	if h := healths[state]; h != "" {
		return h
	}
	return healths[string(phase)]
}

func TestHealthOfDelivery(t *testing.T) {
	script, exprs := readFile(t, "argocd/health.lua"), fluxExprs(t)
	for name, scopes := range states() {
		for _, s := range scopes {
			lt := s.LoadTest.DeepCopy()
			lt.Status = *Of(s)
			want := healthOf(name, lt.Status.Phase)
			obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(lt)
			if err != nil {
				t.Fatal(err)
			}
			health := runLua(t, script, obj).(map[string]any)
			if health["status"] != want || health["message"] == "" && name != "a name is taken" { // whose scope has no message
				t.Errorf("%s (phase %s): Argo CD shows %v, want %q", name, lt.Status.Phase, health, want)
			}
			if got := fluxHealth(t, exprs, obj); got != fluxHealths[want] {
				t.Errorf("%s (phase %s): Flux shows %q, want %q", name, lt.Status.Phase, got, fluxHealths[want])
			}
		}
	}
	for name, obj := range map[string]map[string]any{"no status": {}, "an empty status": {"status": map[string]any{}}} {
		if health := runLua(t, script, obj).(map[string]any); health["status"] != "Progressing" {
			t.Errorf("%s: Argo CD shows %v", name, health)
		}
	}
}

func TestActionsOfArgoCD(t *testing.T) {
	var actions struct {
		Discovery   string `json:"discovery.lua"`
		Definitions []struct {
			Name   string `json:"name"`
			Action string `json:"action.lua"`
		} `json:"definitions"`
	}
	if err := yaml.UnmarshalStrict([]byte(readFile(t, "argocd/actions.yaml")), &actions); err != nil {
		t.Fatal(err)
	}
	object := func(suspend bool, conditions ...any) map[string]any {
		return map[string]any{
			"apiVersion": "h2surge.io/v1alpha1", "kind": "LoadTest", "metadata": map[string]any{
				"name": "gate", "namespace": "perf", "uid": "1",
				"labels": map[string]any{
					"kueue.x-k8s.io/queue-name": "perf", "app.kubernetes.io/instance": "gates",
					"app.kubernetes.io/name": "gate", v1alpha1.LabelSchedule: "nightly",
				},
				"annotations": map[string]any{"argocd.argoproj.io/tracking-id": "gates:h2surge.io/LoadTest:perf/gate"},
			},
			"spec":   map[string]any{"suspend": suspend, "stop": false, "lock": "core"},
			"status": map[string]any{"conditions": conditions},
		}
	}
	finished := map[string]any{"type": "Finished", "status": "True"}
	off := func(stop, suspend, resume, again bool) map[string]any {
		d := func(b bool) map[string]any { return map[string]any{"disabled": b} }
		return map[string]any{"stop": d(stop), "suspend": d(suspend), "resume": d(resume), "run-again": d(again)}
	}
	for name, row := range map[string]struct{ obj, want map[string]any }{
		"running":   {object(false), off(false, false, true, true)},
		"suspended": {object(true), off(false, true, false, true)},
		"finished":  {object(false, finished), off(true, true, true, false)},
	} {
		if diff := cmp.Diff(row.want, runLua(t, actions.Discovery, row.obj)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	specs := map[string]map[string]any{
		"stop":    {"suspend": true, "stop": true, "lock": "core"},
		"suspend": {"suspend": true, "stop": false, "lock": "core"},
		"resume":  {"suspend": false, "stop": false, "lock": "core"},
	}
	for _, a := range actions.Definitions {
		got := runLua(t, a.Action, object(a.Name != "suspend"))
		if a.Name == "run-again" {
			created := got.(map[string]any)["1"].(map[string]any)
			resource := created["resource"].(map[string]any)
			meta := resource["metadata"].(map[string]any)
			if diff := cmp.Diff(map[string]any{"lock": "core"}, resource["spec"]); diff != "" ||
				created["operation"] != "create" || meta["namespace"] != "perf" {
				t.Errorf("run-again: %v", created)
			}
			labels := map[string]any{"kueue.x-k8s.io/queue-name": "perf", "app.kubernetes.io/name": "gate"}
			if diff := cmp.Diff([]any{labels, nil}, []any{meta["labels"], meta["annotations"]}); diff != "" {
				t.Errorf("run-again: labels and annotations (-want +got):\n%s", diff)
			}
			if name := meta["name"].(string); len(name) != len("gate-261123120000") || name[:5] != "gate-" {
				t.Errorf("run-again: name %q", name)
			}
			continue
		}
		if diff := cmp.Diff(specs[a.Name], got.(map[string]any)["spec"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.Name, diff)
		}
	}
	if len(actions.Definitions) != 4 {
		t.Errorf("%d actions", len(actions.Definitions))
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(delivery + name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// runLua runs a script as Argo CD does: with the libraries that it opens for actions, and the object as global variable
// obj.
func runLua(t *testing.T, script string, obj map[string]any) any {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, open := range []lua.LGFunction{lua.OpenPackage, lua.OpenBase, lua.OpenTable, lua.OpenOs} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	l.SetGlobal("obj", toLua(l, obj))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	return fromLua(l.Get(-1))
}

func toLua(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := l.NewTable()
		for k, e := range v {
			table.RawSetString(k, toLua(l, e))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, e := range v {
			table.Append(toLua(l, e))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// fromLua returns maps for tables, with "1" as the first key of a list.
func fromLua(v lua.LValue) any {
	switch v := v.(type) {
	case *lua.LTable:
		out := map[string]any{}
		v.ForEach(func(k, e lua.LValue) { out[k.String()] = fromLua(e) })
		return out
	case lua.LBool:
		return bool(v)
	case lua.LString:
		return string(v)
	}
	return v.String()
}

// fluxExpr is an entry of healthCheckExprs of a Flux Kustomization.
type fluxExpr struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	InProgress string `json:"inProgress"`
	Failed     string `json:"failed"`
	Current    string `json:"current"`
}

func fluxExprs(t *testing.T) fluxExpr {
	t.Helper()
	var doc struct {
		Spec struct {
			HealthCheckExprs []fluxExpr `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "flux/kustomization.yaml")), &doc); err != nil {
		t.Fatal(err)
	}
	if e := doc.Spec.HealthCheckExprs; len(e) != 1 || e[0].APIVersion != v1alpha1.GroupVersion.String() ||
		e[0].Kind != "LoadTest" {
		t.Fatalf("healthCheckExprs: %+v", e)
	}
	return doc.Spec.HealthCheckExprs[0]
}

// fluxHealth evaluates the expressions in the order of Flux: inProgress, failed, current.
func fluxHealth(t *testing.T, e fluxExpr, obj map[string]any) string {
	t.Helper()
	for _, row := range [][2]string{{"inProgress", e.InProgress}, {"failed", e.Failed}, {"current", e.Current}} {
		if evaluate(t, row[1], obj) {
			return row[0]
		}
	}
	return "inProgress"
}

func evaluate(t *testing.T, expr string, obj map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv(
		cel.Variable("spec", cel.DynType), cel.Variable("status", cel.DynType), cel.Variable("metadata", cel.DynType),
	)
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(expr)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", expr, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := program.Eval(map[string]any{"spec": obj["spec"], "status": obj["status"], "metadata": obj["metadata"]})
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return out.Value() == true
}
