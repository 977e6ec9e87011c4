package pace

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

var whole = rv.Slots{Of: 1, Residues: []int64{0}}

// due takes all slots before an instant and returns when they were due.
func due(s *Schedule, until int64) (out []int64) {
	for {
		for s.Due() < until {
			out = append(out, s.Due())
			s.Take()
		}
		if !s.Advance(until) {
			return out
		}
	}
}

func TestChangeOfTheRate(t *testing.T) {
	slow, fast := rv.Rate{Count: 1, Period: 10}, rv.Rate{Count: 1, Period: 4}
	for _, tt := range []struct {
		name    string
		changes []Change
		late    int64 // how late the worker learns of the changes
		want    []int64
	}{
		{"no change", nil, 0, []int64{0, 10, 20, 30, 40, 50}},
		{"the next slot is due at the change", []Change{{At: 25, Rates: []rv.Rate{fast}}}, 0, []int64{0, 10, 20, 25, 29, 33, 37, 41, 45, 49, 53}},
		{"the same rate", []Change{{At: 25, Rates: []rv.Rate{slow}}}, 0, []int64{0, 10, 20, 30, 40, 50}},
		{"suspended for 12", []Change{{At: 25, Rates: []rv.Rate{slow}, Suspended: true}, {At: 37, Rates: []rv.Rate{slow}}}, 0, []int64{0, 10, 20, 42, 52}},
		{"suspended, another rate", []Change{{At: 25, Rates: []rv.Rate{slow}, Suspended: true}, {At: 37, Rates: []rv.Rate{fast}}}, 0, []int64{0, 10, 20, 37, 41, 45, 49, 53}},
		{"late: slot 3 was sent at 30, slots 4 and 5 follow", []Change{{At: 25, Rates: []rv.Rate{fast}}}, 10, []int64{0, 10, 20, 30, 29, 33, 37, 41, 45, 49, 53}},
		{"late and slower: slot 4 was sent at 32", []Change{{At: 0, Rates: []rv.Rate{fast}}, {At: 9, Rates: []rv.Rate{slow}}}, 8, []int64{0, 4, 8, 12, 16, 29, 39, 49}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New([]rv.Rate{slow}, whole)
			s.Start(0)
			var got []int64
			for _, c := range tt.changes {
				late := tt.late
				if c.At == 0 {
					late = 0
				}
				got = append(got, due(&s, c.At+late)...)
				s.Change(c)
			}
			if got = append(got, due(&s, 54)...); !slices.Equal(got, tt.want) {
				t.Errorf("slots were due at %v, want %v", got, tt.want)
			}
		})
	}
}

// TestBoundOfRequests: the stage ends at the first of its bounds. A bound that is never reached costs no time.
func TestBoundOfRequests(t *testing.T) {
	for _, arrivals := range []rv.Arrivals{rv.ArrivalsEven, rv.ArrivalsPoisson} {
		for requests, byRequests := range map[int64]bool{1_000_000_000_000: false, 5: true} {
			s := New([]rv.Rate{{Count: 500, Period: time.Second, Arrivals: arrivals, Duration: time.Minute, Requests: requests}}, whole)
			s.Start(0)
			s.Advance(1)
			if end := s.StageEnd(); end > int64(time.Minute) || (end < int64(time.Minute)) != byRequests {
				t.Errorf("%q, %d requests: the stage ends after %v", arrivals, requests, time.Duration(end))
			}
		}
	}
}

// TestPoissonIsNotCountedAhead: a start, and a change that suspends or resumes the load, do not compute the arrivals up to the end of the
// stage. They cost time for each slot: here for 3.6 * 10^9 of them.
func TestPoissonIsNotCountedAhead(t *testing.T) {
	const ms = int64(time.Millisecond)
	rates := []rv.Rate{
		{Count: 1_000_000, Period: time.Second, Arrivals: rv.ArrivalsPoisson, Duration: time.Hour},
		{Count: 1, Period: time.Second, Duration: time.Second},
	}
	s := New(rates, whole)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"start", func() { s.Start(0); s.Advance(1) }},
		{"suspend", func() { s.Change(Change{At: ms, Rates: rates, Suspended: true}) }},
		{"resume", func() { s.Change(Change{At: 2 * ms, Rates: rates}) }},
	} {
		step.do()
		if n := len(s.segments[s.current].arrivals.(*poisson).marks); n > 2 {
			t.Fatalf("%s: the process was computed up to block %d", step.name, n*blocksPerMark)
		}
	}
	if end := s.LoadEnd(); end != int64(time.Hour+time.Second)+ms {
		t.Errorf("the load ends after %v", time.Duration(end))
	}
}

