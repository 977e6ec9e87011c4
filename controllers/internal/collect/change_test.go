package collect

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/load/split"
)

// patch is what a user's edit comes to: the rate of the only stage, and whether it is suspended.
func (f *fleet) patch(generation, rate int64, suspended bool) {
	rates := append([]runnerv1alpha1.Rate(nil), f.plan.Rates...)
	rates[0].Count = rate
	f.stored.Live = record.Live{Generation: generation, Rates: record.RatesOf(rates), Suspended: suspended}
	f.view()
}

func (f *fleet) sent(v *shards.View) (n int64) {
	for i := range v.Shards {
		n += v.Shards[i].Snapshot.Counters.Sent
	}
	return n
}

// wantOneInstant: a revision was in force from the same instant on, on every runner.
func (f *fleet) wantOneInstant(revision int64) time.Time {
	f.t.Helper()
	at := f.runners[0].Instants()[revision]
	for i, r := range f.runners {
		// The fake network is as slow both ways, so that the offsets are exact.
		if got := r.Instants()[revision]; got.IsZero() || !got.Equal(at) {
			f.t.Errorf("revision %d is in force on runner %d at %v, on the first at %v", revision, i, got, at)
		}
	}
	return at
}

// applied is a change that all runners of the fleet have.
func (f *fleet) applied(generation int64, at time.Time) shards.Applied {
	return shards.Applied{Generation: generation, Members: split.All(len(f.runners)), At: at, Since: at.Sub(f.runners[0].Begun())}
}

func TestChangeOfARate(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.patch(1, 1000, false)
		f.run()
		told := time.Now()
		f.patch(2, 3000, false)
		v := f.wait(time.Second)
		at := f.wantOneInstant(2)
		if d := at.Sub(told); d < 750*time.Millisecond || d > 2*time.Second {
			t.Errorf("it came into force after %v, want at least 750 ms and less than 2 s", d)
		}
		want := []shards.Applied{f.applied(2, at)}
		if diff := cmp.Diff(want, v.Applied); diff != "" || v.Generation != 2 {
			t.Errorf("revision %d, applied (-want +got):\n%s", v.Generation, diff)
		}
		v = f.wait(15 * time.Second)
		begun := f.runners[0].Begun()
		slots := 1000*at.Sub(begun).Seconds() + 3000*(10*time.Second-at.Sub(begun)).Seconds()
		if n := float64(f.sent(v)); n < slots-2 || n > slots+2 {
			t.Errorf("sent %.0f, want %.0f", n, slots)
		}
		for i, r := range f.runners {
			if diff := cmp.Diff([]string{"update", "start", "update"}, r.Calls()); diff != "" {
				t.Errorf("calls to runner %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestPause(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.run()
		f.patch(2, 1000, true)
		f.wait(time.Second)
		from := f.wantOneInstant(2)
		v := f.wait(time.Minute)
		if v.Rate != 0 || !every(v, func(s *shards.Shard) bool { return s.Snapshot.Suspended }) {
			t.Errorf("rate %.0f, states %v: want every runner suspended", v.Rate, states(v))
		}
		f.patch(3, 1000, false)
		f.wait(time.Second)
		until := f.wantOneInstant(3)
		v = f.wait(15 * time.Second)
		if n := f.sent(v); !every(v, (*shards.Shard).Final) || n < 9998 || n > 10_002 || len(losses(v)) != 0 {
			t.Errorf("states %v, sent %d, losses %v; want all done, 10000, none", states(v), n, losses(v))
		}
		for i := range v.Shards {
			if got := v.Shards[i].Snapshot.Stages[0].Paused; got != int64(until.Sub(from)) {
				t.Errorf("runner %d was paused for %v, want %v", i, time.Duration(got), until.Sub(from))
			}
		}
	})
}

// Whoever does not hear of a change in time gets the same instants later, in the same order.
func TestChangesThatOneHearsLate(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = time.Minute
		f.run()
		f.runners[1].Silence()
		f.patch(2, 3000, false)
		f.wait(time.Second)
		f.patch(3, 500, false)
		v := f.wait(10 * time.Second)
		if v.Generation != 1 || len(v.Applied) != 0 {
			t.Errorf("revision %d, applied %v; want 1, 3 and nothing", v.Generation, v.Applied)
		}
		f.runners[1].Wake()
		v = f.wait(2 * time.Second)
		first, second := f.wantOneInstant(2), f.wantOneInstant(3)
		if diff := cmp.Diff([]shards.Applied{f.applied(2, first), f.applied(3, second)}, v.Applied); diff != "" || v.Generation != 3 {
			t.Errorf("revision %d, applied (-want +got):\n%s", v.Generation, diff)
		}
		if len(losses(v)) != 0 {
			t.Errorf("losses %v", losses(v))
		}
	})
}

