package v1alpha1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

const head = "apiVersion: config.h2surge.io/v1alpha1\nkind: OperatorConfig\n"

var env = Environment{Image: "example.test/h2surge:1", Namespace: "surge"}

func TestLoadDefaults(t *testing.T) {
	for name, data := range map[string]string{"no file": "", "only its kind": head} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Load([]byte(data), env)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Runner.Image != env.Image || cfg.OperatorNamespace != env.Namespace {
				t.Errorf("environment ignored: image %q namespace %q", cfg.Runner.Image, cfg.OperatorNamespace)
			}
			if got := cfg.Runner.SnapshotInterval.Duration; got != time.Second {
				t.Errorf("snapshotInterval = %v, want 1s", got)
			}
			if !*cfg.LeaderElection.Enabled || !*cfg.Metrics.Secure {
				t.Error("leader election and secure metrics are on by default")
			}
			if m := &cfg.Metrics; m.KeepFinished.Duration != 15*time.Minute || m.MaxFinished != 100 {
				t.Errorf("the last values of %d runs are kept for %v, want 100 and 15m", m.MaxFinished, m.KeepFinished.Duration)
			}
		})
	}
}

func TestLoadOverrides(t *testing.T) {
	cfg, err := Load([]byte(head+`
namespaces: [a, b]
leaderElection: {enabled: false}
runner: {image: "other:2", imagePullPolicy: Never, readyTimeout: 30s}
`), env)
	if err != nil {
		t.Fatal(err)
	}
	want := Runner{}
	want.Image, want.ImagePullPolicy, want.ReadyTimeout.Duration = "other:2", corev1.PullNever, 30*time.Second
	want.setDefaults(env)
	if diff := cmp.Diff(want, cfg.Runner); diff != "" {
		t.Errorf("runner (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ptr.To(false), cfg.LeaderElection.Enabled); diff != "" {
		t.Errorf("leaderElection.enabled (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, cfg.Namespaces); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

func TestInheritedKeys(t *testing.T) {
	tests := map[string]struct {
		data string
		want []string // labels, the first two
	}{
		"by default": {"", []string{"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"}},
		"none":       {"runner: {inheritLabels: []}\n", []string{}},
		"others":     {"runner: {inheritLabels: [team, example.com/]}\n", []string{"team", "example.com/"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, err := Load([]byte(head+tt.data), env)
			if err != nil {
				t.Fatal(err)
			}
			got := cfg.Runner.InheritLabels
			if diff := cmp.Diff(tt.want, got[:min(2, len(got))]); diff != "" {
				t.Errorf("inheritLabels (-want +got):\n%s", diff)
			}
		})
	}
}

// A TTL of zero is not the default.
func TestTTLAfterFinished(t *testing.T) {
	for data, want := range map[string]time.Duration{
		"":                                      time.Hour,
		"runner: {}\n":                          time.Hour,
		"runner: {ttlAfterFinished: 0s}\n":      0,
		"runner: {ttlAfterFinished: 10m}\n":     10 * time.Minute,
		"runner: {ttlAfterFinished: 8760h}\n":   8760 * time.Hour,
		"runner: {ttlAfterFinished: null}\n":    time.Hour,
		"report: {podGrace: 5m}\n":              time.Hour,
		"runner: {ttlAfterFinished: 1h30m0s}\n": 90 * time.Minute,
	} {
		cfg, err := Load([]byte(head+data), env)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Runner.TTLAfterFinished.Duration; got != want {
			t.Errorf("%q: ttlAfterFinished = %v, want %v", data, got, want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := map[string]struct{ data, want string }{
		"unknown key":        {head + "runer: {}\n", `unknown field "runer"`},
		"unknown nested key": {head + "runner: {img: x}\n", `unknown field "runner.img"`},
		"a key twice":        {head + "namespaces: [a]\nnamespaces: [b]\n", `key "namespaces" already set`},
		"other version":      {"apiVersion: config.h2surge.io/v9\nkind: OperatorConfig\n", "v9"},
		"other kind":         {"apiVersion: v1\nkind: ConfigMap\n", "ConfigMap"},
		"a label's name":     {head + "runner: {inheritLabels: [team, 'a b']}\n", "runner.inheritLabels[1]"},
		"an empty prefix":    {head + "runner: {inheritAnnotations: [/]}\n", "runner.inheritAnnotations[0]"},
		"no kind":            {"namespaces: [a]\n", "Kind"},
		"bad level":          {head + "logging: {level: chatty}\n", "logging.level"},
		"bad address":        {head + "metrics: {bindAddress: here}\n", "metrics.bindAddress"},
		"bad quantity":       {head + "runner: {memoryPerCPU: lots}\n", "runner.memoryPerCPU"},
		"short interval":     {head + "runner: {snapshotInterval: 1ms}\n", "runner.snapshotInterval"},
		"a negative TTL":     {head + "runner: {ttlAfterFinished: -1s}\n", "runner.ttlAfterFinished"},
		"report too large":   {head + "report: {maxBytes: 2000000}\n", "report.maxBytes"},
		"no checkpoints":     {head + "checkpoint: {bytesPerSecond: 100}\n", "checkpoint.bytesPerSecond"},
		"kept for no time":   {head + "metrics: {keepFinished: 1ms}\n", "metrics.keepFinished"},
		"none is kept":       {head + "metrics: {maxFinished: -1}\n", "metrics.maxFinished"},
		"a negative limit":   {head + "limits: {requestsPerSecond: -1}\n", "limits.requestsPerSecond"},
		"negative shards":    {head + "limits: {shards: -1}\n", "limits.shards"},
		"negative duration":  {head + "limits: {duration: -1s}\n", "limits.duration"},
		"negative sockets":   {head + "limits: {connections: -1}\n", "limits.connections"},
		"a rule's name":      {head + "targets: {denied: [{hosts: [a]}]}\n", "targets.denied[0].name"},
		"a built-in rule":    {head + "targets: {denied: [{name: Nodes, hosts: [a]}]}\n", "targets.denied[0].name"},
		"a name twice":       {head + "targets: {allowed: [{name: a, hosts: [a]}], denied: [{name: a, hosts: [b]}]}\n", "targets.denied[0].name: Duplicate"},
		"an empty rule":      {head + "targets: {denied: [{name: a}]}\n", "targets.denied[0]: Required"},
		"a host with a port": {head + "targets: {denied: [{name: a, hosts: ['a/b']}]}\n", "targets.denied[0].hosts[0]"},
		"not a CIDR":         {head + "targets: {allowed: [{name: a, cidrs: [10.0.0.1]}]}\n", "targets.allowed[0].cidrs[0]"},
		"no such default":    {head + "targets: {deniedByDefault: [Node]}\n", "targets.deniedByDefault[0]"},
		"a list index":       {head + "runner: {deniedPodFields: ['spec.volumes[0]']}\n", "runner.deniedPodFields[0]"},
		"negative":           {head + "maxConcurrentReconciles: -1\n", "maxConcurrentReconciles"},
		"two at once":        {head + "namespaces: [A]\nlogging: {format: xml}\n", "logging.format"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Load([]byte(tt.data), env)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
	t.Run("no image anywhere", func(t *testing.T) {
		if _, err := Load(nil, Environment{}); err == nil || !strings.Contains(err.Error(), "runner.image") {
			t.Errorf("error %v, want one about runner.image", err)
		}
	})
}
