package loop

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestNapsOnlyWhereTheyAreCheap(t *testing.T) {
	fast := rv.Rate{Name: "r", ClosedLoop: true, Requests: 2000}
	const interval = rv.DefaultSleepInterval
	for _, tt := range []struct {
		name     string
		rate     rv.Rate
		streams  int
		after    time.Duration
		spin     bool
		interval time.Duration
		want     time.Duration // the longest nap
	}{
		{"many in flight, long service", fast, 100, 5 * time.Millisecond, false, interval, 200 * time.Microsecond},
		{"very long service", fast, 100, 50 * time.Millisecond, false, interval, interval},
		{"a short interval", fast, 100, 5 * time.Millisecond, false, 50 * time.Microsecond, 50 * time.Microsecond},
		{"an interval below the shortest nap", fast, 100, 5 * time.Millisecond, false, 10 * time.Microsecond, 0},
		{"no interval", fast, 100, 5 * time.Millisecond, false, 0, 0},
		{"spin", fast, 100, 5 * time.Millisecond, true, interval, 0},
		{"few in flight", fast, 10, 5 * time.Millisecond, false, interval, 0},
		{"short service", fast, 100, 100 * time.Microsecond, false, interval, 0},
		{"a rate", perSecond(2000, time.Second), 100, 5 * time.Millisecond, false, interval, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(tt.rate)
			p.Targets[0].MaxConcurrentStreams = tt.streams
			n := 0
			b := newBench(t, p, func(*simRequest) reply {
				n++ // one response at a time
				return reply{Status: 200, After: tt.after + time.Duration(n%100)*10*time.Microsecond}
			})
			b.w.cfg.Spin, b.w.cfg.SleepInterval = tt.spin, tt.interval
			b.turnCost = time.Microsecond
			if got := b.run(); got.Done != 2000 {
				t.Fatalf("got %+v", got)
			}
			if (b.naps > 0) != (tt.want > 0) || b.longestNap > tt.want {
				t.Errorf("%d naps of at most %v, want at most %v", b.naps, b.longestNap, tt.want)
			}
			if r := b.w.rec; r.Naps != int64(b.naps) || time.Duration(r.Napped) != b.napped {
				t.Errorf("counted %d naps of %v in all, want %d of %v", r.Naps, time.Duration(r.Napped), b.naps, b.napped)
			}
			// The first and the last of the run may be special; the bulk is not.
			if h := &b.w.rec.Steps[0].ServiceTime; b.naps > 0 && h.Quantile(0.5) > (tt.after+time.Millisecond).Microseconds()*33/32+20 {
				t.Errorf("naps made the median service time %d us", h.Quantile(0.5))
			}
		})
	}
}

// TestIdleStrategies checks how late requests leave, in simulated time. A turn takes a microsecond.
func TestIdleStrategies(t *testing.T) {
	const turn = time.Microsecond
	for _, tt := range []struct {
		name     string
		spin     bool
		interval time.Duration
		latest   time.Duration // after a request is due
		batched  bool
	}{
		{"Spin", true, time.Millisecond, turn, false},
		{"Sleep", false, time.Millisecond, time.Millisecond + turn, true},
		{"Sleep, short", false, 100 * time.Microsecond, 100*time.Microsecond + turn, true},
		{"Sleep, shorter than the time between slots", false, 20 * time.Microsecond, turn, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const n = 10_000
			p := gets(perSecond(n, time.Second))
			p.Targets[0].MaxConcurrentStreams = 100
			b := newBench(t, p, ok(time.Millisecond))
			b.w.cfg.Spin, b.w.cfg.SleepInterval, b.turnCost = tt.spin, tt.interval, turn
			if got := b.run(); got.Done != n {
				t.Fatalf("got %+v", got)
			}
			batched := int64(0)
			for i, r := range b.served {
				due := time.Duration(b.startAt) + time.Duration(i)*time.Second/n
				if late := r.At - due; late < 0 || late > tt.latest {
					t.Fatalf("request %d left %v after it was due, want at most %v", i, late, tt.latest)
				} else if tt.batched {
					batched += int64(late)
				}
			}
			// What the interval adds is all of the lag but the duration of turns.
			if got := b.w.rec.Batched; got > batched || got < batched-n*int64(turn) {
				t.Errorf("the interval delayed requests by %v in all, want %v", time.Duration(got), time.Duration(batched))
			}
		})
	}
}

// TestSpinWaitsWithoutLoad: a worker that spins does not use its CPU before the start, while the load is suspended, and
// between slots that are far apart.
func TestSpinWaitsWithoutLoad(t *testing.T) {
	const turn = 10 * time.Microsecond
	count := func(edit func(*bench)) int {
		b := newBench(t, gets(perSecond(1000, time.Second)), ok(time.Millisecond))
		b.w.cfg.Spin, b.turnCost = true, turn
		edit(b)
		if got := b.run(); got.Done != 1000 {
			t.Fatalf("got %+v", got)
		}
		return b.waits
	}
	plain := count(func(*bench) {})
	if most := int(time.Second / turn); plain < most/2 || plain > most*11/10+int(spinWithin/turn) {
		t.Fatalf("%d turns of %v in a second of load", plain, turn)
	}
	for name, edit := range map[string]func(*bench){
		"before the start": func(b *bench) { b.lead = time.Hour },
		"suspended": func(b *bench) {
			b.change(300*time.Millisecond, 0, true, perSecond(1000, time.Second))
			b.change(time.Hour, 0, false, perSecond(1000, time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, most := count(edit), plain+3*int(spinWithin/turn); got > most {
				t.Errorf("%d turns, want at most %d", got, most)
			}
		})
	}
	t.Run("few slots", func(t *testing.T) {
		b := newBench(t, gets(perSecond(1, 10*time.Second)), ok(time.Millisecond))
		b.w.cfg.Spin, b.turnCost = true, turn
		if got := b.run(); got.Done != 10 {
			t.Fatalf("got %+v", got)
		}
		if late := b.w.rec.Lag.Quantile(1); late > turn.Microseconds() {
			t.Errorf("a request left %d us late", late)
		}
		if most := 12 * 2 * int(spinWithin/turn); b.waits > most {
			t.Errorf("%d turns, want at most %d", b.waits, most)
		}
	})
}
