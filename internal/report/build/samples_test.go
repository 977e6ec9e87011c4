package build

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestAddSlowest: sampled requests are first, then the slower ones; the order of the shards does not matter.
func TestAddSlowest(t *testing.T) {
	var all []rv.SlowRequest
	for i := range int64(2 * rv.MaxSlowest) {
		all = append(all, rv.SlowRequest{ResponseTime: 10 * i, Trace: rv.Trace{TraceSampled: i < 3}})
	}
	want := []int64{20, 10, 0, 150, 140, 130, 120, 110}
	times := func(in []rv.SlowRequest) (out []int64) {
		for i := range in {
			out = append(out, in[i].ResponseTime)
		}
		return out
	}
	forward := AddSlowest(AddSlowest(nil, all[:5]), all[5:])
	slices.Reverse(all)
	backward := AddSlowest(AddSlowest(nil, all[:5]), all[5:])
	if diff := cmp.Diff([][]int64{want, want}, [][]int64{times(forward), times(backward)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAddSamplesPrefersSampledTraces of the same failure.
func TestAddSamplesPrefersSampledTraces(t *testing.T) {
	of := func(id string, sampled bool) rv.Sample {
		return rv.Sample{Step: "s", Check: "status", Trace: rv.Trace{TraceID: id, TraceSampled: sampled}}
	}
	got := AddSamples(nil, []rv.Sample{of("a", false), of("b", false), of("c", true), of("d", false), of("e", true), of("f", true)})
	if diff := cmp.Diff([]rv.Sample{of("e", true), of("c", true)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
