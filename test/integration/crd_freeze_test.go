package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/test/builder"
)

const (
	mayChange = "while the test runs only stop, suspend, runner.shards, runner.podDisruptionBudget, ttlSecondsAfterFinished, ttlSecondsByOutcome and the rates of stages may change"

	dividedMessage = "runner.shards cannot change while the test runs with a stage that is a closedLoop that ends by requests, because its requests are divided among the shards"

	concurrencyMessage = "concurrency cannot change while the test runs in a stage that is a closedLoop that ends by requests, because its requests are divided among the shards"
)

// edit sets a field; a nil value removes it. want is the message of the API server while a test runs.
type edit struct {
	want  string
	path  string
	value any
}

// frozen has an edit of each field that must not change while a test runs.
var frozen = []edit{
	{mayChange, "spec.targets[0].maxConcurrentStreams", int64(7)},
	{mayChange, "spec.variables[0].range.end", int64(2000)},
	{mayChange, "spec.variables", nil},
	{mayChange, "spec.templates[0].body", "other"},
	{mayChange, "spec.chains[0].weight", int64(9)},
	{mayChange, "spec.chains[0].steps[0].template", "base"},
	{mayChange, "spec.chains[1].startAfter", "2s"},
	{mayChange, "spec.chains[1].rates[1].name", "another"},
	{mayChange, "spec.chains[1].rates[1].duration", "11s"},
	{mayChange, "spec.chains[1].rates[1].requests", int64(6)},
	{mayChange, "spec.chains[1].rates[2]", map[string]any{"name": "own-sessions", "requestsPerSecond": int64(1), "duration": "1s"}},
	{mayChange, "spec.chains[6].startDelay", "2s"},
	{mayChange, "spec.chains[6].maxInFlight", int64(101)},
	{mayChange, "spec.chains[6].cookies", false},
	{mayChange, "spec.rates[1].name", "other"},
	{mayChange, "spec.rates[1].duration", "11s"},
	{mayChange, "spec.rates[1].requests", int64(7)},
	{mayChange, "spec.rates[0].warmUp", false},
	{mayChange, "spec.rates[1]", map[string]any{"name": "steady", "requestsPerSecond": int64(100), "duration": "10s"}},
	{mayChange, "spec.rates[1]", map[string]any{"name": "steady", "closedLoop": map[string]any{}, "duration": "10s", "requests": int64(500)}},
	{mayChange, "spec.rates[2]", map[string]any{"name": "most", "requestsPerSecond": int64(100), "requests": int64(1000)}},
	{concurrencyMessage, "spec.rates[2].closedLoop.concurrency", int64(8)},
	{mayChange, "spec.rates", []any{map[string]any{"name": "steady", "requestsPerSecond": int64(100), "duration": "10s", "requests": int64(500)}}},
	{mayChange, "spec.thresholds[0].max", "21ms"},
	{mayChange, "spec.thresholds", nil},
	{mayChange, "spec.runner.cpusPerShard", nil},
	{mayChange, "spec.runner.idleStrategy", "Sleep"},
	{mayChange, "spec.runner.idleStrategy", nil}, // the default comes in its place
	{mayChange, "spec.runner.sleepInterval", "2ms"},
	{mayChange, "spec.runner.sleepInterval", nil},
	{mayChange, "spec.runner.minShards", nil},
	{mayChange, "spec.runner.startTimeout", "91s"},
	{mayChange, "spec.runner.startTimeout", nil},
	{mayChange, "spec.runner.leaseDuration", "46s"},
	{mayChange, "spec.runner.leaseDuration", nil},
	{mayChange, "spec.runner.resultRetention", "31m"},
	{mayChange, "spec.runner.resultRetention", nil},
	{mayChange, "spec.runner.onShardLost", "Fail"},
	{mayChange, "spec.runner.onShardLost", nil}, // the default comes in its place
	{mayChange, "spec.runner.podTemplate.spec.nodeSelector.disk", "ssd"},
	{mayChange, "spec.runner.podTemplate", nil},
	{mayChange, "spec.runner.resources.limits.memory", "256Mi"},
	{mayChange, "spec.runner.resources", nil},
	{dividedMessage, "spec.runner", map[string]any{"shards": int64(1)}},
	{mayChange, "spec.activeDeadlineSeconds", int64(1000)},
	{mayChange, "spec.activeDeadlineSeconds", nil},
	{mayChange, "spec.weightBy", "Chains"},
	{mayChange, "spec.weightBy", nil},
	{mayChange, "spec.gracefulStop", "2s"},
	{mayChange, "spec.gracefulStop", nil},
	{mayChange, "spec.seed", int64(2)},
	{mayChange, "spec.seed", nil},
	{mayChange, "spec.lock", "other"},
	{mayChange, "spec.lock", nil},
}

const stopMessage = "stop cannot become false again; apply the test under another name to run it again"

func frozenMessages() []string {
	out := []string{stopMessage}
	for _, row := range frozen {
		out = append(out, row.want)
	}
	return out
}

