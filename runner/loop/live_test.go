package loop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/slots"
)

// change announces a change at an offset from the start, late by so much.
func (b *bench) change(at, late time.Duration, suspended bool, rates ...rv.Rate) {
	b.onStart = append(b.onStart, func() {
		c := slots.Change{At: b.startAt + int64(at), Rates: rates, Suspended: suspended}
		b.in(time.Duration(c.At+int64(late)-b.clock), func() { b.w.Do(func(w *Worker) { w.Change(c) }) })
	})
}

// perHundred counts what the peer has seen in each 100 ms.
func (b *bench) perHundred() (out []int) {
	for _, r := range b.served {
		i := int((r.At - time.Duration(b.startAt)) / (100 * time.Millisecond))
		for len(out) <= i {
			out = append(out, 0)
		}
		out[i]++
	}
	return out
}

func TestChangesOfARun(t *testing.T) {
	const ms = time.Millisecond
	rate := func(n int64, change ...func(*rv.Rate)) rv.Rate {
		r := perSecond(n, time.Second)
		for _, f := range change {
			f(&r)
		}
		return r
	}
	requests := func(n int64) func(*rv.Rate) { return func(r *rv.Rate) { r.Requests = n } }
	type change struct {
		at, late  time.Duration
		suspended bool
		rates     []rv.Rate
	}
	for _, tt := range []struct {
		name    string
		rates   []rv.Rate
		changes []change
		want    []int // in each 100 ms
		end     time.Duration
		paused  time.Duration
	}{
		{"faster", []rv.Rate{rate(100)}, []change{{at: 500 * ms, rates: []rv.Rate{rate(300)}}},
			[]int{10, 10, 10, 10, 10, 30, 30, 30, 30, 30}, time.Second, 0},
		{"slower, late", []rv.Rate{rate(300)}, []change{{at: 500 * ms, late: 50 * ms, rates: []rv.Rate{rate(100)}}},
			// 15 were sent in the 50 ms; they count for what was due until 650 ms.
			[]int{30, 30, 30, 30, 30, 15, 5, 10, 10, 10}, time.Second, 0},
		{"faster, late", []rv.Rate{rate(100)}, []change{{at: 500 * ms, late: 50 * ms, rates: []rv.Rate{rate(300)}}},
			[]int{10, 10, 10, 10, 10, 30, 30, 30, 30, 30}, time.Second, 0},
		{"a later stage", []rv.Rate{rate(100), rate(100)}, []change{{at: 500 * ms, rates: []rv.Rate{rate(100), rate(200)}}},
			[]int{10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20}, 2 * time.Second, 0},
		{"a stage that is over", []rv.Rate{rate(100), rate(100)}, []change{{at: 1500 * ms, rates: []rv.Rate{rate(900), rate(100)}}},
			slices.Repeat([]int{10}, 20), 2 * time.Second, 0},
		{"before the start", []rv.Rate{rate(100)}, []change{{at: -5 * ms, rates: []rv.Rate{rate(200)}}},
			slices.Repeat([]int{20}, 10), time.Second, 0},
		{"a pause", []rv.Rate{rate(100)}, []change{{at: 300 * ms, suspended: true, rates: []rv.Rate{rate(100)}}, {at: 600 * ms, rates: []rv.Rate{rate(100)}}},
			[]int{10, 10, 10, 0, 0, 0, 10, 10, 10, 10, 10, 10, 10}, 1300 * ms, 300 * ms},
		{"a pause between two slots", []rv.Rate{rate(100)}, []change{{at: 305 * ms, suspended: true, rates: []rv.Rate{rate(100)}}, {at: 608 * ms, rates: []rv.Rate{rate(100)}}},
			[]int{10, 10, 10, 1, 0, 0, 9, 10, 10, 10, 10, 10, 10}, 1303 * ms, 303 * ms},
		{"a pause with another rate after it", []rv.Rate{rate(100)}, []change{{at: 300 * ms, suspended: true, rates: []rv.Rate{rate(100)}}, {at: 600 * ms, rates: []rv.Rate{rate(200)}}},
			[]int{10, 10, 10, 0, 0, 0, 20, 20, 20, 20, 20, 20, 20}, 1300 * ms, 300 * ms},
		{"a late pause", []rv.Rate{rate(100)}, []change{{at: 300 * ms, late: 50 * ms, suspended: true, rates: []rv.Rate{rate(100)}}, {at: 600 * ms, rates: []rv.Rate{rate(100)}}},
			[]int{10, 10, 10, 5, 0, 0, 5, 10, 10, 10, 10, 10, 10}, 1300 * ms, 300 * ms},
		{"suspended from the start", []rv.Rate{rate(100)}, []change{{at: -5 * ms, suspended: true, rates: []rv.Rate{rate(100)}}, {at: 200 * ms, rates: []rv.Rate{rate(100)}}},
			[]int{0, 0, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10}, 1200 * ms, 200 * ms},
		{"a bound on requests", []rv.Rate{rate(100, requests(50))}, []change{{at: 100 * ms, rates: []rv.Rate{rate(200, requests(50))}}},
			[]int{10, 20, 20}, 300 * ms, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, gets(tt.rates...), ok(0))
			for _, c := range tt.changes {
				b.change(c.at, c.late, c.suspended, c.rates...)
			}
			b.run()
			if diff := cmp.Diff(tt.want, b.perHundred()); diff != "" {
				t.Errorf("requests in each 100 ms (-want +got):\n%s", diff)
			}
			g := b.w.Read()
			var slots, paused int64
			for i := range g.Stages {
				slots += b.w.rec.Stages[i].Slots
				paused += g.Stages[i].Paused
			}
			if end := time.Duration(b.w.Read().EndedAt - b.startAt); end != tt.end || time.Duration(paused) != tt.paused || slots != int64(len(b.served)) {
				t.Errorf("ended after %v, paused for %v, %d slots", end, time.Duration(paused), slots)
			}
		})
	}
}

