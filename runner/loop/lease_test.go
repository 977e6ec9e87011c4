package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/slots"
)

// renewal is a poll at an offset from the start that renews the lease until another offset.
type renewal struct{ at, until time.Duration }

// lease gives the worker a lease from the start on.
func (b *bench) lease(until time.Duration, renewals ...renewal) {
	l := &slots.Lease{}
	b.w.cfg.Lease = l
	b.onStart = append(b.onStart, func() {
		l.Set(b.startAt + int64(until))
		for _, r := range renewals {
			b.in(time.Duration(b.startAt-b.clock)+r.at, func() {
				if l.Renew(b.startAt+int64(r.until), b.clock) {
					b.w.Do(func(*Worker) {})
				}
			})
		}
	})
}

// freeze stops the process at an offset from the start. What comes meanwhile is there when it continues.
func (b *bench) freeze(at, length time.Duration) {
	done := false
	b.everyTurn = func() {
		if !done && b.startAt != 0 && b.clock >= b.startAt+int64(at) {
			done = true
			b.clock += int64(length)
		}
	}
}

func TestLeaseExpires(t *testing.T) {
	const ms = time.Millisecond
	rate := func(n int64) rv.Rate { return perSecond(n, time.Second) }
	bounded := rv.Rate{Name: "r", Count: 100, Period: time.Second, Requests: 100}
	warmUp := rate(100)
	warmUp.WarmUp = true
	change := func(at, late time.Duration, suspended bool, rates ...rv.Rate) func(*bench) {
		return func(b *bench) { b.change(at, late, suspended, rates...) }
	}
	ten := func(n int) []int { return slices.Repeat([]int{10}, n) }
	for name, tt := range map[string]struct {
		rates    []rv.Rate
		lease    time.Duration
		renewals []renewal
		prepare  []func(*bench)
		want     []int // requests in each 100 ms
		dropped  int64 // slots, of warm-up stages too
		gaps     int64
		gap      time.Duration // all gaps
		end      time.Duration
	}{
		"renewed in time": {rates: []rv.Rate{rate(100)}, lease: 300 * ms, renewals: []renewal{{200 * ms, 600 * ms}, {500 * ms, 2000 * ms}},
			want: ten(10), end: time.Second},
		"open loop": {rates: []rv.Rate{rate(100)}, lease: 500 * ms, renewals: []renewal{{800 * ms, 5000 * ms}},
			want: slices.Concat(ten(5), []int{0, 0, 0, 10, 10}), dropped: 30, gaps: 1, gap: 300 * ms, end: time.Second},
		"expires twice": {rates: []rv.Rate{rate(100)}, lease: 200 * ms, renewals: []renewal{{400 * ms, 600 * ms}, {800 * ms, 5000 * ms}},
			want: []int{10, 10, 0, 0, 10, 10, 0, 0, 10, 10}, dropped: 40, gaps: 2, gap: 400 * ms, end: time.Second},
		"a renewal that has passed": {rates: []rv.Rate{rate(100)}, lease: 300 * ms, renewals: []renewal{{600 * ms, 500 * ms}, {700 * ms, 5000 * ms}},
			want: []int{10, 10, 10, 0, 0, 0, 0, 10, 10, 10}, dropped: 40, gaps: 1, gap: 400 * ms, end: time.Second},
		"expired before the start": {rates: []rv.Rate{rate(100)}, lease: -5 * ms, renewals: []renewal{{200 * ms, 5000 * ms}},
			want: slices.Concat([]int{0, 0}, ten(8)), dropped: 20, gaps: 1, gap: 200 * ms, end: time.Second},
		"a stage ends in the gap": {rates: []rv.Rate{rate(100), rate(200)}, lease: 800 * ms, renewals: []renewal{{1200 * ms, 5000 * ms}},
			want: slices.Concat(ten(8), []int{0, 0, 0, 0}, slices.Repeat([]int{20}, 8)), dropped: 60, gaps: 1, gap: 400 * ms, end: 2 * time.Second},
		"several stages end in the gap": {rates: []rv.Rate{rate(100), rate(200), rate(300), rate(100)}, lease: 900 * ms, renewals: []renewal{{3800 * ms, 5000 * ms}},
			want: slices.Concat(ten(9), make([]int, 29), ten(2)), dropped: 10 + 200 + 300 + 80, gaps: 1, gap: 2900 * ms, end: 4 * time.Second},
		"the load ends in the gap": {rates: []rv.Rate{rate(100), rate(200)}, lease: 500 * ms, renewals: []renewal{{3000 * ms, 5000 * ms}},
			want: ten(5), dropped: 250, gaps: 1, gap: 1500 * ms, end: 2 * time.Second},
		"never renewed, bounded by requests": {rates: []rv.Rate{bounded}, lease: 500 * ms,
			want: ten(5), dropped: 50, gaps: 1, gap: 500 * ms, end: time.Second},
		"warm-up": {rates: []rv.Rate{warmUp, rate(100)}, lease: 900 * ms, renewals: []renewal{{1100 * ms, 5000 * ms}},
			want: slices.Concat(ten(9), []int{0, 0}, ten(9)), dropped: 20, gaps: 1, gap: 200 * ms, end: 2 * time.Second},
		"the rate changes in the gap": {rates: []rv.Rate{rate(100)}, lease: 300 * ms, renewals: []renewal{{700 * ms, 5000 * ms}},
			prepare: []func(*bench){change(500*ms, 0, false, rate(300))},
			want:    []int{10, 10, 10, 0, 0, 0, 0, 30, 30, 30}, dropped: 20 + 60, gaps: 1, gap: 400 * ms, end: time.Second},
		"suspended before the gap, resumed in it": {rates: []rv.Rate{rate(100)}, lease: 500 * ms, renewals: []renewal{{800 * ms, 5000 * ms}},
			prepare: []func(*bench){change(300*ms, 0, true, rate(100)), change(600*ms, 0, false, rate(100))},
			want:    slices.Concat(ten(3), make([]int, 5), ten(5)), dropped: 20, gaps: 1, gap: 300 * ms, end: 1300 * ms},
		"suspended in the gap, resumed after it": {rates: []rv.Rate{rate(100)}, lease: 200 * ms, renewals: []renewal{{400 * ms, 5000 * ms}},
			prepare: []func(*bench){change(300*ms, 0, true, rate(100)), change(600*ms, 0, false, rate(100))},
			want:    slices.Concat(ten(2), make([]int, 4), ten(7)), dropped: 10, gaps: 1, gap: 200 * ms, end: 1300 * ms},
		"suspended in the gap, at whose end the load would be over": {rates: []rv.Rate{rate(100)}, lease: 200 * ms, renewals: []renewal{{1200 * ms, 5000 * ms}},
			prepare: []func(*bench){change(300*ms, 0, true, rate(100)), change(1300*ms, 0, false, rate(100))},
			want:    slices.Concat(ten(2), make([]int, 11), ten(7)), dropped: 10, gaps: 1, gap: 1000 * ms, end: 2 * time.Second},
		"stopped process": {rates: []rv.Rate{rate(100), rate(100)}, lease: 500 * ms, renewals: []renewal{{400 * ms, 600 * ms}, {1300 * ms, 5000 * ms}},
			prepare: []func(*bench){func(b *bench) { b.freeze(300*ms, 900*ms) }},
			// The runner reads the poll of 400 ms at 1200 ms: it renews nothing.
			want: slices.Concat(ten(3), []int{1}, make([]int, 9), ten(7)), dropped: 99, gaps: 1, gap: 800 * ms, end: 2 * time.Second},
		"stopped process, renewed before its first turn": {rates: []rv.Rate{rate(100), rate(100)}, lease: 500 * ms, renewals: []renewal{{1200 * ms, 5000 * ms}},
			prepare: []func(*bench){func(b *bench) { b.freeze(300*ms, 900*ms) }},
			want:    slices.Concat(ten(3), []int{1}, make([]int, 8), ten(8)), dropped: 89, gaps: 1, gap: 700 * ms, end: 2 * time.Second},
		"stopped process with a valid lease": {rates: []rv.Rate{rate(100)}, lease: 5000 * ms,
			prepare: []func(*bench){func(b *bench) { b.freeze(300*ms, 250*ms) }},
			want:    []int{10, 10, 10, 1, 0, 29, 10, 10, 10, 10}, end: time.Second},
		"stopped in a turn": {rates: []rv.Rate{rate(100)}, lease: 500 * ms, renewals: []renewal{{900 * ms, 5000 * ms}},
			prepare: []func(*bench){func(b *bench) {
				b.onStart = append(b.onStart, func() {
					b.in(time.Duration(b.startAt-b.clock)+300*ms, func() { b.w.Do(func(*Worker) { b.clock += int64(400 * ms) }) })
				})
			}},
			want: slices.Concat(ten(3), make([]int, 6), ten(1)), dropped: 60, gaps: 1, gap: 400 * ms, end: time.Second},
		"must leave after the gap": {rates: []rv.Rate{rate(100)}, lease: 300 * ms,
			prepare: []func(*bench){func(b *bench) { b.announce(slots.Change{Rates: []rv.Rate{rate(100)}, Leave: true}, 500*ms, 400*ms) }},
			want:    ten(3), dropped: 20, gaps: 1, gap: 200 * ms, end: 500 * ms},
		"must stop in the gap": {rates: []rv.Rate{rate(100)}, lease: 300 * ms,
			prepare: []func(*bench){func(b *bench) {
				b.onStart = append(b.onStart, func() {
					b.in(time.Duration(b.startAt-b.clock)+495*ms, func() { b.w.Do(func(w *Worker) { w.Stop(true) }) })
				})
			}},
			want: ten(3), dropped: 20, gaps: 1, gap: 195 * ms, end: 495 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, gets(tt.rates...), ok(0))
			b.lease(tt.lease, tt.renewals...)
			for _, f := range tt.prepare {
				f(b)
			}
			got := b.run()
			if diff := cmp.Diff(tt.want, b.perHundred()); diff != "" {
				t.Errorf("requests in each 100 ms (-want +got):\n%s", diff)
			}
			want := rv.LeaseGaps{Count: tt.gaps, Nanoseconds: int64(tt.gap), Dropped: tt.dropped}
			if diff := cmp.Diff(want, b.w.Read().LeaseGaps); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
			if end := time.Duration(b.w.Read().EndedAt - b.startAt); end != tt.end {
				t.Errorf("the load ended after %v, want %v", end, tt.end)
			}
			var slots, sent, dropped, measured int64
			for i, s := range b.w.rec.Stages {
				slots, sent, dropped = slots+s.Slots, sent+s.Sent, dropped+s.Dropped
				if !tt.rates[i].WarmUp {
					measured += s.Dropped
				}
			}
			if slots != sent+dropped || dropped != tt.dropped || got.Dropped != measured {
				t.Errorf("%d slots, %d sent, %d dropped, %d of them measured", slots, sent, dropped, got.Dropped)
			}
			if b.w.rec.Lag.Max() > (300 * ms).Microseconds() {
				t.Errorf("dropped slots are in lag: %d us", b.w.rec.Lag.Max())
			}
		})
	}
}

