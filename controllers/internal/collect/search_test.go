package collect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/load/search"
)

// search makes the run look for a rate from 1000/s on. A target that is asked for more than its knee answers none of the requests of that
// stage with success.
func (f *fleet) search(knee int64) {
	const settle, lasts = 2 * time.Second, 10 * time.Second
	f.plan.Search = &runnerv1alpha1.Search{Start: 1000, Min: 1, Max: 1_000_000, Precision: 0.03, MaxProbes: 20, Settle: settle, Duration: lasts, FirstStage: 1}
	f.plan.Thresholds = []runnerv1alpha1.Threshold{{Name: "clean", Metric: runnerv1alpha1.MetricErrorRate, Max: "1%"}}
	f.plan.Rates[0].WarmUp, f.plan.Rates[0].Duration = true, 5*time.Second
	for i := range 20 {
		f.plan.Rates = append(f.plan.Rates,
			runnerv1alpha1.Rate{Name: fmt.Sprint("settle-", i+1), Count: 1000, Period: time.Second, Duration: settle, WarmUp: true, Hold: true},
			runnerv1alpha1.Rate{Name: fmt.Sprint("probe-", i+1), Count: 1000, Period: time.Second, Duration: lasts})
	}
	f.plan.Rates = append(f.plan.Rates, runnerv1alpha1.Rate{Name: "after-probes", Count: 1, Period: time.Second, Duration: time.Second, Hold: true})
	f.sharing.Store(int64(len(f.runners)))
	for _, r := range f.runners {
		r.Shape(func(s *runnerv1alpha1.Snapshot) {
			for i := range s.Stages {
				c := &s.Stages[i]
				if f.plan.Rates[i].WarmUp || (c.Sent-1)*f.sharing.Load() <= knee*int64(lasts/time.Second) { // the shares differ by one at most
					continue
				}
				s.Counters.Succeeded, s.Counters.FailedChecks = s.Counters.Succeeded-c.Sent, s.Counters.FailedChecks+c.Sent
				s.Steps[0].Succeeded, s.Steps[0].FailedChecks = s.Steps[0].Succeeded-c.Sent, s.Steps[0].FailedChecks+c.Sent
			}
		})
	}
}

// searched waits for the end of the search and returns its result.
func (f *fleet) searched() runnerv1alpha1.SearchResult {
	f.t.Helper()
	for range 60 {
		if f.wait(10 * time.Second).Over() {
			break
		}
	}
	return search.Replay(*f.plan.Search, f.stored.Search.Probes).Result(f.stored.Search.Probes)
}

func (f *fleet) outcomes() (out []string) {
	for _, p := range f.stored.Search.Probes {
		out = append(out, string(p.Outcome))
	}
	return out
}

func (f *fleet) wantKnee(knee int64) runnerv1alpha1.SearchResult {
	f.t.Helper()
	r := f.searched()
	if r.Outcome != runnerv1alpha1.SearchFound || r.Highest > knee || r.Lowest <= knee || float64(r.Lowest) > 1.03*float64(r.Highest)+1 {
		f.t.Errorf("%s: %s; want the knee at %d", r.Outcome, r.Message, knee)
	}
	for i, p := range r.Probes {
		if p.Outcome != runnerv1alpha1.ProbeInvalid && (p.Sent < 10*p.Load-3 || p.Sent > 10*p.Load+3) {
			f.t.Errorf("probe %d sent %d at %d/s, want 10 s of it", i+1, p.Sent, p.Load)
		}
	}
	for i, r := range f.runners {
		if s := r.Stopped(); s == nil || s.Reason != runnerv1alpha1.StopSearched {
			f.t.Errorf("runner %d was stopped with %+v", i, s)
		}
	}
	return r
}

func TestSearch(t *testing.T) {
	for _, knee := range []int64{20, 777, 5000, 60_000} {
		t.Run(fmt.Sprint(knee), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, f *fleet) {
				f.search(knee)
				f.run()
				if r := f.wantKnee(knee); len(r.Probes) > 14 {
					t.Errorf("%d probes: %v", len(r.Probes), f.outcomes())
				}
			})
		})
	}
}