// edited is the stored object with one place changed.
func edited(t *testing.T, c client.Client, u *unstructured.Unstructured, path string, value any) *unstructured.Unstructured {
	t.Helper()
	fresh := u.DeepCopy()
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(u), fresh); err != nil {
		t.Fatal(err)
	}
	edit{path: path, value: value}.make(fresh)
	return fresh
}

func (e edit) make(u *unstructured.Unstructured) {
	if e.value == nil {
		unstructured.RemoveNestedField(u.Object, strings.Split(e.path, ".")...)
		return
	}
	builder.Put(u.Object, e.path, e.value)
}

// within reports whether two edits change the same place, or one of them a place in that of the other.
func (e edit) within(other edit) bool {
	short, long := min(e.path, other.path), max(e.path, other.path)
	return short == long || strings.HasPrefix(long, short+".") || strings.HasPrefix(long, short+"[")
}

// acceptsAll makes all edits of frozen fields. One update makes as many as do not touch each other; if it fails, each edit is made alone.
func acceptsAll(t *testing.T, c client.Client, u *unstructured.Unstructured) {
	t.Helper()
	for rest := frozen; len(rest) > 0; {
		fresh := edited(t, c, u, "metadata.labels", map[string]any{})
		var made, left []edit
		for _, e := range rest {
			if slices.ContainsFunc(made, e.within) {
				left = append(left, e)
				continue
			}
			e.make(fresh)
			made = append(made, e)
		}
		rest = left
		if c.Update(context.Background(), fresh, client.DryRunAll) == nil {
			continue
		}
		for _, e := range made {
			if err := c.Update(context.Background(), edited(t, c, u, e.path, e.value), client.DryRunAll); err != nil {
				t.Errorf("%s: %v", e.path, err)
			}
		}
	}
}

func setStatus(t *testing.T, c client.Client, u *unstructured.Unstructured, status map[string]any) {
	t.Helper()
	fresh := edited(t, c, u, "status", status)
	if err := c.Status().Update(context.Background(), fresh); err != nil {
		t.Fatal(err)
	}
}

func named(name string) map[string]any {
	doc := builder.Full()
	builder.Put(doc, "metadata.name", name)
	return doc
}

func TestSpecMayChangeBeforeTheStart(t *testing.T) {
	c := newClient(t)
	u := create(t, c, named("not-started"))
	setStatus(t, c, u, map[string]any{"phase": "Starting"})
	acceptsAll(t, c, u)
}

func TestSpecIsFrozenWhileRunning(t *testing.T) {
	c := newClient(t)
	u := create(t, c, named("running"))
	setStatus(t, c, u, map[string]any{"startTime": "2026-01-02T15:04:05Z"})
	for _, row := range frozen {
		err := c.Update(context.Background(), edited(t, c, u, row.path, row.value), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.path, err, row.want)
		}
	}
	for _, row := range []struct {
		path  string
		value any
	}{
		{"spec.ttlSecondsAfterFinished", int64(5)},
		{"spec.ttlSecondsAfterFinished", nil},
		{"spec.ttlSecondsByOutcome", map[string]any{"passed": int64(5)}},
		{"spec.ttlSecondsByOutcome", nil},
		{"metadata.labels", map[string]any{"a": "b"}},
		{"spec.rates[1].requestsPerSecond", int64(200)},
		{"spec.chains[1].rates[1].requestsPerSecond", int64(2)},
		{"spec.chains[1].rates[2].chainsPerSecond", int64(2)},
		{"spec.rates[0].requestsPer", map[string]any{"count": int64(7), "period": "2s"}},
		{"spec.rates[1]", map[string]any{"name": "steady", "requestsPer": map[string]any{"count": int64(1), "period": "1m"}, "duration": "10s", "requests": int64(500), "warmUp": false, "arrivals": "Burst", "burstSize": int64(5)}},
		{"spec.suspend", true},
		{"spec.suspend", false},
		{"spec.suspend", nil},
		{"spec.runner.podDisruptionBudget", "Disabled"},
		{"spec.runner.podDisruptionBudget", nil},
		{"spec.stop", true},
	} {
		if err := c.Update(context.Background(), edited(t, c, u, row.path, row.value)); err != nil {
			t.Errorf("%s: %v", row.path, err)
		}
	}
	// A rate keeps to its bounds.
	if err := c.Update(context.Background(), edited(t, c, u, "spec.rates[0].requestsPer.count", int64(-1)), client.DryRunAll); err == nil {
		t.Error("a negative rate was accepted")
	}
	for _, value := range []any{false, nil} {
		err := c.Update(context.Background(), edited(t, c, u, "spec.stop", value), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), stopMessage) {
			t.Errorf("stop set to %v: got %v, want %q", value, err, stopMessage)
		}
	}
}