func TestLeaseOfAClosedLoop(t *testing.T) {
	const ms = time.Millisecond
	b := newBench(t, gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Second}, perSecond(100, time.Second)), ok(ms))
	b.lease(300*ms, renewal{500 * ms, 800 * ms}, renewal{1200 * ms, 5000 * ms})
	b.run()
	got := b.perHundred()
	for i, n := range got {
		if paused := i == 3 || i == 4 || i >= 8 && i < 12; paused != (n == 0) {
			t.Errorf("%d requests from %d00 ms on", n, i)
		}
	}
	if want := (rv.LeaseGaps{Count: 2, Nanoseconds: int64(600 * ms), Dropped: 20}); b.w.Read().LeaseGaps != want || len(got) != 20 {
		t.Errorf("gaps %+v, want %+v; %v", b.w.Read().LeaseGaps, want, got)
	}
}

// TestLeaseAndChains: an instance whose next step becomes ready in the gap waits for its end.
func TestLeaseAndChains(t *testing.T) {
	const ms = time.Millisecond
	p := cannedChain()
	p.Rates = []rv.Rate{perSecond(100, time.Second)}
	b := newBench(t, p, func(r *simRequest) reply {
		if r.Fields[":method"] != "POST" {
			return reply{Status: 200, After: 25 * ms}
		}
		return reply{Status: 201, After: 25 * ms, Headers: []string{"location", "/x"}}
	})
	b.lease(500*ms, renewal{700 * ms, 5000 * ms})
	got := b.run()
	for _, r := range b.served {
		if at := r.At - time.Duration(b.startAt); at >= 500*ms && at < 700*ms {
			t.Errorf("a request was sent at %v", at)
		}
	}
	c := b.w.rec.Chains[0]
	if got.Dropped != 20 || got.Sent != 80 || c.Aborted != 0 || c.Started-c.Completed > 10 || c.Completed < 15 {
		t.Errorf("%+v, %d instances started, %d completed, %d aborted", got, c.Started, c.Completed, c.Aborted)
	}
}