func TestSuspendedClosedLoop(t *testing.T) {
	b := newBench(t, gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Second}), ok(time.Millisecond))
	same := []rv.Rate{{Name: "r", ClosedLoop: true, Duration: time.Second}}
	b.change(300*time.Millisecond, 0, true, same...)
	b.change(500*time.Millisecond, 0, false, same...)
	b.run()
	got := b.perHundred()
	if len(got) != 12 || got[2] == 0 || got[3] != 0 || got[4] != 0 || got[5] == 0 {
		t.Errorf("requests in each 100 ms: %v", got)
	}
}

// TestClosedLoopKeepsItsSteps: steps that were ready before a time without load wait for streams from its end on.
func TestClosedLoopKeepsItsSteps(t *testing.T) {
	const ms = time.Millisecond
	const from, to = 300*ms + ms/2, 800 * ms // while requests are in flight
	loop := func(length time.Duration) rv.Rate { return rv.Rate{Name: "r", ClosedLoop: true, Duration: length} }
	suspended := func(b *bench) {
		b.change(from, 0, true, loop(time.Second))
		b.change(to, 0, false, loop(time.Second))
	}
	for name, tt := range map[string]struct {
		rates []rv.Rate
		act   func(b *bench)
	}{
		"suspended":       {[]rv.Rate{loop(time.Second)}, suspended},
		"a stage of 0":    {[]rv.Rate{loop(from), perSecond(0, to-from), loop(time.Second)}, func(*bench) {}},
		"without a lease": {[]rv.Rate{loop(time.Second)}, func(b *bench) { b.lease(from, renewal{to, time.Hour}) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(tt.rates[0], step("a"), step("b"))
			p.Rates, p.Drain, p.Targets[0].MaxConcurrentStreams = tt.rates, 100*ms, 10
			b := newBench(t, p, ok(ms))
			tt.act(b)
			got := b.run()
			if c := b.w.rec.Chains[0]; got.Dropped != 0 || c.Aborted != 0 || c.Completed == 0 {
				t.Errorf("%d steps were dropped, instances %+v", got.Dropped, c)
			}
		})
	}
}

