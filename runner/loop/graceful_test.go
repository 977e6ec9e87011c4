package loop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/slots"
)

// TestGracefulStop runs chains that create something and delete it 300 ms later.
func TestGracefulStop(t *testing.T) {
	const ms = time.Millisecond
	graceful := func(sent, completed, cutOff int64) rv.GracefulCounters {
		return rv.GracefulCounters{OnceCounters: rv.OnceCounters{Sent: sent, Succeeded: sent}, Completed: completed, CutOff: cutOff}
	}
	pair := func(rates ...rv.Rate) *rv.Plan {
		p := gets(rates...)
		second := p.Chains[0].Steps[0]
		second.Name, second.Path, second.Think = "delete", rv.Text{{Literal: "/delete"}}, &rv.Think{Fixed: 300 * ms}
		p.Chains[0].Steps = append(p.Chains[0].Steps, second)
		return p
	}
	rate, chains := perSecond(100, time.Second), perSecond(100, time.Second)
	chains.ChainsPerSecond = true
	for _, tt := range []struct {
		name  string
		rate  rv.Rate
		grace time.Duration
		act   func(b *bench)
		want  rv.GracefulCounters
		// deleted is the number of requests to /delete, created that of the others.
		created, deleted int
		ended            time.Duration
	}{
		{"none", chains, 0, nil, rv.GracefulCounters{}, 100, 70, time.Second},
		{"all finish", chains, time.Second, nil, graceful(30, 30, 0), 100, 100, 1294 * ms},
		{"some are cut off", chains, 100 * ms, nil, graceful(10, 10, 20), 100, 80, 1100 * ms},
		{"steps need no slot", rate, time.Second, nil, graceful(24, 24, 0), 62, 62, 1224 * ms},
		{"stopped", chains, time.Second, func(b *bench) {
			b.in(500*ms+ms/2, func() { b.w.Do(func(w *Worker) { w.Stop(true) }) })
		}, graceful(31, 31, 0), 50, 50, 794 * ms},
		{"interrupted twice", chains, time.Second, func(b *bench) {
			b.in(500*ms+ms/2, func() { b.w.Do(func(w *Worker) { w.Stop(true) }) })
			b.in(600*ms+ms/2, func() { b.w.Do(func(w *Worker) { w.Stop(false) }) })
		}, graceful(10, 10, 21), 50, 29, 590 * ms},
		{"the shard leaves", chains, time.Second, func(b *bench) {
			b.w.Change(slots.Change{At: b.startAt + int64(500*ms+ms/2), Leave: true})
		}, graceful(31, 31, 0), 51, 51, 804 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, pair(tt.rate), ok(2*ms))
			b.w.cfg.GracefulStop = tt.grace
			if tt.act != nil {
				b.onStart = append(b.onStart, func() { tt.act(b) })
			}
			got := b.run()
			r := b.w.rec
			if diff := cmp.Diff(tt.want, r.Graceful); diff != "" {
				t.Errorf("after the load (-want +got):\n%s", diff)
			}
			deleted := 0
			for _, s := range b.served {
				if s.Fields[":path"] == "/delete" {
					deleted++
				}
			}
			if created := len(b.served) - deleted; created != tt.created || deleted != tt.deleted {
				t.Errorf("%d created and %d deleted, want %d and %d", created, deleted, tt.created, tt.deleted)
			}
			if int(got.Sent+r.Graceful.Sent) != len(b.served) {
				t.Errorf("sent %d and %d after the load, the peer counted %d", got.Sent, r.Graceful.Sent, len(b.served))
			}
			if c := r.Chains[0]; c.Started-c.Completed-c.Aborted != r.Graceful.Completed+r.Graceful.CutOff && tt.grace > 0 {
				t.Errorf("chains %+v, after the load %+v", c, r.Graceful)
			}
			if ended := time.Duration(b.clock - b.startAt).Truncate(ms); ended != tt.ended {
				t.Errorf("ended after %v, want %v", ended, tt.ended)
			}
		})
	}
}

// TestStepsWaitAtTheEnd: at the end of the load, the second step of the last instance is ready and waits for a slot. Nothing else happens from then on.
func TestStepsWaitAtTheEnd(t *testing.T) {
	b := newBench(t, steps(perSecond(101, time.Second), step("create"), step("delete")), ok(2*time.Millisecond))
	b.w.cfg.GracefulStop = time.Second
	b.run()
	want := rv.GracefulCounters{OnceCounters: rv.OnceCounters{Sent: 1, Succeeded: 1}, Completed: 1}
	if diff := cmp.Diff(want, b.w.rec.Graceful); diff != "" {
		t.Errorf("after the load (-want +got):\n%s", diff)
	}
}

// TestStepsWaitForLongBeforeTheEnd: steps that waited for slots in a stage of rate 0 wait for a stream from the end of the load on.
func TestStepsWaitForLongBeforeTheEnd(t *testing.T) {
	think := func(s *rv.Step) { s.Think = &rv.Think{Fixed: 300 * time.Millisecond} }
	p := steps(perSecond(100, time.Second), step("create"), step("delete", think))
	p.Rates = append(p.Rates, perSecond(0, 2*time.Second))
	p.Targets[0].MaxConcurrentStreams = 1
	b := newBench(t, p, ok(2*time.Millisecond))
	b.w.cfg.GracefulStop = 5 * time.Second
	b.run()
	want := rv.GracefulCounters{OnceCounters: rv.OnceCounters{Sent: 24, Succeeded: 24}, Completed: 24}
	if diff := cmp.Diff(want, b.w.rec.Graceful); diff != "" {
		t.Errorf("after the load (-want +got):\n%s", diff)
	}
}

