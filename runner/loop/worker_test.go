package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/pace"
)

func TestExactRate(t *testing.T) {
	b := newBench(t, gets(perSecond(3000, 2*time.Second)), ok(5*time.Millisecond))
	got := b.run()
	if want := (&rvTotals{Sent: 6000, Done: 6000, Succeeded: 6000}); !cmp.Equal(want, got) {
		t.Fatalf("got %+v", got)
	}
	if len(b.served) != 6000 {
		t.Fatalf("the peer counted %d", len(b.served))
	}
	for i, r := range b.served {
		want := time.Duration(b.startAt + int64(i)*int64(time.Second)/3000)
		if r.At != want {
			t.Fatalf("request %d was sent at %v, due at %v", i, r.At, want)
		}
	}
	h := &b.w.rec.Steps[0].ResponseTime
	if h.Min() != 5000 || h.Max() != 5000 {
		t.Errorf("response times %d..%d us, want 5000", h.Min(), h.Max())
	}
	if b.w.rec.Lag.Max() != 0 || b.w.rec.Targets[0].Blocked.Max() != 0 {
		t.Errorf("lag %d, blocked %d us in a world without delay", b.w.rec.Lag.Max(), b.w.rec.Targets[0].Blocked.Max())
	}
}

func TestRequestsBoundIsExact(t *testing.T) {
	for _, r := range []rv.Rate{
		{Name: "a", Count: 700, Period: time.Second, Requests: 1234},
		{Name: "b", ClosedLoop: true, Requests: 1234},
		{Name: "c", Count: 100, Period: time.Second, Requests: 1234, Duration: time.Minute},
	} {
		t.Run(r.Name, func(t *testing.T) {
			got := newBench(t, gets(r), ok(time.Millisecond)).run()
			if got.Sent != 1234 || got.Done != 1234 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestStalledPeer is the test of honesty: the peer answers nothing for a while, and everybody who
// came due in that time is seen to have waited.
func TestStalledPeer(t *testing.T) {
	var b *bench
	b = newBench(t, gets(perSecond(1000, 2*time.Second)), func(r *simRequest) reply {
		since := r.At - time.Duration(b.startAt)
		if since >= time.Second && since < 1500*time.Millisecond {
			return reply{Status: 200, After: 1500*time.Millisecond - since}
		}
		return reply{Status: 200}
	})
	got := b.run()
	if got.Sent != 2000 || got.Succeeded != 2000 {
		t.Fatalf("got %+v", got)
	}
	h := &b.w.rec.Steps[0].ResponseTime
	// 500 of 2000 requests were due in the stall, evenly over 500 ms.
	for q, want := range map[float64]int64{0.75: 1000, 0.9: 300_000, 0.99: 480_000} {
		if v := h.Quantile(q); v > want+want/100+1000 || v < want-want/100-1000 {
			t.Errorf("quantile %v = %d us, want about %d", q, v, want)
		}
	}
	// Only 100 streams: those due later in the stall waited for a stream, through no fault of the
	// generator.
	if b.w.rec.Lag.Max() != 0 || b.w.rec.Targets[0].Blocked.Max() < 300_000 {
		t.Errorf("lag %d, blocked %d us", b.w.rec.Lag.Max(), b.w.rec.Targets[0].Blocked.Max())
	}
}

func TestSlowGeneratorShowsInLag(t *testing.T) {
	b := newBench(t, gets(perSecond(1000, time.Second)), ok(0))
	b.turnCost = 20 * time.Millisecond
	got := b.run()
	if got.Sent != 1000 {
		t.Fatalf("got %+v", got)
	}
	if m := b.w.rec.Lag.Max(); m < 18_000 {
		t.Errorf("lag of a generator that turns every 20 ms is %d us", m)
	}
}

func TestTimeouts(t *testing.T) {
	n := 0
	b := newBench(t, gets(perSecond(100, time.Second)), func(*simRequest) reply {
		if n++; n%10 == 0 {
			return reply{}
		}
		return reply{Status: 200, After: time.Millisecond}
	})
	got := b.run()
	if want := (&rvTotals{Sent: 100, Done: 90, Succeeded: 90, TimedOut: 10}); !cmp.Equal(want, got) {
		t.Fatalf("got %+v", got)
	}
	if len(b.conns) != 1 || len(b.conns[0].Resets) != 10 {
		t.Errorf("%d streams were reset on %d connections", len(b.conns[0].Resets), len(b.conns))
	}
}

// TestTimeoutsWaitForTheNextTurn: timeouts do not wake a worker that sends requests at a rate, and are late by at most the
// sleep interval.
func TestTimeoutsWaitForTheNextTurn(t *testing.T) {
	const interval, timeout = 500 * time.Microsecond, 100*time.Millisecond + 130*time.Microsecond // between two turns
	p := gets(perSecond(10_000, time.Second))
	p.Targets[0].MaxConcurrentStreams = 1000
	p.Chains[0].Steps[0].Timeout, p.Drain = timeout, timeout
	n := 0
	b := newBench(t, p, func(*simRequest) reply {
		if n++; n%5 == 0 {
			return reply{}
		}
		return reply{Status: 200}
	})
	b.w.cfg.SleepInterval = interval
	got := b.run()
	if want := (&rvTotals{Sent: 10_000, Done: 8000, Succeeded: 8000, TimedOut: 2000}); !cmp.Equal(want, got) {
		t.Fatalf("got %+v", got)
	}
	if mean := time.Duration(b.w.rec.Steps[0].Occupied / 2000); mean < timeout || mean > timeout+interval {
		t.Errorf("timeouts after %v, want at most %v more than %v", mean, interval, timeout)
	}
	// A turn sends, the next one receives. In the drain, each timeout has its turn.
	if most := 2*2000 + 250; b.waits > most {
		t.Errorf("%d turns, want at most %d", b.waits, most)
	}
}

func TestDroppedWhenNoStreamComesFree(t *testing.T) {
	p := gets(perSecond(100, time.Second))
	p.Targets[0].MaxConcurrentStreams = 1
	p.Chains[0].Steps[0].Timeout = 10 * time.Second
	p.Drain = 300 * time.Millisecond
	b := newBench(t, p, ok(250*time.Millisecond))
	got := b.run()
	if got.Dropped == 0 || got.Sent+got.Dropped != 100 || got.Sent != int64(len(b.served)) {
		t.Errorf("got %+v, the peer counted %d", got, len(b.served))
	}
	if got.InFlight != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestPeerLimitsStreams(t *testing.T) {
	most, open := 0, 0
	var b *bench
	b = newBench(t, gets(rv.Rate{Name: "r", ClosedLoop: true, Requests: 500}), func(*simRequest) reply {
		open++
		most = max(most, open)
		b.in(time.Millisecond, func() { open-- })
		return reply{Status: 200, After: time.Millisecond}
	})
	b.settings = []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 7}}
	if got := b.run(); got.Done != 500 || most != 7 {
		t.Errorf("got %+v with %d streams at once, want 7", got, most)
	}
}

func TestChainFollowsLocation(t *testing.T) {
	p := gets(rv.Rate{Name: "r", Count: 300, Period: time.Second, Requests: 300})
	p.Variables = []rv.Variable{{Name: "ue", Range: &rv.Range{Start: 0, End: 1000, Step: 1, Width: 4}}}
	second := time.Second
	p.Chains = []rv.Chain{{
		Name: "life", Weight: 1, Captures: []string{"at"},
		Steps: []rv.Step{
			{Name: "create", Method: "POST", Path: rv.Text{{Literal: "/s"}}, Body: rv.Text{{Variable: 1}}, Timeout: second, Capture: []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}, Location: true}}},
			{Name: "update", Method: "PATCH", Path: rv.Text{{Capture: 1}}, Body: rv.Text{{Literal: "p"}, {Variable: 1}}, Timeout: second},
			{Name: "delete", Method: "DELETE", Path: rv.Text{{Capture: 1}}, Timeout: second},
		},
	}}
	var got []string
	b := newBench(t, p, func(r *simRequest) reply {
		got = append(got, fmt.Sprintf("%s %s %s", r.Fields[":method"], r.Fields[":path"], r.Body))
		if r.Fields[":method"] == "POST" {
			return reply{Status: 201, After: 2 * time.Millisecond, Headers: []string{"x", "y", "location", "http://other:1/s/id-" + string(r.Body) + "?q#f"}}
		}
		return reply{Status: 204, After: 2 * time.Millisecond}
	})
	totals := b.run()
	if totals.Sent != 300 || totals.Succeeded != 300 {
		t.Fatalf("got %+v", totals)
	}
	seen := map[string]int{}
	for _, line := range got {
		seen[line]++
	}
	c := b.w.rec.Chains[0]
	for i := range c.Completed {
		id := fmt.Sprintf("%04d", i)
		for _, want := range []string{"POST /s " + id, "PATCH /s/id-" + id + "?q p" + id, "DELETE /s/id-" + id + "?q "} {
			if seen[want] != 1 {
				t.Fatalf("%q was sent %d times", want, seen[want])
			}
		}
	}
	if c.Completed < 98 || c.Aborted != 0 {
		t.Errorf("chains: %+v", c)
	}
}

