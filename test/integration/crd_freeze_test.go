package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/test/builder"
)

const mayChange = " frozen while the test runs; only stop, suspend, the rates of stages, runner.shards and ttlSecondsAfterFinished may change"

// ratesMessage says what of a stage may change.
const ratesMessage = "while the test runs only requestsPerSecond and requestsPer of a stage may change, beside stop, suspend, runner.shards and ttlSecondsAfterFinished"

const (
	runnerMessage  = "runner is frozen while the test runs but for shards; only stop, suspend, the rates of stages, runner.shards and ttlSecondsAfterFinished may change"
	dividedMessage = "runner.shards is frozen while the test runs, because a stage is a closedLoop that ends by requests, which only the shards that began with it can divide"
)

// frozen has an edit of each field that must not change while a test runs.
var frozen = []struct {
	want  string
	path  string
	value any
}{
	{"targets are" + mayChange, "spec.targets[0].maxConcurrentStreams", int64(7)},
	{"variables are" + mayChange, "spec.variables[0].range.end", int64(2000)},
	{"variables are" + mayChange, "spec.variables", nil},
	{"templates are" + mayChange, "spec.templates[0].body", "other"},
	{"chains are" + mayChange, "spec.chains[0].weight", int64(9)},
	{ratesMessage, "spec.rates[1].name", "other"},
	{ratesMessage, "spec.rates[1].duration", "11s"},
	{ratesMessage, "spec.rates[1].requests", int64(7)},
	{ratesMessage, "spec.rates[0].warmUp", false},
	{ratesMessage, "spec.rates[1]", map[string]any{"name": "steady", "requestsPerSecond": int64(100), "duration": "10s"}},
	{ratesMessage, "spec.rates[1]", map[string]any{"name": "steady", "closedLoop": map[string]any{}, "duration": "10s", "requests": int64(500)}},
	{ratesMessage, "spec.rates[2]", map[string]any{"name": "most", "requestsPerSecond": int64(100), "requests": int64(1000)}},
	{ratesMessage, "spec.rates", []any{map[string]any{"name": "steady", "requestsPerSecond": int64(100), "duration": "10s", "requests": int64(500)}}},
	{"thresholds are" + mayChange, "spec.thresholds[0].max", "21ms"},
	{"thresholds are" + mayChange, "spec.thresholds", nil},
	{runnerMessage, "spec.runner.cpusPerShard", nil},
	{runnerMessage, "spec.runner.minShards", nil},
	{runnerMessage, "spec.runner.startTimeout", "91s"},
	{runnerMessage, "spec.runner.startTimeout", nil},
	{runnerMessage, "spec.runner.onShardLost", "Fail"},
	{runnerMessage, "spec.runner.onShardLost", nil}, // the default comes in its place
	{runnerMessage, "spec.runner.podTemplate.spec.nodeSelector.disk", "ssd"},
	{runnerMessage, "spec.runner.podTemplate", nil},
	{runnerMessage, "spec.runner.resources.limits.memory", "256Mi"},
	{runnerMessage, "spec.runner.resources", nil},
	{dividedMessage, "spec.runner", map[string]any{"shards": int64(1)}},
	{"activeDeadlineSeconds is" + mayChange, "spec.activeDeadlineSeconds", int64(1000)},
	{"activeDeadlineSeconds is" + mayChange, "spec.activeDeadlineSeconds", nil},
	{"weightBy is" + mayChange, "spec.weightBy", "Chains"},
	{"weightBy is" + mayChange, "spec.weightBy", nil},
	{"seed is" + mayChange, "spec.seed", int64(2)},
	{"seed is" + mayChange, "spec.seed", nil},
}

const stopMessage = "stop cannot be taken back; to run the test again, apply it under another name"

func frozenMessages() []string {
	out := []string{stopMessage}
	for _, row := range frozen {
		out = append(out, row.want)
	}
	return out
}

// edited is the stored object with one place changed; a nil value removes the field.
func edited(t *testing.T, c client.Client, u *unstructured.Unstructured, path string, value any) *unstructured.Unstructured {
	t.Helper()
	fresh := u.DeepCopy()
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(u), fresh); err != nil {
		t.Fatal(err)
	}
	if value == nil {
		fields := strings.Split(path, ".")
		unstructured.RemoveNestedField(fresh.Object, fields...)
		return fresh
	}
	builder.Put(fresh.Object, path, value)
	return fresh
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
	for _, row := range frozen {
		if err := c.Update(context.Background(), edited(t, c, u, row.path, row.value), client.DryRunAll); err != nil {
			t.Errorf("%s: %v", row.path, err)
		}
	}
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
		{"metadata.labels", map[string]any{"a": "b"}},
		{"spec.rates[1].requestsPerSecond", int64(200)},
		{"spec.rates[0].requestsPer", map[string]any{"count": int64(7), "period": "2s"}},
		{"spec.rates[1]", map[string]any{"name": "steady", "requestsPer": map[string]any{"count": int64(1), "period": "1m"}, "duration": "10s", "requests": int64(500), "warmUp": false}},
		{"spec.suspend", true},
		{"spec.suspend", false},
		{"spec.suspend", nil},
		{"spec.stop", true},
	} {
		if err := c.Update(context.Background(), edited(t, c, u, row.path, row.value)); err != nil {
			t.Errorf("%s: %v", row.path, err)
		}
	}
	// A rate keeps to its bounds.
	if err := c.Update(context.Background(), edited(t, c, u, "spec.rates[0].requestsPer.count", int64(0)), client.DryRunAll); err == nil {
		t.Error("a rate of nothing was accepted")
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

func TestSpecMayChangeAfterTheEnd(t *testing.T) {
	c := newClient(t)
	doc := named("ended")
	builder.Put(doc, "spec.stop", true)
	u := create(t, c, doc)
	setStatus(t, c, u, map[string]any{"startTime": "2026-01-02T15:04:05Z", "completionTime": "2026-01-02T15:05:05Z"})
	for _, row := range frozen {
		if err := c.Update(context.Background(), edited(t, c, u, row.path, row.value), client.DryRunAll); err != nil {
			t.Errorf("%s: %v", row.path, err)
		}
	}
	if err := c.Update(context.Background(), edited(t, c, u, "spec.stop", false), client.DryRunAll); err != nil {
		t.Errorf("stop: %v", err)
	}
}
