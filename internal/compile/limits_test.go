package compile_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/test/builder"
)

// TestLimits: the minimal LoadTest has 1 shard, 1 connection and one stage.
func TestLimits(t *testing.T) {
	addresses, err := policy.Parse(&rv.AddressPolicy{Denied: []rv.AddressRule{{Name: "meta", Hosts: []string{"meta.*"}, CIDRs: []string{"169.254.0.0/16"}}}})
	if err != nil {
		t.Fatal(err)
	}
	rate := func(n int64) v1alpha1.Rate {
		return v1alpha1.Rate{Name: "r" + strconv.FormatInt(n, 10), RequestsPerSecond: ptr.To(n), Duration: &v1alpha1.Duration{Duration: time.Minute}}
	}
	template := func(raw string) func(*spec) {
		return func(s *spec) { s.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte(raw)} }
	}
	const denied = "; denied by "
	for _, tc := range []struct {
		name   string
		limits compile.Limits
		edit   func(*spec)
		want   []string
	}{
		{"no limits", compile.Limits{}, func(*spec) {}, []string{}},
		{"the rate", compile.Limits{RequestsPerSecond: 100}, func(s *spec) { s.Rates = []v1alpha1.Rate{rate(100)} }, []string{}},
		{
			"a rate above", compile.Limits{RequestsPerSecond: 100}, func(s *spec) { s.Rates = []v1alpha1.Rate{rate(10), rate(101)} },
			[]string{"spec.rates: the highest rates of spec.rates and of all chains are together 101 requests per second; allowed: at most 100" + denied + "limits.requestsPerSecond of the operator's configuration"},
		},
		{
			"a ramp begins above", compile.Limits{RequestsPerSecond: 100}, func(s *spec) {
				s.Rates = []v1alpha1.Rate{rate(1)}
				s.Rates[0].RampFrom = ptr.To[int64](101)
			},
			[]string{"spec.rates: the highest rates of spec.rates and of all chains are together 101 requests per second; allowed: at most 100" + denied + "limits.requestsPerSecond of the operator's configuration"},
		},
		{
			"shards", compile.Limits{Shards: 2}, func(s *spec) { s.Runner.Shards, s.Targets[0].Connections = 3, ptr.To[int32](3) },
			[]string{"spec.runner.shards: is 3; allowed: at most 2" + denied + "limits.shards of the operator's configuration"},
		},
		{
			"connections", compile.Limits{Connections: 4}, func(s *spec) { s.Targets[0].Connections = ptr.To[int32](5) },
			[]string{"spec.targets: all targets together have 5 connections; allowed: at most 4" + denied + "limits.connections of the operator's configuration"},
		},
		{
			"duration", compile.Limits{Duration: time.Minute}, func(s *spec) { s.Rates = []v1alpha1.Rate{rate(1), rate(2)} },
			[]string{"spec.rates: the stages take 2m0s; allowed: at most 1m0s" + denied + "limits.duration of the operator's configuration"},
		},
		{"a deadline within", compile.Limits{Duration: time.Minute}, func(s *spec) {
			s.Rates, s.ActiveDeadlineSeconds = []v1alpha1.Rate{rate(1), rate(2)}, ptr.To[int64](60)
		}, []string{}},
		{
			"no end", compile.Limits{Duration: time.Minute}, func(s *spec) {
				s.Rates = []v1alpha1.Rate{rate(1)}
				s.Rates[0].Duration, s.Rates[0].Requests = nil, ptr.To[int64](5)
			},
			[]string{"spec.activeDeadlineSeconds: is required, and must be at most 60, because a stage ends by requests" + denied + "limits.duration of the operator's configuration"},
		},
		{
			"a denied host", compile.Limits{Addresses: addresses}, func(s *spec) { s.Targets[0].URL = "http://META.example.com:8080/x" },
			[]string{"spec.targets[0].url: no LoadTest can send requests to this host" + denied + "rule meta in targets of the operator's configuration"},
		},
		{
			"a denied address of several", compile.Limits{Addresses: addresses}, func(s *spec) {
				s.Targets[0].URL, s.Targets[0].URLs = "", []string{"http://a", "http://[::ffff:169.254.169.254]"}
			},
			[]string{"spec.targets[0].urls[1]: no LoadTest can send requests to this host" + denied + "rule meta in targets of the operator's configuration"},
		},
		{
			"connectTo", compile.Limits{Addresses: addresses}, func(s *spec) { s.Targets[0].ConnectTo = "169.254.169.254:80" },
			[]string{"spec.targets[0].connectTo: no LoadTest can send requests to this host" + denied + "rule meta in targets of the operator's configuration"},
		},
		{"a socket of the pod", compile.Limits{Addresses: addresses}, func(s *spec) { s.Targets[0].ConnectTo = "unix:/tmp/s" }, []string{}},
		{
			"a pod field", compile.Limits{DeniedPodFields: []string{"spec.nodeSelector"}}, template(`{"spec":{"nodeSelector":{"a":"b"}}}`),
			[]string{"spec.runner.podTemplate.spec.nodeSelector: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"a field in a list", compile.Limits{DeniedPodFields: []string{"spec.volumes.hostPath"}}, template(`{"spec":{"volumes":[{"name":"a","emptyDir":{}},{"name":"b","hostPath":{"path":"/"}}]}}`),
			[]string{"spec.runner.podTemplate.spec.volumes.hostPath: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"null deletes the operator's value", compile.Limits{DeniedPodFields: []string{"spec.securityContext"}}, template(`{"spec":{"securityContext":null}}`),
			[]string{"spec.runner.podTemplate.spec.securityContext: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"null above a field deletes it, too", compile.Limits{DeniedPodFields: []string{"spec.nodeSelector"}}, template(`{"spec":null}`),
			[]string{"spec.runner.podTemplate.spec.nodeSelector: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"null between", compile.Limits{DeniedPodFields: []string{"spec.affinity.nodeAffinity"}}, template(`{"spec":{"affinity":null}}`),
			[]string{"spec.runner.podTemplate.spec.affinity.nodeAffinity: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"null in a list", compile.Limits{DeniedPodFields: []string{"spec.containers.securityContext.privileged"}}, template(`{"spec":{"containers":[{"name":"runner","securityContext":null}]}}`),
			[]string{"spec.runner.podTemplate.spec.containers.securityContext.privileged: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"the other name of the service account", compile.Limits{DeniedPodFields: []string{"spec.serviceAccountName"}}, template(`{"spec":{"serviceAccount":"admin"}}`),
			[]string{"spec.runner.podTemplate.spec.serviceAccount: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"the other name is denied", compile.Limits{DeniedPodFields: []string{"spec.serviceAccount"}}, template(`{"spec":{"serviceAccountName":"admin"}}`),
			[]string{"spec.runner.podTemplate.spec.serviceAccountName: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"a directive of the merge", compile.Limits{DeniedPodFields: []string{"spec.nodeSelector.pool"}}, template(`{"spec":{"nodeSelector":{"$patch":"replace"}}}`),
			[]string{"spec.runner.podTemplate.spec.nodeSelector.pool: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{
			"a directive of the merge with other keys", compile.Limits{DeniedPodFields: []string{"metadata.annotations.owner"}}, template(`{"metadata":{"annotations":{"$patch":"replace","a":"b"}}}`),
			[]string{"spec.runner.podTemplate.metadata.annotations.owner: no LoadTest can set this field" + denied + "runner.deniedPodFields of the operator's configuration"},
		},
		{"another pod field", compile.Limits{DeniedPodFields: []string{"spec.nodeSelector", "spec.volumes.hostPath"}}, template(`{"spec":{"nodeName":"a"}}`), []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lt := builder.Minimal("test").Edit(tc.edit).Build()
			plan, _, errs := compile.Compile("default/test", &lt.Spec)
			if len(errs) > 0 {
				t.Fatal(strings.Join(compile.ErrorLines(errs), "\n"))
			}
			if diff := cmp.Diff(tc.want, compile.ErrorLines(tc.limits.Check(&lt.Spec, plan))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