func TestChainAborts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply reply
		want  rvTotals
	}{
		{"a status that is not accepted", reply{Status: 404}, rvTotals{Sent: 10, Done: 10}},
		{"the capture is missing", reply{Status: 201}, rvTotals{Sent: 10, Done: 10, Succeeded: 10}},
		{"a reset", reply{Resets: true, Reset: http2.ErrCodeInternal}, rvTotals{Sent: 10, Reset: 10}},
		{"no answer", reply{}, rvTotals{Sent: 10, TimedOut: 10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(perSecond(10, time.Second))
			p.Chains[0].Captures = []string{"at"}
			p.Chains[0].Steps[0].Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}, Location: true}}
			p.Chains[0].Steps = append(p.Chains[0].Steps, rv.Step{Name: "next", Method: "GET", Path: rv.Text{{Capture: 1}}, Timeout: time.Second})
			b := newBench(t, p, func(*simRequest) reply { return tt.reply })
			got := b.run()
			if !cmp.Equal(&tt.want, got) {
				t.Errorf("got %+v, want %+v", got, &tt.want)
			}
			if c := b.w.rec.Chains[0]; c.Started != 10 || c.Aborted != 10 {
				t.Errorf("chains: %+v", c)
			}
		})
	}
}

func TestGoAwayLosesAndDoublesNothing(t *testing.T) {
	n := 0
	b := newBench(t, gets(perSecond(1000, time.Second)), func(*simRequest) reply {
		if n++; n%100 == 0 {
			return reply{Goaway: true}
		}
		return reply{Status: 200, After: 3 * time.Millisecond}
	})
	got := b.run()
	if got.Sent != 1000 || got.Done != 1000 || got.Retried == 0 || got.Lost != 0 {
		t.Fatalf("got %+v", got)
	}
	if len(b.served) != int(got.Sent+got.Retried) {
		t.Errorf("the peer saw %d, sent and retried are %d", len(b.served), got.Sent+got.Retried)
	}
	if len(b.conns) < 10 {
		t.Errorf("%d connections for ten GOAWAYs", len(b.conns))
	}
}

