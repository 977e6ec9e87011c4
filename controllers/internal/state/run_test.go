package state

import (
	"math/rand/v2"
	"testing"
)

var runEvents = []RunEvent{Prepare, Hold, Begin, Stop, LoadEnded, End}

func TestRunTransitionsAreUnique(t *testing.T) {
	type key struct {
		from Run
		on   RunEvent
	}
	seen := map[key]bool{}
	for _, e := range RunTransitions {
		if k := (key{e.From, e.On}); seen[k] {
			t.Errorf("two transitions from %s on %s", e.From, e.On)
		} else {
			seen[k] = true
		}
		if err := e.From.Validate(); err != nil {
			t.Error(err)
		}
		if err := e.To.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestRunNext(t *testing.T) {
	for _, c := range []struct {
		from Run
		on   RunEvent
		want Run
		ok   bool
	}{
		{Pending, Begin, Pending, false},
		{Preparing, Begin, Running, true},
		{Running, Begin, Running, false},
		{Running, Hold, Running, false},
		{Stopping, Begin, Stopping, false},
		{Finished, Prepare, Finished, false},
		{Finished, End, Finished, false},
	} {
		if got, ok := c.from.Next(c.on); got != c.want || ok != c.ok {
			t.Errorf("%s on %s: got %s %t, want %s %t", c.from, c.on, got, ok, c.want, c.ok)
		}
	}
}

// TestRandomRuns: a run starts at most once, does not return to a state before its start, and Finished is final.
func TestRandomRuns(t *testing.T) {
	const events = 1_000_000
	random := rand.New(rand.NewPCG(13, 1))
	now, starts, finished := Pending, 0, 0
	for range events {
		on := runEvents[random.IntN(len(runEvents))]
		if on == End && random.IntN(4) > 0 {
			continue // longer runs
		}
		next, ok := now.Next(on)
		if !ok && next != now {
			t.Fatalf("%s on %s has no transition and leads to %s", now, on, next)
		}
		if ok && now == Finished {
			t.Fatalf("%s has a transition on %s", now, on)
		}
		if ok && on == Begin {
			starts++
		}
		if now.Started() && !next.Started() && next != Finished {
			t.Fatalf("%s on %s leads back to %s", now, on, next)
		}
		if starts > 1 {
			t.Fatalf("a run started %d times", starts)
		}
		now = next
		if now == Finished && random.IntN(8) == 0 { // the next run
			now, starts, finished = Pending, 0, finished+1
		}
	}
	if finished < 1000 {
		t.Errorf("%d runs finished", finished)
	}
}
