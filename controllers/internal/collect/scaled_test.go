package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// searchToEndOfProbe runs a search until a change takes effect after the end of its first probe.
func (f *fleet) searchToEndOfProbe() {
	f.search(5000)
	f.run()
	for f.stored.Search.Begun == 0 {
		f.wait(50 * time.Millisecond)
	}
	f.wait(12200 * time.Millisecond)
}

// TestSearchScaledBetweenProbes: a shard that leaves while the runners wait does not make the next probe invalid.
func TestSearchScaledBetweenProbes(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.searchToEndOfProbe()
		f.stored.Live = record.Live{Generation: 2, Rates: record.RatesOf(f.plan.Rates), Suspended: true}
		f.wait(30 * time.Second)
		f.desired.Shards, f.desired.ShardsRevision = 2, 1
		f.sharing.Store(2)
		f.wait(30 * time.Second)
		f.stored.Live = record.Live{Generation: 3, Rates: record.RatesOf(f.plan.Rates)}
		if r := f.searched(); r.Outcome != runnerv1alpha1.SearchFound {
			t.Errorf("%s: %s", r.Outcome, r.Message)
		}
		if diff := cmp.Diff([]string{"Held", "Held", "Failed"}, f.outcomes()[:3]); diff != "" {
			t.Errorf("probes (-want +got):\n%s", diff)
		}
	})
}

// TestSearchScaledAfterAProbe: a shard that leaves before the end of a probe is stored does not make it invalid.
func TestSearchScaledAfterAProbe(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.searchToEndOfProbe()
		f.desired.Shards, f.desired.ShardsRevision = 2, 1
		f.sharing.Store(2)
		if r := f.searched(); r.Outcome != runnerv1alpha1.SearchFound {
			t.Errorf("%s: %s", r.Outcome, r.Message)
		}
		if diff := cmp.Diff([]string{"Held", "Held"}, f.outcomes()[:2]); diff != "" {
			t.Errorf("probes (-want +got):\n%s", diff)
		}
	})
}