// An operator that takes over during a probe has no snapshots of its begin, so it repeats the probe. Between two probes it continues.
func TestSearchTakenOver(t *testing.T) {
	for _, tt := range []struct {
		name    string
		after   time.Duration
		invalid int
	}{
		{"before the first probe", 3 * time.Second, 0},
		{"in the first probe", 12 * time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, f *fleet) {
				f.search(5000)
				f.run()
				f.wait(tt.after)
				f.operator()
				r := f.wantKnee(5000)
				if n := strings.Count(fmt.Sprint(f.outcomes()), "Invalid"); n != tt.invalid {
					t.Errorf("%d of %d probes were invalid, want %d: %+v", n, len(r.Probes), tt.invalid, r.Probes)
				}
			})
		})
	}
}

// Changes by users do not change the load of a probe, and none of them begins one.
func TestSearchWithChanges(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(f *fleet)
		want   []string // of the first probes
	}{
		{"suspended and resumed in a probe", func(f *fleet) {
			f.wait(12 * time.Second)
			f.stored.Live = record.Live{Generation: 2, Rates: record.RatesOf(f.plan.Rates), Suspended: true}
			f.wait(30 * time.Second)
			f.stored.Live = record.Live{Generation: 3, Rates: record.RatesOf(f.plan.Rates)}
		}, []string{"Invalid", "Held", "Held", "Failed"}},
		{"suspended at its end and resumed", func(f *fleet) {
			for f.stored.Search.Begun == 0 {
				f.wait(50 * time.Millisecond)
			}
			f.wait(12200 * time.Millisecond) // the change takes effect after the end of the probe
			f.stored.Live = record.Live{Generation: 2, Rates: record.RatesOf(f.plan.Rates), Suspended: true}
			f.wait(30 * time.Second)
			if len(f.stored.Search.Probes) != 1 || f.stored.Search.Begun != 0 {
				f.t.Errorf("probes of a suspended run: %+v", f.stored.Search)
			}
			f.stored.Live = record.Live{Generation: 3, Rates: record.RatesOf(f.plan.Rates)}
		}, []string{"Held", "Held", "Failed"}},
		{"another rate of the warm-up", func(f *fleet) {
			f.wait(12 * time.Second)
			rates := append([]runnerv1alpha1.Rate(nil), f.plan.Rates...)
			rates[0].Count = 7
			f.stored.Live = record.Live{Generation: 2, Rates: record.RatesOf(rates)}
		}, []string{"Invalid", "Held", "Held", "Failed"}},
		{"a shard leaves", func(f *fleet) {
			f.wait(12 * time.Second)
			f.desired.Shards, f.desired.ShardsRevision = 2, 1
			f.sharing.Store(2)
		}, []string{"Invalid", "Held", "Held", "Failed"}},
		{"a shard is lost and the others take its share", func(f *fleet) {
			f.desired.Policy = v1alpha1.ShardLostRebalance
			f.wait(12 * time.Second)
			pod := f.desired.Pods[1]
			pod.Ended, pod.Why = true, "OOMKilled"
			f.desired.Pods[1] = pod
			f.runners[1].Silence()
			f.sharing.Store(2)
			f.wait(2 * time.Second)
			f.desired.Ended = []shards.Recorded{{Shard: &record.Shard{Index: 1, Pod: pod.UID, Loss: &record.Loss{Message: "OOMKilled"}, Member: true}}}
		}, []string{"Invalid", "Held", "Held", "Failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, f *fleet) {
				f.search(5000)
				f.run()
				tt.change(f)
				r := f.searched()
				if diff := cmp.Diff(tt.want, f.outcomes()[:len(tt.want)]); diff != "" {
					t.Errorf("probes (-want +got):\n%s%+v", diff, r.Probes)
				}
				if r.Outcome != runnerv1alpha1.SearchFound {
					t.Errorf("%s: %s", r.Outcome, r.Message)
				}
			})
		})
	}
}
