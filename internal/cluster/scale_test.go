package cluster

import (
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// scaled runs with shards that join, leave, have left and were lost.
func scaled() *v1alpha1.LoadTest {
	lt := busy()
	lt.Spec.Runner.Shards = 4
	lt.Status.Shards = &v1alpha1.ShardCounts{Desired: 4, Ready: 2, Lost: 1, Joining: 1, Leaving: 1, Left: 1, Unhealthy: 20}
	lt.Status.Runners = []v1alpha1.RunnerStatus{
		{Shard: 2, Pod: "pcf-1-2", Node: "worker-c", State: "Lost", Message: "its pod was evicted", LagP99Microseconds: 90},
		{Shard: 3, Pod: "pcf-1-3", State: "Joining"},
		{Shard: 4, Pod: "pcf-1-4", Node: "worker-a", State: "Draining", Message: "the runner does not answer"},
	}
	return lt
}

func TestCountShards(t *testing.T) {
	more := running()
	more.Spec.Runner.Shards = 3
	over := ended()
	over.Spec.Runner.Shards = 3
	unknown := running()
	unknown.Status.Shards = nil
	for name, tc := range map[string]struct {
		lt        *v1alpha1.LoadTest
		want      string
		unsettled bool
	}{
		"settled":               {running(), "2 of 2 ready", false},
		"all at once":           {scaled(), "2 of 4 ready, 1 joining, 1 leaving, 1 left, 1 lost", true},
		"not seen yet":          {more, "2 of 2 ready; the spec has 3", true},
		"changed after its end": {over, "2 of 2 ready", false},
		"nothing known":         {unknown, "0 of 0 ready", false},
	} {
		n := countShards(tc.lt)
		if got := n.String(); got != tc.want || n.unsettled() != tc.unsettled {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, n.unsettled(), tc.want, tc.unsettled)
		}
	}
}

// What status has not, the report has; of a shard that came back it is about the newest runner.
func TestHealth(t *testing.T) {
	m := Frame{Report: &rv.Report{Shards: []rv.ShardResult{
		{Shard: 1, LagP99Microseconds: 5}, {Shard: 1, Joined: 2000, LagP99Microseconds: 180, ThrottledMicroseconds: 4000},
	}}}
	for _, tc := range []struct {
		r              v1alpha1.RunnerStatus
		lag, throttled string
	}{
		{v1alpha1.RunnerStatus{Shard: 1}, "180us", "4ms"},
		{v1alpha1.RunnerStatus{Shard: 1, LagP99Microseconds: 7}, "7us", "0us"},
		{v1alpha1.RunnerStatus{Shard: 2}, "-", "-"},
	} {
		if lag, throttled := m.health(&tc.r); lag != tc.lag || throttled != tc.throttled {
			t.Errorf("%+v: %s, %s", tc.r, lag, throttled)
		}
	}
}

func TestParseShards(t *testing.T) {
	for text, want := range map[string]int32{"1": 1, "256": 256, "0": 0, "257": 0, "-1": 0, "+10%": 0, "": 0, "2.5": 0} {
		got, err := ParseShards(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestScale(t *testing.T) {
	fresh := running()
	fresh.Status, fresh.Spec.Runner = v1alpha1.LoadTestStatus{}, v1alpha1.Runner{}
	byRequests := scaled()
	byRequests.Spec.Rates[1] = v1alpha1.Rate{Name: "all", ClosedLoop: &v1alpha1.ClosedLoop{}, Requests: ptr(int64(5))}
	notYet := byRequests.DeepCopy()
	notYet.Status = v1alpha1.LoadTestStatus{}
	for _, tc := range []struct {
		name        string
		lt          *v1alpha1.LoadTest
		n           int32
		want, wrong string
	}{
		{"up", scaled(), 6, "pcf: 4 -> 6 shards; new shards get a share of the load when they are ready", ""},
		{"down", scaled(), 1, "pcf: 4 -> 1 shards; removed shards wait for their responses, and their counters are kept", ""},
		{"before the start, the default", fresh, 3, "pcf: 1 -> 3 shards", ""},
		{"the same", scaled(), 4, "spec.runner.shards of pcf is already 4", ""},
		{"ended", ended(), 4, "", "pcf has already ended: Completed"},
		{"bounded by requests", byRequests, 5, "", "stage all is a closed loop with a number of requests, which the operator distributes at the start: pcf keeps its 4 shards"},
		{"bounded by requests, before the start", notYet, 5, "pcf: 4 -> 5 shards", ""},
	} {
		c := with(tc.lt.DeepCopy())
		got, err := c.Scale(t.Context(), "pcf", tc.n)
		lt, getErr := c.Get(t.Context(), "pcf")
		if getErr != nil {
			t.Fatal(getErr)
		}
		if tc.wrong != "" {
			if err == nil || err.Error() != tc.wrong || lt.Spec.Runner.Shards != tc.lt.Spec.Runner.Shards {
				t.Errorf("%s: %v, want %s", tc.name, err, tc.wrong)
			}
			continue
		}
		if err != nil || got != tc.want || lt.Spec.Runner.Shards != tc.n {
			t.Errorf("%s: %q, %v, %d shards; want %q", tc.name, got, err, lt.Spec.Runner.Shards, tc.want)
		}
	}
	if _, err := with().Scale(t.Context(), "pcf", 2); err == nil || !strings.Contains(err.Error(), `"pcf" not found`) {
		t.Errorf("without a test: %v", err)
	}
}
