package slots

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/chain"
)

const ms = int64(time.Millisecond)

// taken writes down what it gets.
type taken []string

func (k *taken) Slot(s *Schedule, n, due int64) {
	*k = append(*k, fmt.Sprintf("slot %d of stage %d due at %d", n, s.PlanStage(), due/ms))
}

func (k *taken) Dropped(stage int, n int64) {
	*k = append(*k, fmt.Sprintf("%d of stage %d dropped", n, stage))
}

// TestSlots: a stage of ten requests per second and then one of twenty, which start at 1000 ms. Times are in ms.
func TestSlots(t *testing.T) {
	rates := func(first, second int64) []rv.Rate {
		return []rv.Rate{
			{Name: "first", Count: first, Period: time.Second, Duration: 300 * time.Millisecond},
			{Name: "second", Count: second, Period: time.Second, Duration: 200 * time.Millisecond},
		}
	}
	plan := &rv.Plan{
		Targets: []rv.Target{{Name: "t", Connections: 1, Endpoints: []rv.Endpoint{{Scheme: "http", Authority: "t", Address: "t:80"}}}},
		Chains:  []rv.Chain{{Name: "c", Weight: 1, Steps: []rv.Step{{Name: "get", Method: "GET", Path: rv.Text{{Literal: "/"}}, Timeout: time.Second}}}},
		Rates:   rates(10, 20),
	}
	program, err := chain.Load(plan, chain.Resources{})
	if err != nil {
		t.Fatal(err)
	}
	half := split.Whole(plan)
	half.Slots = rv.Slots{Of: 2, Residues: []int64{1}}
	take := func(until int64) func(*Slots, *taken) {
		return func(s *Slots, k *taken) { s.Take(until*ms, until*ms, k) }
	}
	apply := func(now int64, c Change) func(*Slots, *taken) {
		return func(s *Slots, k *taken) {
			c.At *= ms
			s.Add(c)
			s.Apply(now*ms, now*ms, k)
		}
	}
	lease := func(now int64, l *Lease) func(*Slots, *taken) {
		return func(s *Slots, k *taken) {
			if s.Pause(l, now*ms) {
				*k = append(*k, "pause")
			}
			s.Resume(now*ms, k)
		}
	}
	ends := &Lease{}
	ends.Set(1150 * ms)
	lapsed := &Lease{}
	lapsed.Set(1150 * ms)
	lapsed.Renew(5000*ms, 1160*ms)
	for name, tt := range map[string]struct {
		do []func(*Slots, *taken)
		// want is what was taken, with the slots as "slot number of stage due", and then the next task.
		want string
	}{
		"before the start":         {[]func(*Slots, *taken){take(1000)}, "next 1000"},
		"first slots":              {[]func(*Slots, *taken){take(1101)}, "slot 0 of stage 0 due at 1000, slot 1 of stage 0 due at 1100, next 1200"},
		"two stages":               {[]func(*Slots, *taken){take(1201), take(1351)}, "slot 0 of stage 0 due at 1000, slot 1 of stage 0 due at 1100, slot 2 of stage 0 due at 1200, slot 0 of stage 1 due at 1300, slot 1 of stage 1 due at 1350, next 1400"},
		"over":                     {[]func(*Slots, *taken){func(s *Slots, k *taken) { s.Halt(1050 * ms) }, take(9999)}, "over"},
		"a change of the rate":     {[]func(*Slots, *taken){apply(1150, Change{At: 1100, Rates: rates(20, 20)}), take(1151)}, "slot 0 of stage 0 due at 1000, slot 1 of stage 0 due at 1100, slot 2 of stage 0 due at 1150, next 1200"},
		"a change that comes":      {[]func(*Slots, *taken){take(1001), apply(1001, Change{At: 1050, Rates: rates(20, 20)})}, "slot 0 of stage 0 due at 1000, next 1050"},
		"another share":            {[]func(*Slots, *taken){apply(1050, Change{At: 1050, Rates: rates(10, 20), Share: &half}), take(1201)}, "slot 0 of stage 0 due at 1000, slot 1 of stage 0 due at 1100, next 1300"},
		"leaves":                   {[]func(*Slots, *taken){apply(1150, Change{At: 1050, Leave: true}), take(9999)}, "slot 0 of stage 0 due at 1000, over"},
		"the lease ends":           {[]func(*Slots, *taken){take(1001), lease(1160, ends), take(1201)}, "slot 0 of stage 0 due at 1000, pause, 2 of stage 0 dropped, next 1500"},
		"the lease had ended":      {[]func(*Slots, *taken){take(1001), lease(1250, lapsed), take(1351)}, "slot 0 of stage 0 due at 1000, pause, 2 of stage 0 dropped, slot 0 of stage 1 due at 1300, slot 1 of stage 1 due at 1350, next 1400"},
		"the load ends in a pause": {[]func(*Slots, *taken){take(1001), lease(1160, ends), func(s *Slots, k *taken) { s.Pass(1600*ms, k) }}, "slot 0 of stage 0 due at 1000, pause, 2 of stage 0 dropped, 4 of stage 1 dropped, over"},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(program, plan.Rates, split.Whole(plan).Slots, 1)
			s.Start(1000*ms, nil)
			var got taken
			for _, f := range tt.do {
				f(&s, &got)
			}
			if next := s.Next(0); s.Over() {
				got = append(got, "over")
			} else {
				got = append(got, fmt.Sprint("next ", next/ms))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNumbersOfLongClosedLoops: each slot has 400,020 numbers, and a slot of a closed loop is a nanosecond. All numbers fit, so that those after a
// change of the share are none of those before.
func TestNumbersOfLongClosedLoops(t *testing.T) {
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		rates []rv.Rate
		// at is when the share changes.
		at time.Duration
	}{
		"short":               {[]rv.Rate{{ClosedLoop: true, Duration: time.Hour}}, time.Minute},
		"long":                {[]rv.Rate{{ClosedLoop: true, Duration: 30 * day}}, day},
		"after a closed loop": {[]rv.Rate{{ClosedLoop: true, Duration: 25 * day}, {Count: 1, Period: time.Second, Duration: day}}, 25*day + time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(&chain.Program{}, tt.rates, rv.Slots{Of: 1, Residues: []int64{0}}, 400_020)
			s.Start(0, nil)
			own := &s.All()[0]
			first := own.Number(0)
			half := &rv.Share{Slots: rv.Slots{Of: 2, Residues: []int64{1}}}
			s.Add(Change{At: int64(tt.at), Rates: tt.rates, Share: half})
			s.Apply(int64(tt.at), int64(tt.at), &taken{})
			if got, next := own.Number(own.Slot()), own.Number(own.Slot()+1); got <= first || next <= got {
				t.Errorf("the first number is %d, those after the change are %d and %d", first, got, next)
			}
			s.Halt(int64(tt.at + time.Minute))
			if got := s.NumberAfterAll(); got <= first {
				t.Errorf("the first number is %d, and %d after the load", first, got)
			}
		})
	}
}