// TestLeaseDuringGracefulStop: chain instances of a load that ended after a second continue for at most 500 ms, and send nothing without a
// lease, for example while the operator restarts. Each instance sends its second step 300 ms after its first one.
func TestLeaseDuringGracefulStop(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name     string
		lease    time.Duration
		renewals []renewal
		// want are the instances that completed, and those that were cut off.
		want [2]int64
		// quiet is the time in which nothing may be sent.
		quiet [2]time.Duration
		ended time.Duration
	}{
		{"no gap", 5000 * ms, nil, [2]int64{30, 0}, [2]time.Duration{}, 1294 * ms},
		{"renewed in time", 1100 * ms, []renewal{{1050 * ms, 5000 * ms}}, [2]int64{30, 0}, [2]time.Duration{}, 1294 * ms},
		{"renewed late", 1100 * ms, []renewal{{1200 * ms, 5000 * ms}}, [2]int64{30, 0}, [2]time.Duration{1100 * ms, 1200 * ms}, 1294 * ms},
		{"renewed after the time", 1100 * ms, []renewal{{1600 * ms, 5000 * ms}}, [2]int64{10, 20}, [2]time.Duration{1100 * ms, time.Hour}, 1500 * ms},
		{"expires when a step is ready", 1102 * ms, nil, [2]int64{10, 20}, [2]time.Duration{1102 * ms, time.Hour}, 1500 * ms},
		{"expires", 1100 * ms, nil, [2]int64{10, 20}, [2]time.Duration{1100 * ms, time.Hour}, 1500 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rate := perSecond(100, time.Second)
			rate.ChainsPerSecond = true
			p := gets(rate)
			second := p.Chains[0].Steps[0]
			second.Name, second.Think = "delete", &rv.Think{Fixed: 300 * ms}
			p.Chains[0].Steps = append(p.Chains[0].Steps, second)
			b := newBench(t, p, ok(2*ms))
			b.w.cfg.GracefulStop = 500 * ms
			b.lease(tt.lease, tt.renewals...)
			got := b.run()
			r := b.w.rec
			if got := [2]int64{r.Graceful.Completed, r.Graceful.CutOff}; got != tt.want {
				t.Errorf("chains %v, want %v", got, tt.want)
			}
			for _, served := range b.served {
				if at := served.At - time.Duration(b.startAt); at >= tt.quiet[0] && at < tt.quiet[1] {
					t.Errorf("a request at %v", at)
				}
			}
			if int(got.Sent+r.Graceful.Sent) != len(b.served) || r.Graceful.Sent != r.Graceful.Succeeded {
				t.Errorf("sent %d and %+v after the load, the peer counted %d", got.Sent, r.Graceful, len(b.served))
			}
			if ended := time.Duration(b.clock - b.startAt).Truncate(ms); ended != tt.ended {
				t.Errorf("ended after %v, want %v", ended, tt.ended)
			}
		})
	}
}

// TestGracefulStopUnderALimit: at the end of the load, all instances are in a pause, and their always steps wait for the request limit. After
// gracefulStop, none of these steps is sent.
func TestGracefulStopUnderALimit(t *testing.T) {
	const ms, limit, sent = time.Millisecond, 100, 199 // those of a full bucket and of a second
	for name, tt := range map[string]struct {
		// answers is how long a response takes, teardown how long after the worker the last one has ended its load.
		answers, teardown time.Duration
		ended             time.Duration
	}{
		"requests are in flight at the end": {answers: 50 * ms, ended: 5090 * ms},
		"none is in flight at the end":      {answers: 2 * ms, teardown: 700 * ms, ended: 5702 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			chains := perSecond(limit, 4*time.Second)
			chains.ChainsPerSecond = true
			p := made(chains, 10*time.Second)
			p.Chains = append(p.Chains, rv.Chain{Name: "end", Phase: rv.PhaseTeardown, Steps: []rv.Step{step("end")}})
			p.RequestLimit = limit
			b := newBench(t, p, func(*simRequest) reply { return reply{After: tt.answers, Status: 200, Headers: []string{"x-id", "1"}} })
			b.w.cfg.GracefulStop = time.Second
			b.teardownAfter = tt.teardown
			b.run()
			for i, r := range b.served {
				last := i == len(b.served)-1
				if at := r.At - time.Duration(b.startAt); at >= 5*time.Second != last || (r.Fields[":path"] == "/end") != last {
					t.Fatalf("request %d of %d at %v: %s", i, len(b.served), at, r.Fields[":path"])
				}
			}
			want := rv.GracefulCounters{
				OnceCounters: rv.OnceCounters{Sent: sent, Succeeded: sent}, Aborted: sent, CutOff: 4*limit - sent,
				AlwaysCounts: rv.AlwaysCounts{AlwaysSent: sent},
			}
			if diff := cmp.Diff(want, b.w.rec.Graceful); diff != "" {
				t.Errorf("after the load (-want +got):\n%s", diff)
			}
			if ended := time.Duration(b.clock - b.startAt).Truncate(ms); ended != tt.ended {
				t.Errorf("ended after %v, want %v", ended, tt.ended)
			}
		})
	}
}
