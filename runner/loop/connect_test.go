package loop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestConnectionRamp(t *testing.T) {
	p := gets(perSecond(10, time.Second))
	p.Targets[0].Connections = 10
	p.Targets[0].Connecting = rv.Connecting{RampCount: 4, RampPeriod: time.Second}
	b := newBench(t, p, ok(0))
	b.run()
	var got []time.Duration
	for _, at := range b.dialledAt {
		got = append(got, at/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{0, 0, 0, 0, 1, 1, 1, 1, 2, 2}, got); diff != "" {
		t.Errorf("seconds of delay (-want +got):\n%s", diff)
	}
	if b.startAt < int64(2*time.Second) {
		t.Error("ready before the last connection was open")
	}
}

func TestMaxRequestsRetiresConnections(t *testing.T) {
	p := gets(perSecond(1000, time.Second))
	p.Targets[0].Connecting.MaxRequests = 100
	b := newBench(t, p, ok(3*time.Millisecond))
	got := b.run()
	if want := (&rvTotals{Sent: 1000, Done: 1000, Succeeded: 1000}); !cmp.Equal(want, got) {
		t.Fatalf("got %+v", got)
	}
	count := map[int]int{}
	for _, r := range b.served {
		count[r.Conn]++
	}
	for i := range 10 {
		if count[i] != 100 || !b.conns[i].Goodbye || !b.conns[i].hungUp {
			t.Errorf("connection %d carried %d requests; said goodbye: %v, closed: %v", i, count[i], b.conns[i].Goodbye, b.conns[i].hungUp)
		}
	}
}

// TestIdleConnectIsNoTimeout: a connection that the loop has opened again before a request needs it does not time out.
func TestIdleConnectIsNoTimeout(t *testing.T) {
	for name, hangs := range map[string]bool{"the target answers": false, "the target does not answer": true} {
		t.Run(name, func(t *testing.T) {
			p := gets(rv.Rate{Name: "r", Count: 1, Period: 20 * time.Second, Duration: 90 * time.Second})
			p.Targets[0].Protocol, p.Targets[0].Connecting.MaxRequests = rv.ProtocolHTTP1, 1
			b := newBench(t, p, ok(0))
			b.direct, b.protocol, b.hangs = true, rv.ProtocolHTTP1, hangs
			got := b.run()
			if timeouts := failureCount(b, rv.CauseConnectTimeout); got.Done != 5 || (timeouts > 0) != hangs {
				t.Errorf("%+v, %d connections timed out", got, timeouts)
			}
		})
	}
}

func failureCount(b *bench, cause rv.Cause) (n int64) {
	for _, f := range b.w.rec.Failures.List() {
		if f.Cause == cause {
			n += f.Count
		}
	}
	return n
}

// TestPhasesOfConnections: each connection that is opened has the times of its phases, also if the loop opens it.
func TestPhasesOfConnections(t *testing.T) {
	type phases struct{ Connect, TCPConnect, NameResolution, TLSHandshake, Settings int64 }
	for _, tt := range []struct {
		name     string
		protocol rv.Protocol
		direct   bool
		// counts are those of 10 connections, and sums are microseconds: a millisecond to connect, as simPhases says for the dialer.
		counts, sums phases
	}{
		{"the dialer opens all", rv.ProtocolH2C, false, phases{10, 10, 10, 0, 10}, phases{10_000, 5000, 3000, 0, 0}},
		{"the loop opens again", rv.ProtocolH2C, true, phases{10, 10, 1, 0, 10}, phases{10_000, 9500, 300, 0, 0}},
		{"HTTP/1.1, the dialer opens all", rv.ProtocolHTTP1, false, phases{10, 10, 10, 0, 0}, phases{10_000, 5000, 3000, 0, 0}},
		// The next request is due 10 ms later, so nothing shows when these are connected.
		{"HTTP/1.1, the loop opens again", rv.ProtocolHTTP1, true, phases{1, 1, 1, 0, 0}, phases{1000, 500, 300, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(perSecond(100, 990*time.Millisecond))
			p.Targets[0].Protocol, p.Targets[0].Connecting.MaxRequests = tt.protocol, 10
			b := newBench(t, p, ok(0))
			b.direct, b.protocol = tt.direct, tt.protocol
			if got := b.run(); got.Done != 99 || b.w.rec.Connects != 10 {
				t.Fatalf("%+v over %d connections", got, b.w.rec.Connects)
			}
			r := &b.w.rec.Targets[0]
			counts := phases{r.Connect.Count(), r.TCPConnect.Count(), r.NameResolution.Count(), r.TLSHandshake.Count(), r.Settings.Count()}
			sums := phases{r.Connect.Sum(), r.TCPConnect.Sum(), r.NameResolution.Sum(), r.TLSHandshake.Sum(), r.Settings.Sum()}
			if counts != tt.counts || sums != tt.sums {
				t.Errorf("counts %+v, sums %+v; want %+v and %+v", counts, sums, tt.counts, tt.sums)
			}
		})
	}
}

func TestMaxAgeRetiresConnections(t *testing.T) {
	p := gets(perSecond(100, 2*time.Second))
	p.Targets[0].Connecting.MaxAge = 500 * time.Millisecond
	b := newBench(t, p, ok(20*time.Millisecond))
	got := b.run()
	if got.Done != 200 || got.Lost != 0 || len(b.conns) < 4 || len(b.conns) > 6 {
		t.Errorf("got %+v over %d connections", got, len(b.conns))
	}
}

func group(rates ...rv.Rate) *rv.Plan {
	p := gets(rates...)
	p.Targets[0].Connections = 2
	p.Targets[0].Endpoints = append(p.Targets[0].Endpoints, rv.Endpoint{Scheme: "http", Authority: "u", Address: "u:80"})
	return p
}

func TestFailoverAndReturn(t *testing.T) {
	p := group(perSecond(100, 10*time.Second))
	p.Targets[0].Connecting.FailbackInterval = time.Second
	b := newBench(t, p, ok(time.Millisecond))
	b.down = map[int]bool{1: true}
	b.in(4*time.Second, func() { b.down[1] = false })
	got := b.run()
	if got.Done != 1000 || got.Lost != 0 {
		t.Fatalf("got %+v", got)
	}
	early, late := map[string]int{}, map[string]int{}
	for _, r := range b.served {
		switch {
		case r.At < 4*time.Second:
			early[r.Fields[":authority"]]++
		case r.At > 6*time.Second:
			late[r.Fields[":authority"]]++
		}
	}
	if early["u"] != 0 || early["t"] == 0 {
		t.Errorf("while u was down: %v", early)
	}
	if d := late["u"] - late["t"]; d < -2 || d > 2 {
		t.Errorf("after u came back: %v, want halves", late)
	}
}

func TestNoFailoverKeepsToItsEndpoint(t *testing.T) {
	p := group(perSecond(100, time.Second))
	p.Targets[0].Connecting.NoFailover = true
	b := newBench(t, p, ok(time.Millisecond))
	b.down = map[int]bool{1: true}
	b.in(3*time.Second, func() { b.down[1] = false })
	b.run()
	if b.startAt < int64(3*time.Second) {
		t.Error("ready although one endpoint was down and nothing may take its place")
	}
}

func TestInactivity(t *testing.T) {
	p := gets(perSecond(10, 2*time.Second))
	p.Chains[0].Steps[0].Timeout, p.Drain = time.Minute, time.Minute
	p.Targets[0].Connecting.InactivityTimeout = 500 * time.Millisecond
	n := 0
	b := newBench(t, p, func(*simRequest) reply {
		if n++; n > 5 && n < 16 {
			return reply{}
		}
		return reply{Status: 200}
	})
	got := b.run()
	if got.Lost == 0 || got.Sent != 20 || got.TimedOut != 0 {
		t.Errorf("got %+v", got)
	}
	if len(b.conns) < 2 {
		t.Error("the silent connection was kept")
	}
}

// TestInactivityAfterAnIdleTime: the time without a request in flight is no silence.
func TestInactivityAfterAnIdleTime(t *testing.T) {
	for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
		p := gets(rv.Rate{Name: "slow", Count: 1, Period: 700 * time.Millisecond, Duration: 20 * time.Second})
		p.Targets[0].Protocol, p.Targets[0].Connecting.InactivityTimeout = protocol, 500*time.Millisecond
		b := newBench(t, p, ok(300*time.Millisecond))
		b.protocol = protocol
		if got := b.run(); got.Lost != 0 || got.Done != got.Sent || got.Sent < 28 || len(b.conns) != 1 {
			t.Errorf("%s: got %+v over %d connections", protocol, got, len(b.conns))
		}
	}
}

