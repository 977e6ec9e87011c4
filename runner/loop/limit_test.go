package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/slots"
)

// mostInASecond is the highest number of requests that the peer has seen in a second.
func (b *bench) mostInASecond() (most int) {
	first := 0
	for i, r := range b.served {
		for r.At-b.served[first].At >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// onHalf is a share of every second slot.
func onHalf(p *rv.Plan) rv.Share {
	s := split.Whole(p)
	s.Slots = rv.Slots{Of: 2, Residues: []int64{0}}
	return s
}

// TestRequestLimit: whatever makes requests, the peer sees at most the limit and one second of it more. What is above it is dropped if it was
// due, and else waits.
func TestRequestLimit(t *testing.T) {
	const limit, seconds = 50, 4
	load := func(change func(*rv.Rate), edit func(*rv.Step)) *rv.Plan {
		r := perSecond(40, seconds*time.Second)
		if change != nil {
			change(&r)
		}
		p := gets(r)
		if edit != nil {
			edit(&p.Chains[0].Steps[0])
		}
		p.RequestLimit = limit
		return p
	}
	chains := func(r *rv.Rate) { r.ChainsPerSecond = true }
	closed := func(r *rv.Rate) { *r = rv.Rate{Name: "r", ClosedLoop: true, Duration: seconds * time.Second} }
	retries := func(s *rv.Step) { s.OnFailure = rv.OnFailure{Retries: 20, Backoff: time.Millisecond} }
	with := func(p *rv.Plan, f func(*rv.Plan)) *rv.Plan { f(p); return p }
	once := func(phase rv.Phase) func(*rv.Plan) {
		return func(p *rv.Plan) {
			s := p.Chains[0].Steps[0]
			s.Repeat = 175
			p.Chains = append(p.Chains, rv.Chain{Name: "once", Phase: phase, Steps: []rv.Step{s}})
			p.Rates = []rv.Rate{perSecond(1, time.Second)}
		}
	}
	broken := func(*simRequest) reply { return reply{Status: 500, After: time.Millisecond} }
	type counts struct {
		// Served is what the peer saw, Sent what the worker counted.
		Served, Sent int
		Limited      rv.Limited
		// Dropped are those with the cause of the limit.
		Dropped int64
	}
	const all = limit * (seconds + 1)
	for name, tt := range map[string]struct {
		plan  *rv.Plan
		share func(*rv.Plan) rv.Share
		serve func(*simRequest) reply
		want  counts
	}{
		"below the limit":                {plan: load(nil, nil), want: counts{Served: 160, Sent: 160}},
		"at the limit":                   {plan: load(func(r *rv.Rate) { r.Count = limit }, nil), want: counts{Served: 200, Sent: 200}},
		"retries of a rate of chains":    {plan: load(chains, retries), serve: broken, want: counts{Served: all - 2, Sent: all - 2, Limited: rv.Limited{Dropped: 160}, Dropped: 160}},
		"retries in slots":               {plan: load(nil, retries), serve: broken, want: counts{Served: 160, Sent: 160}},
		"redirects":                      {plan: load(chains, func(s *rv.Step) { s.MaxRedirects = 5 }), serve: func(*simRequest) reply { return redirectTo(307, "/") }, want: counts{Served: all - 2, Sent: all - 2, Limited: rv.Limited{Dropped: 150}, Dropped: 150}},
		"steps in parallel":              {plan: with(load(chains, func(s *rv.Step) { s.Group = 1 }), func(p *rv.Plan) { p.Chains[0].Steps = slices.Repeat(p.Chains[0].Steps, 4) }), want: counts{Served: all - 2, Sent: all - 2, Limited: rv.Limited{Dropped: 392}, Dropped: 392}},
		"half of the slots":              {plan: load(chains, retries), share: onHalf, serve: broken, want: counts{Served: all/2 - 2, Sent: all/2 - 2, Limited: rv.Limited{Dropped: 80}, Dropped: 80}},
		"a closed loop of streams":       {plan: load(closed, nil), want: counts{Served: all - 1, Sent: all - 1, Limited: rv.Limited{Waited: 199}}},
		"a closed loop of requests":      {plan: load(func(r *rv.Rate) { closed(r); r.Count = 10 }, nil), want: counts{Served: all - 1, Sent: all - 1, Limited: rv.Limited{Waited: 199}}},
		"a closed loop ends by requests": {plan: load(func(r *rv.Rate) { *r = rv.Rate{Name: "r", ClosedLoop: true, Requests: 300} }, nil), want: counts{Served: 300, Sent: 300, Limited: rv.Limited{Waited: 250}}},
		"requests that the peer refuses": {plan: load(func(r *rv.Rate) { r.Count = limit }, nil), serve: refusesOnce(), want: counts{Served: all, Sent: all / 2, Limited: rv.Limited{Dropped: 75}, Dropped: 75}},
		"setup":                          {plan: with(load(nil, nil), once(rv.PhaseSetup)), want: counts{Served: 176, Sent: 1, Limited: rv.Limited{Waited: 123}}},
		"setup, half of the slots":       {plan: with(load(nil, nil), once(rv.PhaseSetup)), share: onHalf, want: counts{Served: 176, Sent: 1, Limited: rv.Limited{Waited: 123}}},
		"teardown":                       {plan: with(load(nil, nil), once(rv.PhaseTeardown)), want: counts{Served: 176, Sent: 1, Limited: rv.Limited{Waited: 123}}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.share == nil {
				tt.share = split.Whole
			}
			if tt.serve == nil {
				tt.serve = ok(time.Millisecond)
			}
			b := newBenchOf(t, tt.plan, tt.share(tt.plan), tt.serve)
			totals := b.run()
			got := counts{Served: len(b.served), Sent: int(totals.Sent), Limited: b.w.Read().Limited}
			for _, f := range b.w.rec.Failures.List() {
				if f.Of == rv.FailureDropped && f.Cause == rv.CauseRequestLimit {
					got.Dropped += f.Count
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if most := b.mostInASecond(); most > 2*limit {
				t.Errorf("%d requests in a second", most)
			}
			for i := range b.w.rec.Steps {
				if p := b.w.rec.Steps[i].ResponseTime.Quantile(1); p > 50_000 {
					t.Errorf("step %d: a response time of %d us: it has the wait for the limit", i, p)
				}
			}
		})
	}
}

// refusesOnce refuses each other request.
func refusesOnce() func(*simRequest) reply {
	n := 0
	return func(*simRequest) reply {
		if n++; n%2 == 1 {
			return reply{Resets: true, Reset: http2.ErrCodeRefusedStream}
		}
		return reply{Status: 200}
	}
}

// A share that grows while the test runs brings its part of the limit.
func TestRequestLimitFollowsTheShare(t *testing.T) {
	r := perSecond(100, 4*time.Second)
	r.ChainsPerSecond = true
	p := gets(r)
	p.Chains[0].Steps[0].OnFailure = rv.OnFailure{Retries: 20, Backoff: time.Millisecond}
	p.RequestLimit = 100
	b := newBenchOf(t, p, onHalf(p), func(*simRequest) reply { return reply{Status: 500} })
	b.onStart = append(b.onStart, func() {
		whole := split.Whole(p)
		b.w.Change(slots.Change{At: b.startAt + int64(2*time.Second), Rates: p.Rates, Share: &whole})
	})
	b.run()
	var first, second int
	for _, r := range b.served {
		if r.At-time.Duration(b.startAt) < 2*time.Second {
			first++
		} else {
			second++
		}
	}
	if first != 50*3-1 || second != 100*2 {
		t.Errorf("%d and %d requests, want 149 and 200", first, second)
	}
}
