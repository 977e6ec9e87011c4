package loop

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/slots"
)

// atMost is a closed loop of n requests in flight.
func atMost(n int64, duration time.Duration, requests int64) rv.Rate {
	return rv.Rate{Name: "r", ClosedLoop: true, Count: n, Duration: duration, Requests: requests}
}

// inFlight returns the highest number of requests that the peer had at a time, in each interval from the start. Each took
// the same time to answer. Requests from before an interval do not count.
func (b *bench) inFlight(answer, interval time.Duration) (out []int64) {
	for k, last := range b.served {
		i := int((last.At - time.Duration(b.startAt)) / interval)
		for len(out) <= i {
			out = append(out, 0)
		}
		n := int64(0)
		for _, r := range b.served[:k+1] {
			if r.At > last.At-answer && r.At-time.Duration(b.startAt) >= time.Duration(i)*interval {
				n++
			}
		}
		out[i] = max(out[i], n)
	}
	return out
}

// TestConcurrencyIsExact runs random closed loops over random shards and workers. All workers together have exactly as many
// requests in flight as the stage, and send exactly its requests.
func TestConcurrencyIsExact(t *testing.T) {
	const answer = 10 * time.Millisecond
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		shards, n := 1+r.IntN(4), 1+r.Int64N(20)
		rate := atMost(n, 100*time.Millisecond, 0)
		if r.IntN(2) == 0 {
			rate = atMost(n, 0, n+r.Int64N(200))
		}
		p := gets(rate)
		p.Targets[0].Connections = 12
		parts, err := split.Split(p, shards)
		if err != nil {
			t.Fatal(err)
		}
		var most, sent int64
		name := fmt.Sprintf("%+v over %d shards", rate, shards)
		for i := range parts {
			for _, part := range split.Workers(&parts[i], 1+r.IntN(3)) {
				b := newBenchOf(t, p, part, ok(answer))
				sent += b.run().Sent
				if f := b.inFlight(answer, time.Hour); len(f) > 0 {
					most += f[0]
				}
			}
		}
		if most != n {
			t.Errorf("%s: %d requests were in flight", name, most)
		}
		if rate.Requests > 0 && sent != rate.Requests || rate.Duration > 0 && sent != 10*n {
			t.Errorf("%s: %d requests were sent", name, sent)
		}
	}
}

func TestConcurrencyChanges(t *testing.T) {
	const ms, answer = time.Millisecond, 10 * time.Millisecond
	limit := func(n int64) rv.Rate { return atMost(n, 400*ms, 0) }
	whole := func(of int64, residues ...int64) *rv.Share {
		s := split.Whole(gets(limit(1)))
		s.Slots = rv.Slots{Of: of, Residues: residues}
		return &s
	}
	for _, tt := range []struct {
		name    string
		changes []slots.Change
		want    []int64 // in each 100 ms
	}{
		{"none", nil, []int64{6, 6, 6, 6}},
		{"higher", []slots.Change{{At: int64(100 * ms), Rates: []rv.Rate{limit(9)}}}, []int64{6, 9, 9, 9}},
		{"lower: requests in flight finish", []slots.Change{{At: int64(195 * ms), Rates: []rv.Rate{limit(2)}}}, []int64{6, 6, 2, 2}},
		{"suspended", []slots.Change{{At: int64(95 * ms), Rates: []rv.Rate{limit(6)}, Suspended: true}, {At: int64(200 * ms), Rates: []rv.Rate{limit(4)}}}, []int64{6, 0, 4, 4, 4, 4}},
		{"another shard joins", []slots.Change{{At: int64(100 * ms), Rates: []rv.Rate{limit(6)}, Share: whole(4, 3)}}, []int64{6, 1, 1, 1}},
		{"no share is left", []slots.Change{{At: int64(100 * ms), Rates: []rv.Rate{limit(2)}, Share: whole(4, 3)}}, []int64{6}},
		{"every stream", []slots.Change{{At: int64(100 * ms), Rates: []rv.Rate{limit(0)}}, {At: int64(200 * ms), Rates: []rv.Rate{limit(3)}}}, []int64{6, 100, 3, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, gets(limit(6)), ok(answer))
			for _, c := range tt.changes {
				b.announce(c, time.Duration(c.At), 0)
			}
			b.run()
			if diff := cmp.Diff(tt.want, b.inFlight(answer, 100*ms)); diff != "" {
				t.Errorf("in flight (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConcurrencyRamps: the shares of all workers follow the ramp at each instant.
func TestConcurrencyRamps(t *testing.T) {
	const ms, answer = time.Millisecond, 10 * time.Millisecond
	for _, tt := range []struct {
		from, to int64
		want     []int64 // the highest number in each 100 ms
	}{
		{1, 11, []int64{2, 4, 6, 8, 10}},
		{0, 5, []int64{0, 1, 2, 3, 4}},
		{10, 1, []int64{10, 8, 6, 4, 2}},
	} {
		t.Run(fmt.Sprintf("from %d to %d", tt.from, tt.to), func(t *testing.T) {
			rate := atMost(tt.to, 500*ms, 0)
			rate.RampFrom = &tt.from
			p := gets(rate)
			p.Targets[0].Connections = 6
			parts, err := split.Split(p, 3)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int64, 5)
			for i := range parts {
				for _, part := range split.Workers(&parts[i], 1+i%2) {
					b := newBenchOf(t, p, part, ok(answer))
					b.run()
					for k, n := range b.inFlight(answer, 100*ms) {
						got[k] += n
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("in flight (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConcurrencyOfTwoTargets: the weights of chains decide which target gets the requests in flight, and a request waits
// for a stream of its target.
func TestConcurrencyOfTwoTargets(t *testing.T) {
	p := twoChains(atMost(4, time.Second, 0))
	p.Targets = append(p.Targets, p.Targets[0])
	p.Targets[1].Name = "second"
	p.Chains[1].Target, p.Chains[1].Steps[0].Target = 1, 1
	b := newBench(t, p, ok(10*time.Millisecond))
	got := b.run()
	first, second := b.w.rec.Steps[0].Sent, b.w.rec.Steps[1].Sent
	if got.Sent != 400 || first != 200 || second != 200 {
		t.Errorf("got %+v: %d and %d", got, first, second)
	}
}

// TestConcurrencyBesideARate: a limit counts the requests of its own schedule only.
func TestConcurrencyBesideARate(t *testing.T) {
	p := twoChains(atMost(3, time.Second, 0), ofB(perSecond(100, time.Second)))
	b := newBench(t, p, ok(50*time.Millisecond))
	b.run()
	if a, c := b.w.rec.Steps[0].Succeeded, b.w.rec.Steps[1].Succeeded; a != 60 || c != 100 {
		t.Errorf("%d requests of the closed loop and %d of the rate, want 60 and 100", a, c)
	}
}

// TestConcurrencyWithThinkTimes: a step that thinks is not in flight, so another instance starts.
func TestConcurrencyWithThinkTimes(t *testing.T) {
	p := gets(atMost(2, 100*time.Millisecond, 0))
	second := p.Chains[0].Steps[0]
	second.Think = &rv.Think{Fixed: 30 * time.Millisecond}
	p.Chains[0].Steps = append(p.Chains[0].Steps, second)
	b := newBench(t, p, ok(10*time.Millisecond))
	b.run()
	if f := b.inFlight(10*time.Millisecond, time.Hour); f[0] != 2 || len(b.served) != 20 {
		t.Errorf("%d requests in flight, %d sent; want 2 and 20", f[0], len(b.served))
	}
}
