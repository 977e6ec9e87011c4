package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/slots"
)

// chainsPerSecond is a stage whose slots start chain instances.
func chainsPerSecond(n int64, d time.Duration) rv.Rate {
	r := perSecond(n, d)
	r.ChainsPerSecond = true
	return r
}

func thinks(d time.Duration) func(*rv.Step) {
	return func(s *rv.Step) { s.Think = &rv.Think{Fixed: d} }
}

func TestChainsPerSecond(t *testing.T) {
	const ms = time.Millisecond
	failing := func(path string) func(*simRequest) reply {
		return func(r *simRequest) reply {
			if r.Fields[":path"] == path {
				return reply{Status: 503, After: ms}
			}
			return reply{Status: 200, After: ms}
		}
	}
	group := func(s *rv.Step) { s.Group = 1 }
	never := func(s *rv.Step) {
		s.When = []rv.Condition{{Value: lit("a"), Match: rv.Match{Op: rv.MatchEquals, Want: lit("b")}}}
	}
	parallel := steps(chainsPerSecond(20, 100*ms), step("a", group), step("b", group), step("c"))
	skipped := steps(chainsPerSecond(20, 100*ms), step("a", never), step("b"))
	none := steps(chainsPerSecond(20, 100*ms), step("a", never))
	retried := steps(chainsPerSecond(20, 50*ms), step("a"), step("b", func(s *rv.Step) {
		s.OnFailure = rv.OnFailure{Retries: 2, Backoff: 5 * ms, MaxBackoff: time.Second}
	}))
	mixed := steps(rv.Rate{}, step("a"), step("b", thinks(20*ms)))
	mixed.Rates = []rv.Rate{perSecond(100, 30*ms), chainsPerSecond(50, 40*ms), perSecond(100, 30*ms)}
	for _, tt := range []struct {
		name  string
		plan  *rv.Plan
		serve func(*simRequest) reply
		want  []string
		// started are the instances by stage.
		started []int64
	}{
		{
			"later steps are sent when they are ready",
			steps(chainsPerSecond(20, 150*ms), step("a"), step("b"), step("c", thinks(20*ms))), ok(ms),
			[]string{"0 /a", "1 /b", "22 /c", "50 /a", "51 /b", "72 /c", "100 /a", "101 /b", "122 /c"},
			[]int64{3},
		},
		{
			"no step after the end",
			steps(chainsPerSecond(20, 100*ms), step("a"), step("b", thinks(60*ms))), ok(ms),
			[]string{"0 /a", "50 /a", "61 /b"},
			[]int64{2},
		},
		{
			"all parallel steps of the first group are due with the slot",
			parallel, ok(ms),
			[]string{"0 /a", "0 /b", "1 /c", "50 /a", "50 /b", "51 /c"},
			[]int64{2},
		},
		{"a first step without its condition", skipped, ok(ms), []string{"0 /b", "50 /b"}, []int64{2}},
		{"an instance without requests", none, ok(ms), nil, []int64{2}},
		{
			"a retry needs no slot",
			retried, failing("/b"),
			[]string{"0 /a", "1 /b", "7 /b", "18 /b"},
			[]int64{1},
		},
		{
			"the active stage decides whether a step needs a slot",
			mixed, ok(ms),
			[]string{
				"0 /a", "10 /a", "20 /a", // the thinking instances end at 21, 31 and 41
				"30 /b", "30 /a", "31 /b", "41 /b", "50 /a", "51 /b",
				"70 /a", "80 /b", "90 /a", // 50 /a is ready at 71
			},
			[]int64{0, 2, 0},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.plan, tt.serve)
			b.run()
			if diff := cmp.Diff(tt.want, b.trace()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			var started []int64
			for i := range b.w.rec.Stages {
				started = append(started, b.w.rec.Stages[i].Started)
			}
			if diff := cmp.Diff(tt.started, started); diff != "" {
				t.Errorf("instances (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLaterStepsCountFromReady: the response time of a later step starts when the step is ready, and includes the wait for
// a stream.
func TestLaterStepsCountFromReady(t *testing.T) {
	p := steps(chainsPerSecond(100, 20*time.Millisecond), step("a"), step("b"))
	p.Targets[0].MaxConcurrentStreams = 1
	b := newBench(t, p, func(r *simRequest) reply {
		if r.Fields[":path"] == "/a" {
			return reply{Status: 200, After: 9 * time.Millisecond}
		}
		return reply{Status: 200, After: 4 * time.Millisecond}
	})
	b.run()
	// a is sent at 0, b at 9. The second a is due at 10, is sent at 13 and done at 22. Its b is sent after the last stage.
	if diff := cmp.Diff([]string{"0 /a", "9 /b", "13 /a"}, b.trace()); diff != "" {
		t.Fatal(diff)
	}
	if h := &b.w.rec.Steps[0].ResponseTime; h.Max() != 12_000 {
		t.Errorf("a: at most %d us, want 12000", h.Max())
	}
	if h := &b.w.rec.Steps[1].ResponseTime; h.Max() != 4000 {
		t.Errorf("b: at most %d us, want 4000", h.Max())
	}
}

// TestReadyStepsWaitInAPause: a suspended load sends no later step, and such a step is due when the load continues.
func TestReadyStepsWaitInAPause(t *testing.T) {
	const ms = time.Millisecond
	p := steps(chainsPerSecond(100, 20*ms), step("a"), step("b", thinks(6*ms)))
	b := newBench(t, p, ok(ms))
	b.announce(slots.Change{Rates: p.Rates, Suspended: true}, 5*ms, 0)
	b.announce(slots.Change{Rates: p.Rates}, 45*ms, 0)
	b.run()
	if diff := cmp.Diff([]string{"0 /a", "45 /b", "50 /a", "57 /b"}, b.trace()); diff != "" {
		t.Error(diff)
	}
	if h := &b.w.rec.Steps[1].ResponseTime; h.Max() != 1000 {
		t.Errorf("b: at most %d us, want 1000", h.Max())
	}
}

// TestScalingOfChainsPerSecond: whichever shards join and leave, all shards together start each instance once, and no number
// is drawn twice, also by later steps.
func TestScalingOfChainsPerSecond(t *testing.T) {
	const ms = time.Millisecond
	rates := []rv.Rate{chainsPerSecond(499, 700*ms), perSecond(401, 600*ms), chainsPerSecond(757, 500*ms)}
	bent := slices.Clone(rates)
	bent[0].Count, bent[1].Count = 683, 211
	for name, events := range map[string][]event{
		"1, 2, 1, 3": {
			{at: 101 * ms, rates: bent},
			{at: 203 * ms, members: []int{0, 1}, rates: bent},
			{at: 303 * ms, rates: bent, suspended: true},
			{at: 371 * ms, rates: bent},
			{at: 503 * ms, rates: bent, members: []int{0}},
			{at: 807 * ms, suspended: true},
			{at: 853 * ms},
			{at: 1407*ms + 1, members: []int{0, 1, 2}},
		},
		"in a pause": {
			{at: 203 * ms, suspended: true},
			{at: 255 * ms, suspended: true, members: []int{0, 1, 2, 3}},
			{at: 307 * ms, rates: bent},
			{at: 1355 * ms, rates: bent, members: []int{2, 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := []int{0}
			f := newFleet(t, first, events, rates...)
			f.plan.Variables[0].Scope = rv.ScopeStep
			path := f.plan.Chains[0].Steps[0].Path
			f.plan.Chains[0].Steps = []rv.Step{
				step("", func(s *rv.Step) { s.Path = path }),
				step("", thinks(30*ms), func(s *rv.Step) { s.Path = path; s.Repeat = 3 }),
			}
			f.run()
			one := f.alone()
			if diff := cmp.Diff(one.sent, f.sent); diff != "" {
				t.Errorf("slots (-of one shard +of all):\n%s", diff)
			}
			if again := f.repeated(); again != "" {
				t.Error(again)
			}
		})
	}
}

// TestLeasePauseOfChainsPerSecond: while the lease is expired, no later step is sent. Steps that became ready meanwhile are
// due when the lease is renewed.
func TestLeasePauseOfChainsPerSecond(t *testing.T) {
	const ms = time.Millisecond
	p := steps(chainsPerSecond(100, 50*ms), step("a"), step("b", thinks(6*ms)))
	b := newBench(t, p, ok(ms))
	b.w.cfg.Lease = &slots.Lease{}
	b.onStart = append(b.onStart, func() {
		b.w.cfg.Lease.Set(b.startAt + int64(5*ms))
		b.in(time.Duration(b.startAt+int64(25*ms)-b.clock), func() {
			b.w.cfg.Lease.Renew(int64(time.Hour), b.clock)
			b.w.Do(func(*Worker) {})
		})
	})
	b.run()
	got := strings.Join(b.trace(), ", ")
	if want := "0 /a, 25 /b, 30 /a, 37 /b, 40 /a, 47 /b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if h := &b.w.rec.Steps[1].ResponseTime; h.Max() != 1000 {
		t.Errorf("b: at most %d us, want 1000", h.Max())
	}
	if st := &b.w.rec.Stages[0]; fmt.Sprint(st.Slots, st.Started, st.Dropped) != "5 3 2" {
		t.Errorf("slots, started, dropped: %+v", *st)
	}
}
