package compile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// resources of a container; an empty quantity is not set.
func resources(cpuRequest, cpuLimit, memoryRequest, memoryLimit string) *corev1.ResourceRequirements {
	out := &corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	set := func(list corev1.ResourceList, name corev1.ResourceName, quantity string) {
		if quantity != "" {
			list[name] = resource.MustParse(quantity)
		}
	}
	set(out.Requests, corev1.ResourceCPU, cpuRequest)
	set(out.Limits, corev1.ResourceCPU, cpuLimit)
	set(out.Requests, corev1.ResourceMemory, memoryRequest)
	set(out.Limits, corev1.ResourceMemory, memoryLimit)
	return out
}

func TestWhenNotAllShardsAreThere(t *testing.T) {
	const (
		minShards, onShardLost = "spec.runner.minShards: ", "spec.runner.onShardLost: "
		divided                = "cannot be used with a stage that is a closedLoop that ends by requests"
		cpuSet                 = "resources must not set cpu when cpusPerShard is set, because cpusPerShard sets the request and the limit"
	)
	requests := func(s *v1alpha1.LoadTestSpec) { s.Rates = []v1alpha1.Rate{builder.ClosedLoop("most", 10)} }
	tests := map[string]struct {
		runner v1alpha1.Runner
		edit   func(*v1alpha1.LoadTestSpec)
		want   []string
	}{
		"nothing said":                {v1alpha1.Runner{Shards: 3}, nil, nil},
		"all said":                    {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](2), StartTimeout: &v1alpha1.Duration{Duration: time.Minute}, OnShardLost: v1alpha1.ShardLostRebalance}, nil, nil},
		"none at least":               {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](0)}, nil, []string{minShards + "must be between 1 and 256"}},
		"more at least than all":      {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](4)}, nil, []string{minShards + "minShards must be at most runner.shards"}},
		"a short time":                {v1alpha1.Runner{StartTimeout: &v1alpha1.Duration{Duration: time.Millisecond}}, nil, []string{"spec.runner.startTimeout: must be from 1s to 24h"}},
		"leases":                      {v1alpha1.Runner{OnShardLost: v1alpha1.ShardLostRebalance, LeaseDuration: &v1alpha1.Duration{Duration: 10 * time.Second}, ResultRetention: &v1alpha1.Duration{Duration: 24 * time.Hour}}, nil, nil},
		"short lease":                 {v1alpha1.Runner{LeaseDuration: &v1alpha1.Duration{Duration: 9 * time.Second}}, nil, []string{"spec.runner.leaseDuration: must be from 10s to 1h"}},
		"long retention":              {v1alpha1.Runner{ResultRetention: &v1alpha1.Duration{Duration: 25 * time.Hour}}, nil, []string{"spec.runner.resultRetention: must be from 10s to 24h"}},
		"idle":                        {v1alpha1.Runner{IdleStrategy: v1alpha1.IdleStrategySpin, SleepInterval: &v1alpha1.Duration{Duration: 10 * time.Millisecond}}, nil, nil},
		"another idle strategy":       {v1alpha1.Runner{IdleStrategy: "Wait"}, nil, []string{"spec.runner.idleStrategy: must be one of Auto, Spin, Sleep"}},
		"a short interval":            {v1alpha1.Runner{SleepInterval: &v1alpha1.Duration{Duration: 9 * time.Microsecond}}, nil, []string{"spec.runner.sleepInterval: must be from 10us to 10ms"}},
		"another word":                {v1alpha1.Runner{OnShardLost: "weep"}, nil, []string{onShardLost + "must be one of Fail, Continue, Rebalance"}},
		"divided requests":            {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](3), OnShardLost: v1alpha1.ShardLostContinue}, requests, nil},
		"divided requests, fewer":     {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](2)}, requests, []string{minShards + "minShards below runner.shards " + divided}},
		"divided requests, Rebalance": {v1alpha1.Runner{OnShardLost: v1alpha1.ShardLostRebalance}, requests, []string{onShardLost + "Rebalance " + divided}},
		"resources":                   {v1alpha1.Runner{Resources: resources("1", "1", "64Mi", "128Mi")}, nil, nil},
		"memory with cpusPerShard":    {v1alpha1.Runner{CPUsPerShard: ptr.To[int32](1), Resources: resources("", "", "64Mi", "")}, nil, nil},
		"cpu with cpusPerShard":       {v1alpha1.Runner{CPUsPerShard: ptr.To[int32](1), Resources: resources("1", "1", "", "")}, nil, []string{"spec.runner.resources: " + cpuSet}},
		"request above the limit":     {v1alpha1.Runner{Resources: resources("", "", "1Gi", "128Mi")}, nil, []string{"spec.runner.resources.requests[memory]: must be at most the limit, 128Mi"}},
		"the same claim twice":        {v1alpha1.Runner{Resources: &corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "nic"}, {Name: "nic"}}}}, nil, []string{`spec.runner.resources.claims[1].name: "nic" is the name of entry 0 too`}},
		"negative request":            {v1alpha1.Runner{Resources: resources("-1", "", "", "")}, nil, []string{"spec.runner.resources.requests[cpu]: must not be negative"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := builder.Minimal("pcf").Connections(3).Edit(func(s *v1alpha1.LoadTestSpec) { s.Runner = tt.runner })
			if tt.edit != nil {
				b.Edit(tt.edit)
			}
			spec := b.Build().Spec
			_, _, errs := compile.Compile("core/pcf", &spec)
			var got []string
			if len(errs) > 0 {
				got = compile.ErrorLines(errs)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoServiceAccountToken: no volume of the pod template gives runners a token. Other projected volumes are allowed, and
// the template of the operator's configuration, which only PodTemplate checks, may have one.
func TestNoServiceAccountToken(t *testing.T) {
	template := []byte(`{"spec":{"volumes":[{"name":"a","emptyDir":{}},{"name":"b","projected":{"sources":[{"clusterTrustBundle":{"path":"ca.pem"}},{"serviceAccountToken":{"path":"token"}}]}}]}}`)
	spec := builder.Minimal("pcf").Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Runner.PodTemplate = &runtime.RawExtension{Raw: template}
	}).Build().Spec
	_, _, errs := compile.Compile("core/pcf", &spec)
	want := []string{"spec.runner.podTemplate.spec.volumes[1].projected.sources[1].serviceAccountToken: a runner pod of a LoadTest must not have a token of a service account"}
	if diff := cmp.Diff(want, compile.ErrorLines(errs)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if _, errs := compile.PodTemplate(spec.Runner.PodTemplate); len(errs) > 0 {
		t.Errorf("the configuration: %v", errs)
	}
}
