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

// Messages of rules that compare lists, and of those that a closedLoop with requests needs.
const (
	namesOfChains = "chains cannot be added, removed, renamed or reordered while the test runs"
	namesOfStages = "stages cannot be added, removed, renamed or reordered while the test runs"
	namesInChain  = "stages of a chain cannot be added, removed, renamed or reordered while the test runs"

	dividedMessage = "runner.shards cannot change while the test runs with a stage that is a closedLoop that ends by requests, because its requests are divided among the shards"

	concurrencyMessage = "concurrency cannot change while the test runs in a stage that is a closedLoop that ends by requests, because its requests are divided among the shards"
)

// fixed returns the message of the rule of a field.
func fixed(field string) string { return field + " cannot change while the test runs" }

// edit sets a field; a nil value removes it. want is the message of the API server while a test runs.
type edit struct {
	want  string
	path  string
	value any
}

// frozen has an edit of each field that must not change while a test runs.
var frozen = []edit{
	{fixed("targets"), "spec.targets[0].maxConcurrentStreams", int64(7)},
	{fixed("variables"), "spec.variables[0].range.end", int64(2000)},
	{fixed("variables"), "spec.variables", nil},
	{fixed("templates"), "spec.templates[0].body", "other"},
	{fixed("listeners"), "spec.listeners[0].port", int64(9101)},
	{fixed("observe"), "spec.observe[0].unit", "Count"},
	{fixed("observe"), "spec.observe", nil},
	{fixed("otlp"), "spec.otlp.target", "single"},
	{fixed("otlp"), "spec.otlp", nil},
	{fixed("thresholds"), "spec.thresholds[0].max", "21ms"},
	{fixed("thresholds"), "spec.thresholds", nil},
	{fixed("weightBy"), "spec.weightBy", "Chains"},
	{fixed("weightBy"), "spec.weightBy", nil},
	{fixed("seed"), "spec.seed", int64(2)},
	{fixed("seed"), "spec.seed", nil},
	{fixed("lock"), "spec.lock", "other"},
	{fixed("lock"), "spec.lock", nil},
	{fixed("gracefulStop"), "spec.gracefulStop", "2s"},
	{fixed("gracefulStop"), "spec.gracefulStop", nil},
	{fixed("activeDeadlineSeconds"), "spec.activeDeadlineSeconds", int64(1000)},
	{fixed("activeDeadlineSeconds"), "spec.activeDeadlineSeconds", nil},
	{fixed("cpusPerShard"), "spec.runner.cpusPerShard", nil},
	{fixed("idleStrategy"), "spec.runner.idleStrategy", "Sleep"},
	{fixed("idleStrategy"), "spec.runner.idleStrategy", nil}, // the default comes in its place
	{fixed("sleepInterval"), "spec.runner.sleepInterval", "2ms"},
	{fixed("sleepInterval"), "spec.runner.sleepInterval", nil},
	{fixed("minShards"), "spec.runner.minShards", nil},
	{fixed("startTimeout"), "spec.runner.startTimeout", "91s"},
	{fixed("startTimeout"), "spec.runner.startTimeout", nil},
	{fixed("leaseDuration"), "spec.runner.leaseDuration", "46s"},
	{fixed("leaseDuration"), "spec.runner.leaseDuration", nil},
	{fixed("resultRetention"), "spec.runner.resultRetention", "31m"},
	{fixed("resultRetention"), "spec.runner.resultRetention", nil},
	{fixed("onShardLost"), "spec.runner.onShardLost", "Fail"},
	{fixed("onShardLost"), "spec.runner.onShardLost", nil}, // the default comes in its place
	{fixed("podTemplate"), "spec.runner.podTemplate.spec.nodeSelector.disk", "ssd"},
	{fixed("podTemplate"), "spec.runner.podTemplate", nil},
	{fixed("resources"), "spec.runner.resources.limits.memory", "256Mi"},
	{fixed("resources"), "spec.runner.resources", nil},
	{dividedMessage, "spec.runner", map[string]any{"shards": int64(1)}},

	{namesOfChains, "spec.chains[0].name", "another"},
	{fixed("target of a chain"), "spec.chains[0].target", "group"},
	{fixed("phase of a chain"), "spec.chains[2].phase", "Setup"},
	{fixed("weight of a chain"), "spec.chains[0].weight", int64(9)},
	{fixed("steps of a chain"), "spec.chains[0].steps[0].template", "base"},
	{fixed("startDelay of a chain"), "spec.chains[6].startDelay", "2s"},
	{fixed("maxInFlight of a chain"), "spec.chains[6].maxInFlight", int64(101)},
	{fixed("startAfter of a chain"), "spec.chains[1].startAfter", "2s"},
	{fixed("cookies of a chain"), "spec.chains[6].cookies", false},
	{namesInChain, "spec.chains[1].rates[1].name", "another"},
	{"a chain's stage cannot change between chains and requests while the test runs", "spec.chains[1].rates[2]", map[string]any{"name": "own-sessions", "requestsPerSecond": int64(1), "duration": "1s"}},
	{fixed("arrivals of a chain's stage"), "spec.chains[1].rates[0].arrivals", "Poisson"},
	{fixed("burstSize of a chain's stage"), "spec.chains[1].rates[1].burstSize", int64(6)},
	{fixed("duration of a chain's stage"), "spec.chains[1].rates[1].duration", "11s"},
	{fixed("requests of a chain's stage"), "spec.chains[1].rates[1].requests", int64(6)},
	{fixed("warmUp of a chain's stage"), "spec.chains[1].rates[0].warmUp", false},

	{namesOfStages, "spec.rates[1].name", "other"},
	{namesOfStages, "spec.rates", []any{map[string]any{"name": "steady", "requestsPerSecond": int64(100), "duration": "10s", "requests": int64(500)}}},
	{"a stage cannot change between a closedLoop and a rate while the test runs", "spec.rates[1]", map[string]any{"name": "steady", "closedLoop": map[string]any{}, "duration": "10s", "requests": int64(500)}},
	{"a stage cannot change between a closedLoop and a rate while the test runs", "spec.rates[2]", map[string]any{"name": "most", "requestsPerSecond": int64(100), "requests": int64(1000)}},
	{"a stage cannot change between chains and requests while the test runs", "spec.rates[1]", map[string]any{"name": "steady", "chainsPerSecond": int64(100), "duration": "10s", "arrivals": "Burst", "burstSize": int64(5)}},
	{fixed("arrivals of a stage"), "spec.rates[0].arrivals", "Poisson"},
	{fixed("burstSize of a stage"), "spec.rates[1].burstSize", int64(6)},
	{fixed("duration of a stage"), "spec.rates[1].duration", "11s"},
	{fixed("requests of a stage"), "spec.rates[1].requests", int64(7)},
	{fixed("requests of a stage"), "spec.rates[1]", map[string]any{"name": "steady", "requestsPerSecond": int64(100), "duration": "10s"}},
	{fixed("warmUp of a stage"), "spec.rates[0].warmUp", false},
	{concurrencyMessage, "spec.rates[2].closedLoop.concurrency", int64(8)},
}

