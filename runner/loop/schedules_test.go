package loop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/slots"
)

// twoChains is a plan of the chains a and b. The stages are of the mix, or of b.
func twoChains(rates ...rv.Rate) *rv.Plan {
	p := gets(rates...)
	p.Chains[0].Steps = []rv.Step{step("a")}
	p.Chains = append(p.Chains, rv.Chain{Name: "b", Weight: 1, Steps: []rv.Step{step("b")}})
	return p
}

// ofB makes a stage one of chain b.
func ofB(r rv.Rate) rv.Rate {
	r.Chain = 2
	return r
}

func TestOwnRates(t *testing.T) {
	const ms = time.Millisecond
	after := func(d time.Duration, rates ...rv.Rate) *rv.Plan {
		p := twoChains(rates...)
		p.Chains[1].StartAfter = d
		return p
	}
	onlyB := twoChains(ofB(perSecond(50, 60*ms)))
	onlyB.Chains = onlyB.Chains[1:]
	onlyB.Rates[0].Chain = 1
	session := twoChains(perSecond(100, 30*ms), ofB(chainsPerSecond(50, 40*ms)))
	session.Chains[1].Steps = append(session.Chains[1].Steps, step("c", thinks(5*ms)))
	bounded := twoChains(perSecond(100, 30*ms), ofB(perSecond(500, 10*ms)))
	bounded.Chains[1].MaxInFlight = 2
	for _, tt := range []struct {
		name    string
		plan    *rv.Plan
		changes map[time.Duration]slots.Change
		want    []string
		spans   string
	}{
		{
			name:  "side by side, the load ends with the last",
			plan:  twoChains(perSecond(100, 30*ms), ofB(perSecond(50, 40*ms)), ofB(perSecond(200, 10*ms))),
			want:  []string{"0 /a", "0 /b", "10 /a", "20 /a", "20 /b", "40 /b", "45 /b"},
			spans: "0-30 0-40 40-50 load 50",
		},
		{
			name:  "the mix is longer",
			plan:  twoChains(perSecond(100, 50*ms), ofB(perSecond(50, 20*ms))),
			want:  []string{"0 /a", "0 /b", "10 /a", "20 /a", "30 /a", "40 /a"},
			spans: "0-50 0-20 load 50",
		},
		{
			name:  "startAfter",
			plan:  after(15*ms, perSecond(100, 30*ms), ofB(perSecond(50, 40*ms))),
			want:  []string{"0 /a", "10 /a", "15 /b", "20 /a", "35 /b"},
			spans: "0-30 15-55 load 55",
		},
		{name: "without a mix", plan: onlyB, want: []string{"0 /b", "20 /b", "40 /b"}, spans: "0-60 load 60"},
		{
			name:  "sessions beside requests",
			plan:  session,
			want:  []string{"0 /a", "0 /b", "6 /c", "10 /a", "20 /a", "20 /b", "26 /c"},
			spans: "0-30 0-40 load 40",
		},
		{
			name:  "a pause delays all, also startAfter",
			plan:  after(15*ms, perSecond(100, 30*ms), ofB(perSecond(50, 40*ms))),
			want:  []string{"0 /a", "30 /a", "35 /b", "40 /a", "55 /b"},
			spans: "0-50 35-75 load 75",
			changes: map[time.Duration]slots.Change{
				5 * ms:  {Suspended: true},
				25 * ms: {},
			},
		},
		{
			name:    "a rate of one schedule changes",
			plan:    twoChains(perSecond(100, 30*ms), ofB(perSecond(50, 40*ms))),
			want:    []string{"0 /a", "0 /b", "10 /a", "15 /b", "20 /a", "25 /b", "35 /b"},
			spans:   "0-30 0-40 load 40",
			changes: map[time.Duration]slots.Change{15 * ms: {Rates: []rv.Rate{perSecond(100, 30*ms), ofB(perSecond(100, 40*ms))}}},
		},
		{
			name:  "maxInFlight drops slots of its own schedule only",
			plan:  bounded,
			want:  []string{"0 /a", "0 /b", "2 /b", "8 /b", "10 /a", "20 /a"},
			spans: "0-30 0-10 load 30",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.plan, func(r *simRequest) reply {
				if tt.plan.Chains[len(tt.plan.Chains)-1].MaxInFlight > 0 && r.Fields[":path"] == "/b" {
					return reply{Status: 200, After: 7 * ms}
				}
				return reply{Status: 200, After: ms}
			})
			for at, c := range tt.changes {
				if c.Rates == nil {
					c.Rates = tt.plan.Rates
				}
				b.announce(c, at, 0)
			}
			if len(b.onStart) == 2 { // the order of a map
				b.onStart = nil
				b.announce(slots.Change{Rates: tt.plan.Rates, Suspended: true}, 5*ms, 0)
				b.announce(slots.Change{Rates: tt.plan.Rates}, 25*ms, 0)
			}
			b.run()
			if diff := cmp.Diff(tt.want, b.trace()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			spans := ""
			for _, s := range b.w.Read().Stages {
				spans += fmt.Sprintf("%d-%d ", s.From/1e6, s.To/1e6)
			}
			if spans += fmt.Sprintf("load %d", (b.w.Read().EndedAt-b.startAt)/1e6); spans != tt.spans {
				t.Errorf("stages %s, want %s", spans, tt.spans)
			}
		})
	}
}