// TestSuspensionAfterTheLastSlot: a suspension that comes while the last responses are awaited continues the load, which so ends after it.
func TestSuspensionAfterTheLastSlot(t *testing.T) {
	const ms = time.Millisecond
	p := gets(perSecond(100, time.Second))
	b := newBench(t, p, ok(300*ms))
	b.change(900*ms, 250*ms, true, p.Rates...)
	b.change(2000*ms, 0, false, p.Rates...)
	phases := map[time.Duration]Phase{}
	b.onStart = append(b.onStart, func() {
		for _, at := range []time.Duration{1100 * ms, 1500 * ms} {
			b.in(time.Duration(b.startAt+int64(at)-b.clock), func() { phases[at] = b.w.Phase() })
		}
	})
	got := b.run()
	if diff := cmp.Diff(map[time.Duration]Phase{1100 * ms: Draining, 1500 * ms: Running}, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if end := time.Duration(b.w.Read().EndedAt - b.startAt); got.Sent != 100 || end != 2100*ms {
		t.Errorf("sent %d, ended after %v", got.Sent, end)
	}
}

func TestSuspensionOutlastsTheDeadline(t *testing.T) {
	p := gets(perSecond(100, time.Second))
	p.Deadline = 1500 * time.Millisecond
	b := newBench(t, p, ok(0))
	b.change(500*time.Millisecond, 0, true, p.Rates...)
	b.change(5*time.Second, 0, false, p.Rates...)
	if got := b.run(); got.Sent != 100 || b.w.DeadlineExceeded() {
		t.Errorf("got %+v, deadline exceeded %v", got, b.w.DeadlineExceeded())
	}
}

// TestJoinsAfterALongSuspension: a worker that starts late applies the suspensions that it has missed before it looks at the deadline. A change
// after the deadline has no effect.
func TestJoinsAfterALongSuspension(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		suspended, resumed time.Duration
		sent               int64
		exceeded           bool
	}{
		"before the deadline": {200 * ms, 2700 * ms, 100, false},
		"after the deadline":  {1600 * ms, 2700 * ms, 0, true},
		"too short":           {200 * ms, 900 * ms, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := gets(perSecond(100, time.Second))
			p.Deadline = 1500 * ms
			b := newBench(t, p, ok(0))
			b.clock, b.lead = int64(time.Hour), -3*time.Second
			b.missed = []slots.Change{{At: int64(tt.suspended), Suspended: true, Rates: p.Rates}, {At: int64(tt.resumed), Rates: p.Rates}}
			if got := b.run(); got.Sent != tt.sent || b.w.DeadlineExceeded() != tt.exceeded {
				t.Errorf("got %+v, deadline exceeded %v", got, b.w.DeadlineExceeded())
			}
		})
	}
}

// TestChangesKeepAllSlots: whatever changes, and however late each shard learns of it, all shards
// together send what one would.
func TestChangesKeepAllSlots(t *testing.T) {
	p := gets(perSecond(997, time.Second), perSecond(501, time.Second))
	p.Targets[0].Connections = 3
	faster := []rv.Rate{perSecond(1993, time.Second), perSecond(501, time.Second)}
	slower := []rv.Rate{perSecond(1993, time.Second), perSecond(101, time.Second)}
	run := func(share rv.Share, lateness time.Duration) (sent int) {
		b := newBenchOf(t, p, share, ok(0))
		b.change(301*time.Millisecond, lateness, false, faster...)
		b.change(503*time.Millisecond, lateness, true, faster...)
		b.change(703*time.Millisecond, 0, false, faster...)
		b.change(1403*time.Millisecond, lateness, false, slower...)
		b.run()
		return len(b.served)
	}
	want := run(split.Whole(p), 0)
	shares, err := split.Split(p, 3)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	var each []string
	for i, s := range shares {
		n := run(s, time.Duration(i)*7*time.Millisecond)
		got += n
		each = append(each, fmt.Sprint(n))
	}
	if got != want {
		t.Errorf("three shards have sent %v = %d, one sends %d", each, got, want)
	}
}