func TestRefusedStreamIsRetriedOnce(t *testing.T) {
	b := newBench(t, gets(perSecond(10, time.Second)), func(*simRequest) reply {
		return reply{Resets: true, Reset: http2.ErrCodeRefusedStream}
	})
	got := b.run()
	if want := (&rvTotals{Sent: 10, Reset: 10, Retried: 10}); !cmp.Equal(want, got) || len(b.served) != 20 {
		t.Errorf("got %+v, the peer saw %d", got, len(b.served))
	}
}

func TestLostConnectionIsReplaced(t *testing.T) {
	n := 0
	b := newBench(t, gets(perSecond(1000, time.Second)), func(*simRequest) reply {
		if n++; n == 500 {
			return reply{HangUp: true}
		}
		return reply{Status: 200, After: 2 * time.Millisecond}
	})
	got := b.run()
	if got.Sent != 1000 || got.Lost == 0 || got.Lost > 5 || got.Done != 1000-got.Lost {
		t.Errorf("got %+v", got)
	}
	if b.w.rec.Reconnects != 1 || b.w.rec.Connects != 2 {
		t.Errorf("connects %d, reconnects %d", b.w.rec.Connects, b.w.rec.Reconnects)
	}
}

func TestConnectIsTriedAgain(t *testing.T) {
	b := newBench(t, gets(perSecond(10, time.Second)), ok(0))
	b.refuse = 3
	if got := b.run(); got.Done != 10 {
		t.Errorf("got %+v", got)
	}
}

