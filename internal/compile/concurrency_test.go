package compile_test

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

func TestConcurrency(t *testing.T) {
	for n, want := range map[int64][]string{
		1:    nil,
		1024: nil,
		1100: {"spec.rates[0].closedLoop.concurrency: the connections of all targets together carry 1024 requests at a time, so 76 of 1100 requests wait for a stream; raise connections or maxConcurrentStreams"},
	} {
		lt := builder.Minimal("test").Edit(func(s *spec) {
			s.Targets[0].Connections, s.Targets[0].MaxConcurrentStreams = ptr.To[int32](16), 64
			s.Rates = []v1alpha1.Rate{{Name: "loop", ClosedLoop: &v1alpha1.ClosedLoop{Concurrency: &n}, Requests: ptr.To[int64](5)}}
		}).Build()
		plan, warnings, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if r := plan.Rates[0]; !r.ClosedLoop || r.Count != n || r.Period != 0 {
			t.Errorf("concurrency %d: got %+v", n, r)
		}
		if !slices.Equal(warnings, want) {
			t.Errorf("concurrency %d: warnings %q, want %q", n, warnings, want)
		}
	}
}