// TestLeaseDropsWhatWaits: requests that wait for a stream when the lease expires are never sent.
func TestLeaseDropsWhatWaits(t *testing.T) {
	const ms = time.Millisecond
	p := gets(perSecond(100, time.Second))
	p.Targets[0].MaxConcurrentStreams = 1
	b := newBench(t, p, ok(495*ms))
	b.lease(300 * ms)
	got := b.run()
	if got.Sent != 1 || got.Dropped != 99 {
		t.Errorf("%+v", got)
	}
	want := []rv.FailureCount{{Failure: rv.Failure{Of: rv.FailureDropped, Cause: rv.CauseLeaseExpired}, Count: 99}}
	if diff := cmp.Diff(want, b.w.rec.Failures.List()); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// TestLeaseAndTeardown: teardown chains do not run without a lease, and the worker still ends.
func TestLeaseAndTeardown(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		renew time.Duration
		want  int64
	}{
		"renewed in time": {renew: 500 * ms, want: 1},
		"expired":         {renew: time.Hour, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := gets(perSecond(100, time.Second))
			p.Chains = append(p.Chains, rv.Chain{Name: "end", Phase: rv.PhaseTeardown, Steps: p.Chains[0].Steps})
			b := newBench(t, p, ok(0))
			b.lease(1500*ms, renewal{tt.renew, 5000 * ms})
			b.teardownAfter = 700 * ms
			b.run()
			if got := b.w.rec.Teardown.Sent; got != tt.want || (b.w.Read().TeardownFailure == "") != (tt.want > 0) {
				t.Errorf("teardown sent %d, failure %q", got, b.w.Read().TeardownFailure)
			}
			if g := b.w.Read().LeaseGaps; g != (rv.LeaseGaps{}) {
				t.Errorf("gaps after the load: %+v", g)
			}
		})
	}
}

func TestRenew(t *testing.T) {
	for name, tt := range map[string]struct {
		until, renew, now int64
		want              int64
		lapsed            bool
	}{
		"no lease":              {renew: 9, now: 1, want: 0},
		"renewed":               {until: 5, renew: 9, now: 1, want: 9},
		"never shortened":       {until: 9, renew: 5, now: 1, want: 9},
		"renewed after its end": {until: 5, renew: 9, now: 7, want: 9, lapsed: true},
		"renewed at its end":    {until: 5, renew: 9, now: 5, want: 9, lapsed: true},
		"a renewal read late":   {until: 5, renew: 9, now: 9, want: 5},
	} {
		var l slots.Lease
		l.Set(tt.until)
		if lapsed := l.Renew(tt.renew, tt.now); l.Until() != tt.want || lapsed != tt.lapsed {
			t.Errorf("%s: until %d, lapsed %v", name, l.Until(), lapsed)
		}
	}
}
