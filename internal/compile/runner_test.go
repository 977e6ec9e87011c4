package compile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

func TestWhenNotAllShardsAreThere(t *testing.T) {
	const (
		minShards, redeal = "spec.runner.minShards: ", "spec.runner.onShardLost: "
		divided           = "does not go with a stage that is a closedLoop that ends by requests"
	)
	requests := func(s *v1alpha1.LoadTestSpec) { s.Rates = []v1alpha1.Rate{builder.ClosedLoop("most", 10)} }
	tests := map[string]struct {
		runner v1alpha1.Runner
		edit   func(*v1alpha1.LoadTestSpec)
		want   []string
	}{
		"nothing said":             {v1alpha1.Runner{Shards: 3}, nil, nil},
		"all said":                 {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](2), StartTimeout: &metav1.Duration{Duration: time.Minute}, OnShardLost: "redeal"}, nil, nil},
		"none at least":            {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](0)}, nil, []string{minShards + "must be between 1 and 256"}},
		"more at least than all":   {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](4)}, nil, []string{minShards + "minShards must be at most runner.shards"}},
		"a short time":             {v1alpha1.Runner{StartTimeout: &metav1.Duration{Duration: time.Millisecond}}, nil, []string{"spec.runner.startTimeout: must be from 1s to 24h"}},
		"another word":             {v1alpha1.Runner{OnShardLost: "weep"}, nil, []string{redeal + "must be one of fail, continue, redeal"}},
		"divided requests":         {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](3), OnShardLost: "continue"}, requests, nil},
		"divided requests, fewer":  {v1alpha1.Runner{Shards: 3, MinShards: ptr.To[int32](2)}, requests, []string{minShards + "minShards below runner.shards " + divided}},
		"divided requests, redeal": {v1alpha1.Runner{OnShardLost: "redeal"}, requests, []string{redeal + "redeal " + divided}},
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
