package shards

import (
	"math/rand/v2"
	"testing"
)

var allEvents = []Event{Connects, Connected, Started, Removed, Drains, Ended, Departed, GaveUp}

func TestStateNext(t *testing.T) {
	for _, c := range []struct {
		from State
		on   Event
		want State
		ok   bool
	}{
		{Absent, Started, Active, true}, // the operator took over
		{Ready, Connects, Connecting, true},
		{Active, Connects, Active, false},
		{Active, Removed, Leaving, true},
		{Leaving, Drains, Draining, true},
		{Draining, Started, Active, true}, // a late suspension continues its load
		{Ready, Removed, Ready, false},
		{Leaving, Started, Leaving, false}, // it answered before it got the change
		{Lost, Started, Lost, false},
		{Lost, Ended, Recovered, true},
		{Lost, Departed, Lost, false},
		{Done, GaveUp, Recovered, true}, // a former operator gave it up
		{Done, Ended, Done, false},
		{Done, Departed, Left, true},
		{Active, Departed, Active, false},
		{Recovered, GaveUp, Recovered, false},
	} {
		if got, ok := c.from.Next(c.on); got != c.want || ok != c.ok {
			t.Errorf("%s on %s: got %s %t, want %s %t", c.from, c.on, got, ok, c.want, c.ok)
		}
	}
}

// TestRandomStates: a runner starts at most once, final counts stay final, the test never goes on with a runner that is over, and a loss is not
// taken back.
func TestRandomStates(t *testing.T) {
	const events = 1_000_000
	random := rand.New(rand.NewPCG(13, 2))
	now, starts := Absent, 0
	reached := map[State]int{}
	for range events {
		on := allEvents[random.IntN(len(allEvents))]
		next, ok := now.Next(on)
		switch {
		case !ok && next != now:
			t.Fatalf("%s on %s has no transition and leads to %s", now, on, next)
		case now.Final() && !next.Final(), now.Over() && !next.Over(), (now == Lost || now == Recovered) && next == Left:
			t.Fatalf("%s on %s leads to %s", now, on, next)
		}
		if next == Active && now != Active && now != Draining {
			starts++
		}
		if starts > 1 {
			t.Fatalf("a runner started %d times", starts)
		}
		now = next
		reached[now]++
		if now.Final() && random.IntN(4) == 0 {
			now, starts = Absent, 0 // the next runner
		}
	}
	for s := range table {
		if s := State(s); reached[s] < 1000 {
			t.Errorf("state %s was reached %d times", s, reached[s])
		}
	}
}
