package compile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// TestSearchLoads: the defaults depend on what the search changes and on the bounds that are given.
func TestSearchLoads(t *testing.T) {
	const tooMany = "must be at most 1024, the number of requests that the connections of all targets together carry at a time; raise connections or maxConcurrentStreams"
	for _, tt := range []struct {
		name    string
		search  v1alpha1.Search
		want    runnerv1alpha1.Search // loads only
		wantErr string
	}{
		{"a rate", v1alpha1.Search{}, runnerv1alpha1.Search{Start: 1000, Min: 1, Max: 100_000_000}, ""},
		{"a rate below the default start", v1alpha1.Search{Max: 50}, runnerv1alpha1.Search{Start: 50, Min: 1, Max: 50}, ""},
		{"a rate above it", v1alpha1.Search{Min: 5000}, runnerv1alpha1.Search{Start: 5000, Min: 5000, Max: 100_000_000}, ""},
		{"a concurrency", v1alpha1.Search{Load: v1alpha1.SearchConcurrency}, runnerv1alpha1.Search{Concurrency: true, Start: 16, Min: 1, Max: 1024}, ""},
		{"more than all streams", v1alpha1.Search{Load: v1alpha1.SearchConcurrency, Max: 1025}, runnerv1alpha1.Search{}, "spec.search.max: must be at most 1024"},
		{"a minimum above all streams", v1alpha1.Search{Load: v1alpha1.SearchConcurrency, Min: 1025}, runnerv1alpha1.Search{}, "spec.search.min: must be at most 1024"},
		{"both above all streams", v1alpha1.Search{Load: v1alpha1.SearchConcurrency, Min: 1025, Max: 1026}, runnerv1alpha1.Search{}, "spec.search.min: " + tooMany + "\nspec.search.max: " + tooMany},
		{"no such load", v1alpha1.Search{Load: "Bytes"}, runnerv1alpha1.Search{}, "spec.search.load: must be RequestsPerSecond or Concurrency"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lt := builder.Minimal("test").Edit(func(s *spec) {
				s.Targets[0].Connections, s.Targets[0].MaxConcurrentStreams = ptr.To[int32](16), 64
				s.Rates, s.Search = nil, &tt.search
			}).Build()
			plan, _, errs := compile.Compile("default/test", &lt.Spec)
			if tt.wantErr != "" {
				if len(errs) == 0 || !strings.Contains(strings.Join(compile.ErrorLines(errs), "\n"), tt.wantErr) {
					t.Errorf("errors %q, want %q", compile.ErrorLines(errs), tt.wantErr)
				}
				return
			}
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			s := plan.Search
			got := runnerv1alpha1.Search{Concurrency: s.Concurrency, Start: s.Start, Min: s.Min, Max: s.Max}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("loads (-want +got):\n%s", diff)
			}
			_, measured := s.Stages(0)
			wantRate := runnerv1alpha1.Rate{Name: "probe-1", Count: s.Start, Period: time.Second, Duration: 10 * time.Second}
			if s.Concurrency {
				wantRate.ClosedLoop, wantRate.Period = true, 0
			}
			if diff := cmp.Diff(wantRate, plan.Rates[measured]); diff != "" {
				t.Errorf("stage of the first probe (-want +got):\n%s", diff)
			}
		})
	}
}
