package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

func TestProbeLines(t *testing.T) {
	times := func(us int64) v1alpha1.Times {
		return v1alpha1.Times{P50Microseconds: ptr(us), P99Microseconds: ptr(8 * us)}
	}
	lt := &v1alpha1.LoadTest{Status: v1alpha1.LoadTestStatus{Search: &v1alpha1.SearchStatus{Message: "Probe 6 runs at 2828 requests per second", Probes: []v1alpha1.ProbeStatus{
		{Load: 1000, Outcome: v1alpha1.ProbeHeld, ErrorRate: new(0.0), ResponseTime: times(1200)},
		{Load: 4000, Outcome: v1alpha1.ProbeInvalid, Message: "another operator began the probe"},
		{Load: 4000, Outcome: v1alpha1.ProbeFailed, ErrorRate: new(0.03), Message: "clean: 3%, limit <= 1%", ResponseTime: v1alpha1.Times{P50Microseconds: ptr(int64(900)), AboveMicroseconds: 2000000}},
		{Load: 2000, Outcome: v1alpha1.ProbeGeneratorBound, ErrorRate: new(0.0), ResponseTime: times(1200)},
	}}}}
	want := []string{
		"probe 2: 4000 requests per second are probed again: another operator began the probe",
		"probe 3: 4000 requests per second failed: p50 900us, p99 > 2s, errors 3%; clean: 3%, limit <= 1%",
		"probe 4: 2000 requests per second were too many for the generator: p50 1.2ms, p99 9.6ms, errors 0%",
	}
	if diff := cmp.Diff(want, ProbeLines(lt, 1)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	lt.Status.Search.Load = v1alpha1.SearchConcurrency
	if got, want := ProbeLines(lt, 3)[0], "probe 4: 2000 requests in flight were too many"; !strings.HasPrefix(got, want) {
		t.Errorf("line %q, want %q", got, want)
	}
	if got := ProbeLines(lt, 4); got != nil {
		t.Errorf("lines after the last one: %q", got)
	}
	if got := searchText(lt); got != "probe 6 runs at 2828 requests per second" {
		t.Errorf("search text %q", got)
	}
}