// TestOwnRateBesideAClosedLoop: requests at a rate take the next free stream, also if a closed loop uses all streams.
func TestOwnRateBesideAClosedLoop(t *testing.T) {
	p := twoChains(rv.Rate{Name: "fast", ClosedLoop: true, Duration: time.Second}, ofB(perSecond(100, time.Second)))
	p.Targets[0].MaxConcurrentStreams = 4
	b := newBench(t, p, ok(time.Millisecond))
	b.run()
	if n := b.w.rec.Steps[1].Succeeded; n != 100 {
		t.Errorf("%d requests of the rate, want 100", n)
	}
	if h := &b.w.rec.Steps[1].ResponseTime; h.Max() > 2000 {
		t.Errorf("the rate waited up to %d us", h.Max())
	}
	if n := b.w.rec.Steps[0].Succeeded; n < 3800 {
		t.Errorf("%d requests of the closed loop", n)
	}
}

// TestLeaseOfSchedules: the slots of all schedules that are due in a pause are dropped.
func TestLeaseOfSchedules(t *testing.T) {
	const ms = time.Millisecond
	p := twoChains(perSecond(100, 50*ms), ofB(perSecond(50, 20*ms)))
	b := newBench(t, p, ok(ms))
	b.w.cfg.Lease = &slots.Lease{}
	b.onStart = append(b.onStart, func() {
		b.w.cfg.Lease.Set(b.startAt + int64(5*ms))
		b.in(time.Duration(b.startAt+int64(35*ms)-b.clock), func() {
			b.w.cfg.Lease.Renew(int64(time.Hour), b.clock)
			b.w.Do(func(*Worker) {})
		})
	})
	b.run()
	if diff := cmp.Diff([]string{"0 /a", "0 /b", "40 /a"}, b.trace()); diff != "" {
		t.Error(diff)
	}
	if got := fmt.Sprint(b.w.rec.Stages[0].Dropped, b.w.rec.Stages[1].Dropped); got != "3 0" {
		t.Errorf("dropped by stage: %s, want 3 0", got)
	}
}

// TestRandomSchedules: all shards together send each slot of each schedule once, and no number is drawn twice, whatever
// rates, pauses and members change.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 28))
			rate := func(chain int) rv.Rate {
				out := perSecond(20+r.Int64N(700), time.Duration(100+r.IntN(500))*time.Millisecond)
				out.Chain, out.ChainsPerSecond = chain, r.IntN(3) == 0
				return out
			}
			var rates []rv.Rate
			for chain := range 1 + r.IntN(4) {
				for range 1 + r.IntN(3) {
					if chain == 0 {
						rates = append(rates, rate(0))
					} else {
						rates = append(rates, rate(chain+1))
					}
				}
			}
			f := newFleet(t, []int{0, 1}, randomEvents(r, rates), rates...)
			f.plan.Variables[0].Scope = rv.ScopeStep
			for i := range f.plan.Chains {
				s := f.plan.Chains[i].Steps[0]
				s.Think = &rv.Think{Fixed: time.Duration(1+r.IntN(40)) * time.Millisecond}
				f.plan.Chains[i].Steps = []rv.Step{s, s, s}[:1+r.IntN(3)]
			}
			f.run()
			one := f.alone()
			if diff := cmp.Diff(one.sent, f.sent); diff != "" {
				t.Errorf("slots (-of one shard +of all):\n%s", diff)
			}
			if again := f.repeatedNumber(); again != "" {
				t.Error(again)
			}
		})
	}
}

// randomEvents are changes of rates, pauses and members.
func randomEvents(r *rand.Rand, rates []rv.Rate) (out []event) {
	at := time.Duration(0)
	for range 1 + r.IntN(6) {
		at += time.Duration(20+r.IntN(150))*time.Millisecond + time.Duration(r.IntN(1000))
		e := event{at: at, suspended: r.IntN(5) == 0, rates: append([]rv.Rate(nil), rates...)}
		for i := range e.rates {
			e.rates[i].Count = 20 + r.Int64N(700)
		}
		if r.IntN(2) == 0 {
			e.members = slices.Sorted(slices.Values(r.Perm(4)[:1+r.IntN(4)]))
		}
		out = append(out, e)
	}
	return append(out, event{at: at + 50*time.Millisecond, rates: rates})
}