// TestScaleWhileRunning goes by the spec and, as kubectl scale does, by the subresource.
func TestScaleWhileRunning(t *testing.T) {
	c := newClient(t)
	doc := named("scaled")
	builder.Put(doc, "spec.rates[2]", map[string]any{"name": "most", "closedLoop": map[string]any{}, "duration": "10s"})
	builder.Put(doc, "spec.runner.minShards", int64(1))
	u := create(t, c, doc)
	setStatus(t, c, u, map[string]any{"startTime": "2026-01-02T15:04:05Z"})
	bySpec := func(n int64) error { return c.Update(context.Background(), edited(t, c, u, "spec.runner.shards", n)) }
	byScale := func(n int32) error {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n))
		return c.SubResource("scale").Patch(context.Background(), edited(t, c, u, "metadata.labels", map[string]any{}), patch)
	}
	for _, n := range []int32{1, 2} {
		if err := byScale(n); err != nil {
			t.Errorf("scaled to %d: %v", n, err)
		}
		if got, _, _ := unstructured.NestedInt64(edited(t, c, u, "kind", "LoadTest").Object, "spec", "runner", "shards"); got != int64(n) {
			t.Errorf("%d shards, want %d", got, n)
		}
	}
	if err := bySpec(1); err != nil {
		t.Errorf("one shard: %v", err)
	}
	const fewConnections = "connections must be at least runner.shards, one for each shard"
	for name, err := range map[string]error{fewConnections: bySpec(3), "should be greater than or equal to 1": bySpec(0)} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
	if err := byScale(3); err == nil || !strings.Contains(err.Error(), fewConnections) {
		t.Errorf("scaled to 3: got %v, want %q", err, fewConnections)
	}
}

// live are the fields that may change while a test runs. All other fields of the schema are frozen.
var live = []string{
	"spec.stop", "spec.suspend", "spec.ttlSecondsAfterFinished", "spec.ttlSecondsByOutcome", "spec.runner.shards", "spec.runner.podDisruptionBudget",
	"spec.rates[].requestsPerSecond", "spec.rates[].requestsPer", "spec.rates[].chainsPerSecond", "spec.rates[].rampFrom", "spec.rates[].closedLoop.concurrency",
}

// TestEveryOtherFieldIsFrozen changes each field of the CRD's schema in turn, those of the runner and of a stage
// one by one, so that a new field cannot be forgotten.
func TestEveryOtherFieldIsFrozen(t *testing.T) {
	c := newClient(t)
	u := create(t, c, named("all-frozen"))
	setStatus(t, c, u, map[string]any{"startTime": "2026-01-02T15:04:05Z"})
	spec := schema(t).Properties["spec"]
	doc := builder.Full()["spec"].(map[string]any)
	refused := func(path string, change func(parent map[string]any)) {
		t.Helper()
		fresh := edited(t, c, u, "metadata.labels", map[string]any{})
		change(fresh.Object["spec"].(map[string]any))
		if err := c.Update(context.Background(), fresh, client.DryRunAll); err == nil || !strings.Contains(err.Error(), mayChange) {
			t.Errorf("%s: got %v, want %q", path, err, mayChange)
		}
	}
	for name, property := range spec.Properties {
		if path := "spec." + name; name != "rates" && name != "runner" && !slices.Contains(live, path) {
			refused(path, func(s map[string]any) { alter(t, path, property, s, name) })
		}
	}
	for name, property := range spec.Properties["runner"].Properties {
		if path := "spec.runner." + name; !slices.Contains(live, path) {
			refused(path, func(s map[string]any) { alter(t, path, property, s["runner"].(map[string]any), name) })
		}
	}
	for name, property := range spec.Properties["rates"].Items.Schema.Properties {
		path := "spec.rates[]." + name
		i := slices.IndexFunc(doc["rates"].([]any), func(r any) bool { return r.(map[string]any)[name] != nil })
		if slices.Contains(live, path) {
			continue
		}
		refused(path, func(s map[string]any) { alter(t, path, property, s["rates"].([]any)[max(i, 0)].(map[string]any), name) })
		for inner := range property.Properties { // an object is compared by its presence
			if slices.Contains(live, path+"."+inner) {
				continue
			}
			t.Errorf("%s.%s: the rule on rates does not compare it; extend the rule and this test", path, inner)
		}
	}
}

// alter changes a field to another value that is valid by itself: it removes an optional field and the last item of
// a list, and changes a name.
func alter(t *testing.T, path string, s apiextensionsv1.JSONSchemaProps, parent map[string]any, name string) {
	t.Helper()
	switch v := parent[name].(type) {
	case nil:
		if path == "spec.search" { // which full.yaml cannot have beside measured stages
			parent[name] = map[string]any{}
			return
		}
		t.Errorf("full.yaml has no %s, so the test cannot change it", path)
	case []any:
		parent[name] = v[:len(v)-1]
	case string:
		parent[name] = "other"
		if len(s.Enum) > 0 || s.Pattern != "" && name != "name" {
			delete(parent, name)
		}
	default:
		delete(parent, name)
	}
}

func TestSpecMayChangeAfterTheEnd(t *testing.T) {
	c := newClient(t)
	doc := named("ended")
	builder.Put(doc, "spec.stop", true)
	u := create(t, c, doc)
	setStatus(t, c, u, map[string]any{"startTime": "2026-01-02T15:04:05Z", "completionTime": "2026-01-02T15:05:05Z"})
	acceptsAll(t, c, u)
	if err := c.Update(context.Background(), edited(t, c, u, "spec.stop", false), client.DryRunAll); err != nil {
		t.Errorf("stop: %v", err)
	}
}
