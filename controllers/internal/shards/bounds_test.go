package shards

import (
	"fmt"
	"strings"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestOversized: the operator does not keep a snapshot with more than any runner sends.
func TestOversized(t *testing.T) {
	plan := &runnerv1alpha1.Plan{Globals: []string{"token"}}
	many := func(n int) map[string]int64 {
		out := map[string]int64{}
		for i := range n {
			out[fmt.Sprint(i)] = 1
		}
		return out
	}
	long := strings.Repeat("x", maxCause+1)
	for _, tt := range []struct {
		want string
		s    runnerv1alpha1.Snapshot
	}{
		{"", runnerv1alpha1.Snapshot{Globals: []string{"a"}, Causes: many(65), StatusCodes: many(500), Message: "connection refused"}},
		{"causes", runnerv1alpha1.Snapshot{Causes: many(runnerv1alpha1.MaxCauses + 2)}},
		{"causes[]", runnerv1alpha1.Snapshot{Causes: map[string]int64{long: 1}}},
		{"causes[]", runnerv1alpha1.Snapshot{Failures: []runnerv1alpha1.FailureCount{{Failure: runnerv1alpha1.Failure{Detail: long}}}}},
		{"causes[]", runnerv1alpha1.Snapshot{Failures: []runnerv1alpha1.FailureCount{{Failure: runnerv1alpha1.Failure{Address: long}}}}},
		{"step 0", runnerv1alpha1.Snapshot{Steps: []runnerv1alpha1.StepCounters{{Problems: map[string]int64{long: 1}}}}},
		{"statusCodes", runnerv1alpha1.Snapshot{StatusCodes: many(maxEntries + 1)}},
		{"failures", runnerv1alpha1.Snapshot{Failures: make([]runnerv1alpha1.FailureCount, maxEntries+1)}},
		{"samples", runnerv1alpha1.Snapshot{Samples: make([]runnerv1alpha1.Sample, maxEntries+1)}},
		{"slowest", runnerv1alpha1.Snapshot{Slowest: make([]runnerv1alpha1.SlowRequest, maxEntries+1)}},
		{"streams", runnerv1alpha1.Snapshot{Streams: make([]int64, maxEntries+1)}},
		{"observation 0", runnerv1alpha1.Snapshot{Observations: []runnerv1alpha1.ObservationSamples{{Series: make([]runnerv1alpha1.SeriesSamples, runnerv1alpha1.MaxSeries+2)}}}},
		{"observation 0", runnerv1alpha1.Snapshot{Observations: []runnerv1alpha1.ObservationSamples{{Series: []runnerv1alpha1.SeriesSamples{{Points: make([]runnerv1alpha1.Point, 721)}}}}}},
		{"observation 0", runnerv1alpha1.Snapshot{Observations: []runnerv1alpha1.ObservationSamples{{Series: []runnerv1alpha1.SeriesSamples{{Points: make([]runnerv1alpha1.Point, 1)}}}}}},
		{"observation 0", runnerv1alpha1.Snapshot{Observations: []runnerv1alpha1.ObservationSamples{{Gaps: []runnerv1alpha1.ObservationGap{{Cause: strings.Repeat("a", maxCause+1)}}}}}},
		{"generator.cpus", runnerv1alpha1.Snapshot{Generator: runnerv1alpha1.Generator{CPUs: make([]int, maxEntries+1)}}},
		{"globals", runnerv1alpha1.Snapshot{Globals: []string{"a", "b"}}},
		{"message", runnerv1alpha1.Snapshot{Message: strings.Repeat("x", maxText+1)}},
		{"teardownFailure", runnerv1alpha1.Snapshot{TeardownFailure: strings.Repeat("x", maxText+1)}},
	} {
		err := oversized(plan, &tt.s)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), "snapshot's "+tt.want+" has") {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}