// TestInactivityWithTimeouts: a connection on which each request times out before the next one is sent is silent, too, also if no request is in
// flight each time that the timer fires.
func TestInactivityWithTimeouts(t *testing.T) {
	for timeout, limit := range map[time.Duration]time.Duration{200 * time.Millisecond: 500 * time.Millisecond, 100 * time.Millisecond: 600 * time.Millisecond} {
		p := gets(rv.Rate{Name: "slow", Count: 1, Period: 300 * time.Millisecond, Duration: 6 * time.Second})
		p.Chains[0].Steps[0].Timeout, p.Targets[0].Connecting.InactivityTimeout = timeout, limit
		var b *bench
		b = newBench(t, p, func(*simRequest) reply {
			if len(b.conns) == 1 {
				return reply{}
			}
			return reply{Status: 200}
		})
		got := b.run()
		if most := int64(limit/timeout) + 3; got.TimedOut > most || got.Done+got.TimedOut+got.Lost != got.Sent || len(b.conns) != 2 {
			t.Errorf("timeout %v, inactivityTimeout %v: got %+v over %d connections, want at most %d timeouts", timeout, limit, got, len(b.conns), most)
		}
	}
}

// TestPing: a peer that is silent for an interval is asked, also if inactivityTimeout is shorter and no request is in flight.
func TestPing(t *testing.T) {
	for _, mute := range []bool{false, true} {
		p := gets(rv.Rate{Name: "slow", Count: 1, Period: 5 * time.Second, Duration: 10 * time.Second})
		p.Targets[0].HTTP2.PingInterval, p.Targets[0].Connecting.InactivityTimeout = time.Second, 500*time.Millisecond
		b := newBench(t, p, ok(0))
		b.mute = mute
		got := b.run()
		if got.Done != 2 || b.pings < 3 {
			t.Errorf("mute %v: got %+v, %d pings", mute, got, b.pings)
		}
		if replaced := len(b.conns) > 1; replaced != mute {
			t.Errorf("mute %v: %d connections", mute, len(b.conns))
		}
	}
}