// TestSharesAreRebalanced: when a shard ends and the others get what it had at the same instant, no slot
// is lost or sent twice, whatever the stage, and no value is used twice.
func TestSharesAreRebalanced(t *testing.T) {
	for name, rates := range map[string][]rv.Rate{
		"paced":               {perSecond(997, time.Second), perSecond(501, time.Second)},
		"bounded by requests": {{Name: "r", Count: 997, Period: time.Second, Requests: 1500}},
		"later stage":         {perSecond(997, 300*time.Millisecond), perSecond(501, time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			p := gets(rates...)
			p.Targets[0].Connections = 5
			p.Chains[0].Steps[0].Path = rv.Text{{Literal: "/"}, {Variable: 1}, {Literal: "/"}, {Variable: 2}}
			p.Variables = []rv.Variable{{Name: "v", Range: &rv.Range{End: 1_000_000, Step: 1}}, {Name: "n", Counter: &rv.Counter{Step: 1}}}
			const at = 403 * time.Millisecond
			shares, err := split.Split(p, 3)
			if err != nil {
				t.Fatal(err)
			}
			survivors, err := split.Distribute(p, []int{0, 2})
			if err != nil {
				t.Fatal(err)
			}
			paths, counters := map[string]int{}, map[string]int{}
			sent := 0
			run := func(share rv.Share, prepare func(b *bench)) {
				b := newBenchOf(t, p, share, ok(0))
				prepare(b)
				b.run()
				sent += len(b.served)
				for _, r := range b.served {
					var v, n int
					if _, err := fmt.Sscanf(r.Fields[":path"], "/%d/%d", &v, &n); err != nil {
						t.Fatal(err)
					}
					paths[fmt.Sprint(v)]++
					counters[fmt.Sprint(n)]++
				}
			}
			for _, own := range survivors {
				run(shares[own.Shard], func(b *bench) {
					b.onStart = append(b.onStart, func() {
						b.w.Change(slots.Change{At: b.startAt + int64(at), Rates: rates, Share: &own})
					})
				})
			}
			run(shares[1], func(b *bench) {
				b.onStart = append(b.onStart, func() {
					gone := shares[1]
					gone.Slots, gone.Connections = rv.Slots{Of: 1}, []int{0}
					b.w.Change(slots.Change{At: b.startAt + int64(at), Rates: rates, Share: &gone})
				})
			})
			whole := newBench(t, p, ok(0))
			whole.run()
			if want := len(whole.served); sent != want {
				t.Errorf("the shards have sent %d, one alone sends %d", sent, want)
			}
			for what, seen := range map[string]map[string]int{"value": paths, "number": counters} {
				for v, n := range seen {
					if n != 1 {
						t.Fatalf("%s %s was used %d times", what, v, n)
					}
				}
			}
		})
	}
}

func TestConnectionsFollowTheShare(t *testing.T) {
	p := gets(perSecond(200, time.Second))
	p.Targets[0].Connections = 2
	more, fewer := split.Whole(p), split.Whole(p)
	more.Connections, fewer.Connections = []int{5}, []int{1}
	b := newBench(t, p, ok(time.Millisecond))
	b.onStart = append(b.onStart, func() {
		b.w.Change(slots.Change{At: b.startAt + int64(300*time.Millisecond), Rates: p.Rates, Share: &more})
		b.w.Change(slots.Change{At: b.startAt + int64(600*time.Millisecond), Rates: p.Rates, Share: &fewer})
	})
	got := b.run()
	if got.Sent != 200 || got.Done != 200 || len(b.conns) != 5 {
		t.Errorf("got %+v over %d connections", got, len(b.conns))
	}
	used := map[int]bool{}
	for _, r := range b.served[len(b.served)-50:] {
		used[r.Conn] = true
	}
	if len(used) != 1 {
		t.Errorf("the last requests went over %d connections", len(used))
	}
}

func TestClosedLoopIsRebalanced(t *testing.T) {
	rate := rv.Rate{Name: "r", ClosedLoop: true, Requests: 3000}
	p := gets(rate)
	p.Targets[0].Connections = 2
	shares, err := split.Split(p, 2)
	if err != nil {
		t.Fatal(err)
	}
	run := func(change func(b *bench) rv.Share) int {
		b := newBenchOf(t, p, shares[0], ok(10*time.Millisecond))
		b.onStart = append(b.onStart, func() {
			s := change(b)
			b.w.Change(slots.Change{At: b.startAt + int64(50*time.Millisecond), Rates: p.Rates, Share: &s})
		})
		b.run()
		return len(b.served)
	}
	all := run(func(*bench) rv.Share { return split.Whole(p) })
	none := run(func(*bench) rv.Share {
		return rv.Share{Shards: 2, Slots: rv.Slots{Of: 1}, Connections: []int{0}, FirstConnection: []int{0}}
	})
	// In 50 ms a connection of 100 streams has sent 500; the one that is left does 3000 less the other's 500.
	if all < 2300 || all > 2700 || none < 300 || none > 700 {
		t.Errorf("the one that is left has sent %d, the one that is not %d", all, none)
	}
}
