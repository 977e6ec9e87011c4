package loop

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/slots"
)

func TestLeave(t *testing.T) {
	const ms = time.Millisecond
	late := 30 * ms
	for name, tt := range map[string]struct {
		at, late time.Duration
		answer   time.Duration
		sent     int64
		ended    time.Duration
	}{
		"in a stage":                         {at: 305 * ms, sent: 31, ended: 305 * ms},
		"with responses to go":               {at: 305 * ms, answer: 400 * ms, sent: 31, ended: 305 * ms},
		"late":                               {at: 305 * ms, late: late, sent: 34, ended: 305 * ms},
		"late, when another stage is active": {at: 990 * ms, late: late, sent: 102, ended: 990 * ms},
		"at the end of a stage":              {at: time.Second, sent: 100, ended: time.Second},
		"after the end":                      {at: 3 * time.Second, sent: 200, ended: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := gets(perSecond(100, time.Second), perSecond(100, time.Second))
			p.Chains = append(p.Chains, rv.Chain{Name: "end", Phase: rv.PhaseTeardown, Steps: p.Chains[0].Steps})
			b := newBench(t, p, ok(tt.answer)) // it would run teardown if it stayed
			b.announce(slots.Change{Rates: p.Rates, Leave: true}, tt.at, tt.late)
			got := b.run()
			if ended := time.Duration(b.w.Read().EndedAt - b.startAt); got.Sent != tt.sent || got.Done != tt.sent || ended != tt.ended {
				t.Errorf("%+v, ended after %v", got, ended)
			}
			stays := tt.at > 2*time.Second
			if (b.drainedAt != 0) != stays || (b.w.rec.Teardown.Sent > 0) != stays {
				t.Errorf("it waited for teardown at %d, and sent %d in it", b.drainedAt, b.w.rec.Teardown.Sent)
			}
			if last := b.w.clock.now - b.startAt; last < int64(tt.ended+tt.answer-5*ms) {
				t.Errorf("it was gone after %v", time.Duration(last))
			}
		})
	}
}

func TestLeaveBeforeTheStart(t *testing.T) {
	b := newBench(t, gets(perSecond(100, time.Second)), ok(0))
	b.lead = time.Hour
	b.onStart = append(b.onStart, func() { b.w.Do(func(w *Worker) { w.Change(slots.Change{Leave: true}) }) })
	if got := b.run(); got.Sent != 0 || b.clock > int64(time.Minute) {
		t.Errorf("%+v after %v", got, time.Duration(b.clock))
	}
}

// TestEmptyShareLasts: without slots, the load lasts as long as that of all others.
func TestEmptyShareLasts(t *testing.T) {
	for name, rates := range map[string][]rv.Rate{
		"paced":               {perSecond(100, time.Second), perSecond(7, time.Second)},
		"bounded by requests": {{Name: "r", Count: 100, Period: time.Second, Requests: 200}},
		"bounded by both":     {{Name: "r", Count: 100, Period: time.Second, Requests: 1000, Duration: 2 * time.Second}},
		"closed loop":         {{Name: "r", ClosedLoop: true, Duration: 2 * time.Second}},
		"fast, with two ends": {perSecond(100, time.Second), {Name: "r", ClosedLoop: true, Duration: time.Second, Requests: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			p := gets(rates...)
			share := split.Whole(p)
			share.Slots.Residues = nil
			b := newBenchOf(t, p, share, ok(0))
			if got := b.run(); got.Sent != 0 || b.w.Read().EndedAt-b.startAt != int64(2*time.Second) {
				t.Errorf("%+v, ended after %v", got, time.Duration(b.w.Read().EndedAt-b.startAt))
			}
		})
	}
}

// TestNumbersOfAClosedLoop: slots of a closed loop have no due times, and their numbers still have one owner.
func TestNumbersOfAClosedLoop(t *testing.T) {
	const ms = time.Millisecond
	f := newFleet(t, []int{0}, []event{
		{at: 20 * ms, members: []int{0, 1}},
		{at: 45 * ms, members: []int{0}},
		{at: 60 * ms, members: []int{0, 1, 2}},
	}, rv.Rate{Name: "r", ClosedLoop: true, Duration: 80 * ms}, perSecond(1000, 100*ms))
	f.answer = 100 * time.Microsecond
	f.plan.Targets[0].MaxConcurrentStreams = 2
	f.run()
	if again := f.repeatedNumber(); again != "" {
		t.Error(again)
	}
	if len(f.numbers) < 5000 {
		t.Errorf("%d requests are few", len(f.numbers))
	}
}