func TestSilentPeerIsGivenUp(t *testing.T) {
	b := newBench(t, gets(perSecond(10, time.Second)), ok(0))
	b.silent = 2
	if got := b.run(); got.Done != 10 || len(b.conns) != 3 {
		t.Errorf("got %+v over %d connections", got, len(b.conns))
	}
	if b.startAt < 2*int64(time.Second) {
		t.Errorf("ready at %v, before two timeouts of a second", time.Duration(b.startAt))
	}
}

func TestWarmUpIsCountedApart(t *testing.T) {
	warm := perSecond(100, time.Second)
	warm.WarmUp = true
	b := newBench(t, gets(warm, perSecond(200, time.Second)), ok(time.Millisecond))
	got := b.run()
	if want := (&rvTotals{Sent: 200, Done: 200, Succeeded: 200, WarmUp: 100}); !cmp.Equal(want, got) {
		t.Errorf("got %+v", got)
	}
	if len(b.served) != 300 || b.w.rec.Lag.Count() != 200 {
		t.Errorf("the peer saw %d, lag has %d", len(b.served), b.w.rec.Lag.Count())
	}
	want := []pace.Span{
		{Begun: true, Ended: true, To: int64(time.Second)},
		{Begun: true, Ended: true, From: int64(time.Second), To: int64(2 * time.Second)},
	}
	if diff := cmp.Diff(want, b.w.Read().Stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}

func TestStop(t *testing.T) {
	for _, drain := range []bool{true, false} {
		t.Run(fmt.Sprint("drain=", drain), func(t *testing.T) {
			b := newBench(t, gets(perSecond(1000, time.Minute)), ok(50*time.Millisecond))
			b.in(time.Second, func() { b.w.Do(func(w *Worker) { w.Stop(drain) }) })
			got := b.run()
			if got.Sent < 900 || got.Sent > 1000 {
				t.Errorf("got %+v", got)
			}
			if drain == (got.InFlight > 0) {
				t.Errorf("got %+v with drain=%v", got, drain)
			}
			if last := b.served[len(b.served)-1].At; last > time.Second+2000 {
				t.Errorf("a request was sent at %v, after the stop", last)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	p := gets(perSecond(100, time.Minute))
	p.Deadline = 2 * time.Second
	b := newBench(t, p, ok(0))
	if got := b.run(); got.Sent != 200 || !b.w.DeadlineExceeded() {
		t.Errorf("got %+v, deadline exceeded: %v", got, b.w.DeadlineExceeded())
	}
}

// TestTeardownAfterTheDeadline: a worker that waits for teardown waits for its operator, and its deadline is over.
func TestTeardownAfterTheDeadline(t *testing.T) {
	p := gets(perSecond(100, time.Second))
	p.Deadline = 2 * time.Second
	p.Chains = append(p.Chains, rv.Chain{Name: "down", Phase: rv.PhaseTeardown, Steps: p.Chains[0].Steps})
	b := newBench(t, p, ok(0))
	b.teardownAfter = time.Minute
	if got := b.run(); got.Sent != 100 || b.w.DeadlineExceeded() || len(b.served) != 101 {
		t.Errorf("got %+v with %d requests, deadline exceeded: %v", got, len(b.served), b.w.DeadlineExceeded())
	}
}

// TestDrain: a run that is not cut off awaits the outcome of each request, however late it was sent.
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		drain time.Duration
		serve func(*simRequest) reply
		// streams of the one connection.
		streams int
		want    rvTotals
	}{
		{"none answered, and a drain below the timeout", 100 * time.Millisecond, func(*simRequest) reply { return reply{} }, 100,
			rvTotals{Sent: 10, TimedOut: 10}},
		{"sent late in the drain, and answered later", 1100 * time.Millisecond, ok(900 * time.Millisecond), 5,
			rvTotals{Sent: 10, Done: 10, Succeeded: 10}},
		{"sent late in the drain, and never answered", 1100 * time.Millisecond, func(*simRequest) reply { return reply{} }, 5,
			rvTotals{Sent: 10, TimedOut: 10}},
		{"refused for ever", 1100 * time.Millisecond, func(*simRequest) reply { return reply{Resets: true, Reset: http2.ErrCodeRefusedStream} }, 100,
			rvTotals{Sent: 10, Reset: 10, Retried: 10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(perSecond(10, time.Second))
			p.Targets[0].MaxConcurrentStreams = tt.streams
			p.Drain = tt.drain
			b := newBench(t, p, tt.serve)
			got := b.run()
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if after := time.Duration(b.clock - b.w.Read().EndedAt); after > 2200*time.Millisecond {
				t.Errorf("the drain took %v", after)
			}
		})
	}
}

// TestGivenBackForEver: a peer that gives every request back cannot keep the run from ending.
func TestGivenBackForEver(t *testing.T) {
	b := newBench(t, gets(perSecond(10, time.Second)), func(*simRequest) reply {
		return reply{After: 10 * time.Millisecond, Goaway: true}
	})
	got := b.run()
	if after := time.Duration(b.clock - b.w.Read().EndedAt); got.InFlight != 0 || after > 2200*time.Millisecond {
		t.Errorf("got %+v, %v after the last slot", got, after)
	}
}

// TestSleepsWhileDrained: a worker that awaits Teardown sleeps.
func TestSleepsWhileDrained(t *testing.T) {
	p := gets(perSecond(10, time.Second))
	p.Chains = append(p.Chains, rv.Chain{Name: "down", Phase: rv.PhaseTeardown, Steps: p.Chains[0].Steps})
	b := newBench(t, p, ok(0))
	b.turnCost = time.Microsecond // else a worker that spins would let no time pass
	b.teardownAfter = 10 * time.Second
	b.run()
	if b.waits > 200 {
		t.Errorf("%d turns for 10 requests and a wait of 10 s", b.waits)
	}
}

// TestSleepIsFromNow: the time that a turn takes is not added to the sleep that follows it.
func TestSleepIsFromNow(t *testing.T) {
	b := newBench(t, gets(perSecond(10, time.Second)), ok(0))
	b.sendCost = 20 * time.Millisecond
	b.run()
	if m := b.w.rec.Lag.Max(); m > 1000 {
		t.Errorf("lag %d us, want none: each slot is 100 ms after the one before", m)
	}
}

func TestConnectionsShareTheLoad(t *testing.T) {
	p := gets(perSecond(1000, time.Second))
	p.Targets[0].Connections = 4
	p.Targets[0].Endpoints = append(p.Targets[0].Endpoints, rv.Endpoint{Scheme: "http", Authority: "u", Address: "u:80"})
	b := newBench(t, p, ok(time.Millisecond))
	b.run()
	count := map[string]int{}
	for _, r := range b.served {
		count[fmt.Sprint(r.Conn, r.Fields[":authority"])]++
	}
	for k, n := range count {
		if n != 250 || !strings.HasSuffix(k, "t") && !strings.HasSuffix(k, "u") {
			t.Errorf("connection %s had %d requests, want 250", k, n)
		}
	}
	if len(count) != 4 {
		t.Errorf("%v", count)
	}
}

func TestMalformedBytesLoseTheConnectionOnly(t *testing.T) {
	b := newBench(t, gets(perSecond(100, time.Second)), ok(time.Millisecond))
	b.in(500*time.Millisecond, func() { b.conns[0].Out.WriteString("this is no frame at all, is it?") })
	got := b.run()
	if got.Sent != 100 || got.Done < 98 {
		t.Errorf("got %+v", got)
	}
	if len(b.conns) != 2 {
		t.Errorf("%d connections", len(b.conns))
	}
}