// TestPingAfterAStall: a worker that did not run for several intervals asks first.
func TestPingAfterAStall(t *testing.T) {
	p := gets(rv.Rate{Name: "slow", Count: 1, Period: 5 * time.Second, Duration: 10 * time.Second})
	p.Targets[0].HTTP2.PingInterval = time.Second
	b := newBench(t, p, ok(0))
	b.onStart = append(b.onStart, func() {
		b.in(2500*time.Millisecond, func() { b.clock += int64(2200 * time.Millisecond) })
	})
	if got := b.run(); got.Done != 2 || len(b.conns) != 1 {
		t.Errorf("got %+v, %d connections, want 2 done on one", got, len(b.conns))
	}
}

func TestHTTP2SettingsAreAnnounced(t *testing.T) {
	zero, window, frame := uint32(0), uint32(100_000), uint32(1<<20)
	p := gets(perSecond(10, time.Second))
	p.Targets[0].HTTP2 = rv.HTTP2{HeaderTableSize: &zero, EncoderTableSize: &zero, StreamWindow: &window, ConnectionWindow: &window, MaxFrameSize: &frame}
	b := newBench(t, p, ok(0))
	got := map[http2.SettingID]uint32{}
	b.onSettings = func(f *http2.SettingsFrame) {
		_ = f.ForeachSetting(func(s http2.Setting) error { got[s.ID] = s.Val; return nil })
	}
	if r := b.run(); r.Done != 10 {
		t.Fatalf("got %+v", r)
	}
	for id, want := range map[http2.SettingID]uint32{http2.SettingHeaderTableSize: 0, http2.SettingInitialWindowSize: window, http2.SettingMaxFrameSize: frame, http2.SettingEnablePush: 0} {
		if v, ok := got[id]; !ok || v != want {
			t.Errorf("%v is %d (%v), want %d", id, v, ok, want)
		}
	}
}