// TestRequestsInBursts: the stage has all of its requests, and lasts as long as without bursts, also if the last burst is smaller.
func TestRequestsInBursts(t *testing.T) {
	const ms = int64(time.Millisecond)
	for requests, ends := range map[int64]int64{1: 100 * ms, 5: 500 * ms, 10: 1000 * ms, 21: 2100 * ms, 25: 2500 * ms} {
		for _, duration := range []time.Duration{0, time.Minute} {
			s := New([]rv.Rate{{Count: 10, Period: time.Second, Arrivals: rv.ArrivalsBurst, BurstSize: 10, Requests: requests, Duration: duration}}, whole)
			s.Start(0)
			if got := due(&s, int64(time.Hour)); int64(len(got)) != requests || s.LoadEnd() != ends {
				t.Errorf("%d requests, at most %v: %d slots, the stage ends after %v", requests, duration, len(got), time.Duration(s.LoadEnd()))
			}
		}
	}
}

// TestHalt: the load ends at the instant, whatever comes later.
func TestHalt(t *testing.T) {
	rates := []rv.Rate{{Count: 1, Period: 10, Duration: 100}, {Count: 1, Period: 5, Duration: 100}}
	s := New(rates, whole)
	s.Start(1000)
	if got := s.LoadEnd(); got != 1200 {
		t.Errorf("the load will end at %d", got)
	}
	due(&s, 1055)
	s.Halt(1055)
	s.Change(Change{At: 1033, Rates: rates}) // late
	s.Change(Change{At: 1300, Rates: rates, Suspended: true})
	if got := due(&s, 1400); len(got) > 0 || !s.Over() || s.Suspended() || s.LoadEnd() != 1055 {
		t.Errorf("slots were due at %v after the end; over %v, suspended %v, end %d", got, s.Over(), s.Suspended(), s.LoadEnd())
	}
	want := []Span{{Begun: true, Ended: true, From: 1000, To: 1055}, {}}
	if diff := cmp.Diff(want, []Span{s.Span(0, 1400), s.Span(1, 1400)}); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}

// TestTakeAllocatesNothing: a slot costs no memory.
func TestTakeAllocatesNothing(t *testing.T) {
	s := New([]rv.Rate{{Count: 7, Period: time.Second}}, rv.Slots{Of: 3, Residues: []int64{0, 2}})
	s.Start(1)
	s.Advance(2)
	if n := testing.AllocsPerRun(1000, func() { s.Take(); s.Drop(s.Due() + int64(time.Second)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestHold: a stage that holds begins when a change continues it, for each worker alike. Other changes while it waits leave its
// slots to it.
func TestHold(t *testing.T) {
	first, second := rv.Rate{Count: 1, Period: 10, Duration: 20}, rv.Rate{Count: 1, Period: 5, Duration: 20, Hold: true}
	rates := []rv.Rate{first, second, second}
	s := New(rates, whole)
	s.Start(0)
	got := due(&s, 50)
	if !s.Suspended() || s.Stage() != 1 || s.LoadEnd() != Never {
		t.Errorf("suspended %v in stage %d, the load ends at %d", s.Suspended(), s.Stage(), s.LoadEnd())
	}
	s.Change(Change{At: 60, Rates: rates, Suspended: true})
	got = append(got, due(&s, 70)...)
	faster := []rv.Rate{first, {Count: 2, Period: 5, Duration: 20, Hold: true}, second}
	s.Change(Change{At: 72, Rates: faster})
	got = append(got, due(&s, 200)...)
	if want := []int64{0, 10, 72, 74, 77, 79, 82, 84, 87, 89}; !slices.Equal(got, want) {
		t.Errorf("slots were due at %v, want %v", got, want)
	}
	if span := s.Span(1, 200); span.From != 20 || span.To != 92 || span.Paused != 52 {
		t.Errorf("the stage held from 20 to 72: %+v", span)
	}
	if !s.Suspended() || s.Stage() != 2 {
		t.Errorf("suspended %v in stage %d, want the next stage to hold", s.Suspended(), s.Stage())
	}
}
