//go:build prometheus

package prometheus

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/test/prometheus/lab"
)

// attributesOf joins the values of attributes, without the name of the test.
func attributesOf(p *metricsv1.NumberDataPoint) string {
	var out []string
	for _, a := range p.GetAttributes() {
		if a.GetKey() != "loadtest" {
			out = append(out, a.GetValue().GetStringValue())
		}
	}
	return strings.Join(out, " ")
}

// seen is what a collector has of the shards of a run.
type seen struct {
	// starts and times of the requests, by shard.
	starts, times map[string][]uint64
	// last has the last values of the counters of requests, by shard and attributes, and lastTimes the last number of
	// response times, by shard.
	last      map[string]map[string]int64
	lastTimes map[string]uint64
}

// read returns what the collector has, and checks that no counter decreases.
func read(t *testing.T, c *lab.Collector) seen {
	t.Helper()
	out := seen{map[string][]uint64{}, map[string][]uint64{}, map[string]map[string]int64{}, map[string]uint64{}}
	for _, r := range c.Resources() {
		shard, stage := "", ""
		for _, a := range r.GetResource().GetAttributes() {
			switch a.GetKey() {
			case "h2surge.shard":
				shard = a.GetValue().GetStringValue()
			case "h2surge.stage":
				stage = a.GetValue().GetStringValue()
			}
		}
		if out.last[shard] == nil {
			out.last[shard] = map[string]int64{}
		}
		for _, m := range r.GetScopeMetrics()[0].GetMetrics() {
			switch m.GetName() {
			case "h2surge.response_time":
				out.lastTimes[shard] = m.GetExponentialHistogram().GetDataPoints()[0].GetCount()
			case "h2surge.requests":
				first := m.GetSum().GetDataPoints()[0]
				out.starts[shard] = append(out.starts[shard], first.GetStartTimeUnixNano())
				out.times[shard] = append(out.times[shard], first.GetTimeUnixNano())
				fallthrough
			case "h2surge.stage.requests":
				for _, p := range m.GetSum().GetDataPoints() {
					key := strings.TrimSpace(stage + " " + attributesOf(p))
					if was := out.last[shard][key]; p.GetAsInt() < was {
						t.Errorf("shard %s: %s decreases from %d to %d", shard, key, was, p.GetAsInt())
					}
					out.last[shard][key] = p.GetAsInt()
				}
			}
		}
	}
	return out
}

// sums adds up the last values of all shards, except zeros.
func (s *seen) sums() map[string]int64 {
	out := map[string]int64{}
	for _, of := range s.last {
		for key, n := range of {
			if n != 0 {
				out[key] += n
			}
		}
	}
	return out
}

// ofReport are the sums that a report has.
func ofReport(r *rv.Report) map[string]int64 {
	out := map[string]int64{"dropped": r.Requests.Dropped}
	for i := range r.Steps {
		for _, n := range r.Steps[i].Ends() {
			out[r.Steps[i].Chain+" "+r.Steps[i].Step+" "+n.Words("_")] = *n.N
		}
	}
	for i := range r.Stages {
		if s, f := &r.Stages[i], r.Stages[i].Figures; f != nil {
			of := s.Name + " " + s.Name + " "
			out[of+"succeeded"], out[of+"failed"] = f.Succeeded, s.Sent-f.InFlightAtEnd-f.Succeeded
			out[of+"dropped"] = s.Dropped
		}
	}
	maps.DeleteFunc(out, func(_ string, n int64) bool { return n == 0 })
	return out
}

// TestCollector runs two shards with a real collector, which is away for ten seconds in between. What it has at the end
// adds up to the counts of the report.
func TestCollector(t *testing.T) {
	c := lab.StartCollector(t)
	x := prepare(t, func(s *v1alpha1.LoadTestSpec) {
		s.Targets = append(s.Targets, v1alpha1.Target{Name: "collector", URL: c.URL()})
		s.OTLP = &v1alpha1.OTLP{Target: "collector"}
		s.Rates[1].Duration = &v1alpha1.Duration{Duration: 25 * time.Second}
	})
	for _, r := range x.runners {
		must(t, r.Start(rv.Start{At: rv.Clock() + int64(50*time.Millisecond)}))
	}
	lab.Await(t, "figures of both shards", func() bool { return len(read(t, c).starts) == 2 })
	c.Stop()
	time.Sleep(10 * time.Second) // the time in which the receiver is away
	c.Start()
	for _, r := range x.runners {
		<-r.Done()
		must(t, r.Close()) // it returns when the last figures were sent
	}
	r := x.report(t)
	must(t, build.Check(r))
	got := read(t, c)
	if diff := cmp.Diff(ofReport(r), got.sums()); diff != "" || r.Requests.Sent == 0 {
		t.Errorf("%d requests sent (-report +collector):\n%s", r.Requests.Sent, diff)
	}
	var responses uint64
	for _, n := range got.lastTimes {
		responses += n
	}
	if want := r.ResponseTime.Count + r.ResponseTime.Unanswered; responses != uint64(want) {
		t.Errorf("the collector has %d response times, the report %d", responses, want)
	}
	for shard, starts := range got.starts {
		if slices.Min(starts) != slices.Max(starts) || len(starts) < 2 || !slices.IsSorted(got.times[shard]) {
			t.Errorf("shard %s: starts %v, times %v", shard, starts, got.times[shard])
		}
	}
}
