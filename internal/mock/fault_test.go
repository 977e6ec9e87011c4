package mock

import (
	"math"
	"testing"
	"time"
)

func TestDelayDue(t *testing.T) {
	const ms = int64(time.Millisecond)
	stall := Stall{For: 500 * time.Millisecond, Every: 10 * time.Second}
	for _, c := range []struct {
		name      string
		latency   time.Duration
		stall     Stall
		now, want int64 // in milliseconds
	}{
		{"no delay", 0, Stall{}, 7, 7},
		{"latency", 5 * time.Millisecond, Stall{}, 7, 12},
		{"before the stall", 0, stall, 9499, 9499},
		{"as the stall begins", 0, stall, 9500, 10000},
		{"in the stall", 0, stall, 9999, 10000},
		{"after the stall", 0, stall, 10000, 10000},
		{"a later stall", 0, stall, 29600, 30000},
		{"latency ends in the stall", 5 * time.Millisecond, stall, 9496, 10000},
		{"latency ends after it", 600 * time.Millisecond, stall, 9450, 10050},
	} {
		if got := newDelay(c.latency, c.stall).due(c.now * ms); got != c.want*ms {
			t.Errorf("%s: due(%d ms) = %v ns, want %d ms", c.name, c.now, got, c.want)
		}
	}
}

// TestDelayIsAFIFO: due never decreases, on which the waiting queue relies.
func TestDelayIsAFIFO(t *testing.T) {
	d := newDelay(3*time.Millisecond, Stall{For: 7 * time.Millisecond, Every: 20 * time.Millisecond})
	last := int64(0)
	for now := int64(0); now < int64(200*time.Millisecond); now += 10007 {
		due := d.due(now)
		if due < last || due < now+int64(3*time.Millisecond) {
			t.Fatalf("due(%d) = %d after %d", now, due, last)
		}
		last = due
	}
}

func TestDraws(t *testing.T) {
	const n = 50000
	count := func(unanswered, notFound float64, seed uint64) (u, f, both int, first string) {
		d := newFaults(unanswered, notFound, seed)
		for range n {
			a, b := d.draw()
			if len(first) < 200 {
				first += map[bool]string{false: "-", true: "x"}[a] + map[bool]string{false: "-", true: "x"}[b]
			}
			if a {
				u++
			}
			if b {
				f++
			}
			if a && b {
				both++
			}
		}
		return u, f, both, first
	}
	near := func(name string, got int, p float64) {
		t.Helper()
		// Five standard deviations; the seed is fixed, so this passes always or never.
		if bound := 5 * math.Sqrt(n*p*(1-p)); math.Abs(float64(got)-n*p) > bound {
			t.Errorf("%s: %d of %d, want %v within %v", name, got, n, n*p, bound)
		}
	}
	u, f, both, first := count(0.03, 0.07, 1)
	near("unanswered", u, 0.03)
	near("not found", f, 0.07)
	near("both, if independent", both, 0.03*0.07)
	if _, _, _, again := count(0.03, 0.07, 1); again != first {
		t.Error("the same seed draws other requests")
	}
	if _, _, _, other := count(0.03, 0.07, 2); other == first {
		t.Error("another seed draws the same requests")
	}
	if u, f, _, _ := count(1, 0, 1); u != n || f != 0 {
		t.Errorf("ratios 1 and 0: %d and %d of %d", u, f, n)
	}
}