func TestTwoChangesShortlyAfterEachOther(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.run()
		f.patch(2, 3000, false)
		time.Sleep(time.Millisecond)
		f.patch(3, 500, false)
		f.patch(4, 200, false) // before the collector has looked
		v := f.wait(2 * time.Second)
		third := f.wantOneInstant(slices.Max(slices.Collect(maps.Keys(f.runners[0].Instants()))))
		if second := f.wantOneInstant(2); third.Sub(second) < 0 || third.Sub(second) > 100*time.Millisecond {
			t.Errorf("instants %v and %v", second, third)
		}
		if v.Generation != 4 || !cmp.Equal(v.Applied[len(v.Applied)-1], f.applied(4, third)) {
			t.Errorf("revision %d, applied %v", v.Generation, v.Applied)
		}
	})
}

// What is in force is read back from the runners: a successor tells nobody anew who has heard.
func TestTakeOverAfterAChange(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.run()
		f.patch(2, 3000, false)
		f.wait(time.Second)
		calls, at := f.runners[0].Calls(), f.wantOneInstant(2)
		f.operator()
		v := f.wait(2 * time.Second)
		if diff := cmp.Diff(calls, f.runners[0].Calls()); diff != "" {
			t.Errorf("the successor told a runner something anew (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff([]shards.Applied{f.applied(2, at)}, v.Applied); diff != "" || v.Generation != 2 {
			t.Errorf("generation %d, applied (-want +got):\n%s", v.Generation, diff)
		}
		f.patch(3, 500, false)
		f.wait(time.Second)
		if next := f.wantOneInstant(3); !next.After(at) {
			t.Errorf("revision 3 is in force at %v, revision 2 at %v", next, at)
		}
	})
}

func TestTakeOverInTheMiddleOfAChange(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.run()
		f.stop()
		// The predecessor stored the change, and reached one of three before it ended.
		s, _ := f.runners[1].Snapshot(t.Context())
		rates := append([]runnerv1alpha1.Rate(nil), f.plan.Rates...)
		rates[0].Count = 3000
		shares, err := split.Distribute(f.plan, split.All(3))
		if err != nil {
			t.Fatal(err)
		}
		u := runnerv1alpha1.Update{Revision: 2, Generation: 2, At: s.Clock - s.StartAt + int64(time.Second), Members: split.All(3), Rates: rates}
		f.stored.Append(record.Change{Revision: 2, Generation: 2, At: u.At, Members: u.Members, Rates: record.RatesOf(rates)})
		u.Share = shares[1]
		if err := f.runners[1].Update(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		f.operator()
		v := f.wait(time.Second)
		f.wantOneInstant(2)
		if v.Generation != 2 {
			t.Errorf("generation %d, want 2", v.Generation)
		}
	})
}

// A runner that cannot change what it does is told again, looked at, and not taken for lost.
func TestRefusedChange(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 5 * time.Minute
		f.run()
		f.runners[1].Refuse("rates[0]: only count and period may change")
		f.patch(2, 3000, false)
		first := f.view().Shards[1].Snapshot.Sequence
		v := f.wait(2 * time.Minute)
		if len(losses(v)) != 0 || v.Shards[1].Snapshot.Sequence < first+60 {
			t.Errorf("losses %v, %d looks", losses(v), v.Shards[1].Snapshot.Sequence-first)
		}
		if v.Generation != 1 || v.Shards[1].Trouble == "" {
			t.Errorf("revision %d, trouble %q", v.Generation, v.Shards[1].Trouble)
		}
	})
}

func TestJobOfTheSameNumberBeginsFromNothing(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fleet) {
		f.wait(2 * time.Second)
		f.desired.Job = "another"
		f.desired.Pods = map[int]shards.Pod{}
		if v := f.wait(time.Second); v.Shards[0].Snapshot != nil || v.Shards[0].Lost != nil {
			t.Errorf("shard %+v, want nothing known of it", v.Shards[0])
		}
	})
}