const stopMessage = "stop cannot become false again; apply the test under another name to run it again"

func frozenMessages() []string {
	out := []string{stopMessage, fixed("search")} // search has no row in frozen: full.yaml cannot have it next to measured stages
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
	"spec.chains[].rates[].requestsPerSecond", "spec.chains[].rates[].requestsPer", "spec.chains[].rates[].chainsPerSecond", "spec.chains[].rates[].rampFrom",
	"spec.chains[].rates[].closedLoop", // which a stage of a chain cannot have
}

// TestEveryOtherFieldIsFrozen changes each field of the CRD's schema in turn, those of the runner, of a chain and of a stage one by one, so that a new
// field cannot be forgotten.
func TestEveryOtherFieldIsFrozen(t *testing.T) {
	c := newClient(t)
	u := create(t, c, named("all-frozen"))
	setStatus(t, c, u, map[string]any{"startTime": "2026-01-02T15:04:05Z"})
	frozenBelow(t, c, u, "spec", schema(t).Properties["spec"], func(doc map[string]any) any { return doc["spec"] })
}

// compared are the places whose fields have rules of their own. Another place is compared as a whole.
var compared = []string{"spec.runner", "spec.chains", "spec.chains[].rates", "spec.rates"}

// frozenBelow changes each field of the place that at returns, an object or a list of objects, and those below it that have rules of their own.
func frozenBelow(t *testing.T, c client.Client, u *unstructured.Unstructured, path string, s apiextensionsv1.JSONSchemaProps, at func(doc map[string]any) any) {
	t.Helper()
	if s.Items != nil {
		path, s = path+"[]", *s.Items.Schema
	}
	for name, property := range s.Properties {
		below, holder := path+"."+name, func(doc map[string]any) map[string]any { return with(at(doc), name) }
		switch {
		case slices.Contains(live, below):
		case slices.Contains(compared, below):
			frozenBelow(t, c, u, below, property, func(doc map[string]any) any { return holder(doc)[name] })
		default:
			fresh := edited(t, c, u, "metadata.labels", map[string]any{})
			alter(t, below, property, holder(fresh.Object), name)
			if err := c.Update(context.Background(), fresh, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "while the test runs") {
				t.Errorf("%s: got %v, want an error, because the test runs", below, err)
			}
			for inner := range property.Properties {
				if inPart := slices.ContainsFunc(live, func(l string) bool { return strings.HasPrefix(l, below+".") }); inPart && !slices.Contains(live, below+"."+inner) {
					t.Errorf("%s.%s: the rule on rates does not compare it; extend the rule and this test", below, inner) // an object is compared by its presence
				}
			}
		}
	}
}

// with returns the object of a place that has a field: the place itself, or the first item of a list that has the field.
func with(place any, name string) map[string]any {
	list, ok := place.([]any)
	if !ok {
		return place.(map[string]any)
	}
	i := slices.IndexFunc(list, func(item any) bool { return item.(map[string]any)[name] != nil })
	return list[max(i, 0)].(map[string]any)
}

// alter changes a field to another value that is valid by itself: it removes an optional field and the last item of
// a list, and changes a name.
func alter(t *testing.T, path string, s apiextensionsv1.JSONSchemaProps, parent map[string]any, name string) {
	t.Helper()
	switch v := parent[name].(type) {
	case nil:
		if path == "spec.search" { // which full.yaml cannot have next to measured stages
			parent[name] = map[string]any{}
			return
		}
		t.Errorf("full.yaml has no %s, so the test cannot change it", path)
	case []any:
		parent[name] = v[:len(v)-1]
	case string:
		parent[name] = "other"
		if i := slices.IndexFunc(s.Enum, func(e apiextensionsv1.JSON) bool { return string(e.Raw) != `"`+v+`"` }); i >= 0 {
			parent[name] = strings.Trim(string(s.Enum[i].Raw), `"`)
		} else if s.Pattern != "" && name != "name" {
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
