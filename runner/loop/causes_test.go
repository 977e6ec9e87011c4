package loop

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/trial"
)

// causesOf are the counts of failures that are there at the end; causes that are not certain in number are
// checked for being there.
func causesOf(b *bench) map[rv.Failure]int64 {
	out := map[rv.Failure]int64{}
	for _, c := range b.w.rec.Failures.List() {
		out[c.Failure] = c.Count
	}
	return out
}

// TestCauses: every failure is counted with its cause, code and address, and the causes of what failed add up
// to the counter of that name.
func TestCauses(t *testing.T) {
	const at = "t:80"
	ten := perSecond(10, time.Second)
	// announces sends GOAWAY with each code in turn at the fifth request, and hangs up after a time.
	announces := func(after time.Duration, codes ...http2.ErrCode) func(b *bench, r *simRequest) reply {
		return func(b *bench, r *simRequest) reply {
			if len(b.served) != 5 {
				return reply{Status: 200}
			}
			for i, code := range codes {
				b.in(time.Duration(i)*time.Millisecond, func() { _ = b.conns[r.Conn].Framer().WriteGoAway(r.Stream, code, nil) })
			}
			return reply{HangUp: true, After: after}
		}
	}
	goneAway := func(code string) map[rv.Failure]int64 {
		return map[rv.Failure]int64{
			{Of: rv.FailureConnection, Cause: rv.CauseGoAway, Detail: code, Address: at}:     1,
			{Of: rv.FailureConnectionLost, Cause: rv.CauseGoAway, Detail: code, Address: at}: 1,
		}
	}
	hangsUp := func(b *bench, _ *simRequest) reply {
		if len(b.served) == 5 {
			return reply{HangUp: true}
		}
		return reply{Status: 200}
	}
	tests := []struct {
		name  string
		plan  func(p *rv.Plan)
		serve func(b *bench, r *simRequest) reply
		setup func(b *bench)
		want  map[rv.Failure]int64
	}{
		{
			name:  "all is well",
			serve: func(*bench, *simRequest) reply { return reply{Status: 200} },
			want:  map[rv.Failure]int64{},
		},
		{
			name:  "refused at the start",
			setup: func(b *bench) { b.refuse = 3 },
			serve: func(*bench, *simRequest) reply { return reply{Status: 200} },
			want:  map[rv.Failure]int64{{Of: rv.FailureConnect, Cause: rv.CauseRefused, Address: at}: 3},
		},
		{
			name:  "no SETTINGS",
			setup: func(b *bench) { b.silent = 1 },
			serve: func(*bench, *simRequest) reply { return reply{Status: 200} },
			want:  map[rv.Failure]int64{{Of: rv.FailureConnect, Cause: rv.CauseNoSettings, Detail: "1s", Address: at}: 1},
		},
		{
			name:  "RST_STREAM",
			serve: func(*bench, *simRequest) reply { return reply{Resets: true, Reset: http2.ErrCodeInternal} },
			want:  map[rv.Failure]int64{{Of: rv.FailureReset, Cause: rv.CauseRstStream, Detail: "INTERNAL_ERROR", Address: at}: 10},
		},
		{
			name:  "refused streams",
			serve: func(*bench, *simRequest) reply { return reply{Resets: true, Reset: http2.ErrCodeRefusedStream} },
			want:  map[rv.Failure]int64{{Of: rv.FailureReset, Cause: rv.CauseRstStream, Detail: "REFUSED_STREAM", Address: at}: 10},
		},
		{
			name: "malformed responses",
			serve: func(*bench, *simRequest) reply {
				return reply{Status: 200, Headers: []string{"connection", "close"}}
			},
			want: map[rv.Failure]int64{{Of: rv.FailureReset, Cause: rv.CauseProtocol, Detail: "a malformed header field (RFC 9113 8.2, 8.3)", Address: at}: 10},
		},
		{
			name:  "the peer hangs up",
			serve: hangsUp,
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnection, Cause: rv.CauseClosed, Address: at}:     1,
				{Of: rv.FailureConnectionLost, Cause: rv.CauseClosed, Address: at}: 1,
			},
		},
		{
			name: "the peer of HTTP/1.1 hangs up",
			plan: func(p *rv.Plan) {
				p.Targets[0].Protocol, p.Chains[0].Steps[0].Method = rv.ProtocolHTTP1, "POST"
			},
			serve: hangsUp,
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnection, Cause: rv.CauseClosed, Address: at}:     1,
				{Of: rv.FailureConnectionLost, Cause: rv.CauseClosed, Address: at}: 1,
			},
		},
		{
			name:  "the peer of HTTP/1.1 hangs up, and the request is sent again",
			plan:  func(p *rv.Plan) { p.Targets[0].Protocol = rv.ProtocolHTTP1 },
			serve: hangsUp,
			want:  map[rv.Failure]int64{},
		},
		{name: "GOAWAY, and the end before the response", serve: announces(10*time.Millisecond, 0), want: goneAway("NO_ERROR")},
		{name: "GOAWAY and the end at once", serve: announces(0, 0), want: goneAway("NO_ERROR")},
		{name: "GOAWAY with an error", serve: announces(10*time.Millisecond, http2.ErrCodeInternal), want: goneAway("INTERNAL_ERROR")},
		{name: "GOAWAY, and another with an error", serve: announces(10*time.Millisecond, 0, http2.ErrCodeInternal), want: goneAway("INTERNAL_ERROR")},
		{
			name: "GOAWAY with an error to a connection that drains",
			plan: func(p *rv.Plan) { p.Targets[0].Connecting.MaxRequests = 5 },
			serve: func(b *bench, r *simRequest) reply {
				if len(b.served) == 5 {
					b.in(10*time.Millisecond, func() { _ = b.conns[r.Conn].Framer().WriteGoAway(r.Stream, http2.ErrCodeInternal, nil) })
				}
				return reply{Status: 200, After: 20 * time.Millisecond}
			},
			want: map[rv.Failure]int64{{Of: rv.FailureConnection, Cause: rv.CauseGoAway, Detail: "INTERNAL_ERROR", Address: at}: 1},
		},
		{
			name: "the target is gone in mid-run",
			serve: func(b *bench, _ *simRequest) reply {
				if len(b.served) == 5 {
					b.down = map[int]bool{0: true}
					return reply{HangUp: true}
				}
				return reply{Status: 200}
			},
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnection, Cause: rv.CauseClosed, Address: at}:                       1,
				{Of: rv.FailureConnectionLost, Cause: rv.CauseClosed, Address: at}:                   1,
				{Of: rv.FailureConnect, Cause: rv.CauseRefused, Address: at}:                         -1,
				{Of: rv.FailureDropped, Cause: rv.CauseNoConnection, Detail: "refused", Address: at}: 5,
			},
		},
		{
			name: "silent",
			plan: func(p *rv.Plan) {
				p.Targets[0].Connecting.InactivityTimeout = 300 * time.Millisecond
			},
			serve: func(b *bench, _ *simRequest) reply {
				if len(b.served) == 10 {
					return reply{}
				}
				return reply{Status: 200}
			},
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnection, Cause: rv.CauseSilent, Detail: "300ms", Address: at}:     1,
				{Of: rv.FailureConnectionLost, Cause: rv.CauseSilent, Detail: "300ms", Address: at}: 1,
			},
		},
		{
			name: "TCP gives up",
			serve: func(b *bench, r *simRequest) reply {
				if len(b.served) == 10 {
					b.conns[r.Conn].broken = syscall.ETIMEDOUT
					return reply{}
				}
				return reply{Status: 200}
			},
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnection, Cause: rv.CauseSilent, Detail: "connection timed out", Address: at}:     1,
				{Of: rv.FailureConnectionLost, Cause: rv.CauseSilent, Detail: "connection timed out", Address: at}: 1,
			},
		},
		{
			name: "no stream",
			plan: func(p *rv.Plan) {
				p.Targets[0].MaxConcurrentStreams = 1
				p.Chains[0].Steps[0].Timeout = 10 * time.Second
				p.Drain = 300 * time.Millisecond
			},
			serve: func(*bench, *simRequest) reply { return reply{} },
			want:  map[rv.Failure]int64{{Of: rv.FailureDropped, Cause: rv.CauseNoStream, Detail: "t"}: 9},
		},
		{
			name: "busy with slow bodies, without keep-alive",
			plan: func(p *rv.Plan) {
				p.Targets[0].Protocol, p.Targets[0].HTTP1.NoKeepAlive = rv.ProtocolHTTP1, true
				p.Chains[0].Steps[0].Timeout, p.Drain = 10*time.Second, 300*time.Millisecond
			},
			serve: func(*bench, *simRequest) reply {
				return reply{Status: 200, Announces: true, Body: []byte("slow"), BodyAfter: 2 * time.Second}
			},
			want: map[rv.Failure]int64{{Of: rv.FailureDropped, Cause: rv.CauseNoStream, Detail: "t"}: 9},
		},
		{
			name: "busy with the last request of each connection",
			plan: func(p *rv.Plan) {
				p.Targets[0].Connecting.MaxRequests = 1
				p.Chains[0].Steps[0].Timeout, p.Drain = 10*time.Second, 300*time.Millisecond
			},
			serve: func(*bench, *simRequest) reply { return reply{Status: 200, After: 2 * time.Second} },
			want:  map[rv.Failure]int64{{Of: rv.FailureDropped, Cause: rv.CauseNoStream, Detail: "t"}: 9},
		},
		{
			name: "connecting for long",
			plan: func(p *rv.Plan) {
				p.Targets[0].ConnectTimeout, p.Drain = 10*time.Second, 300*time.Millisecond
			},
			setup: func(b *bench) { b.direct, b.hangs = true, true },
			serve: func(b *bench, _ *simRequest) reply {
				if len(b.served) == 5 {
					return reply{HangUp: true}
				}
				return reply{Status: 200}
			},
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnection, Cause: rv.CauseClosed, Address: at}:                                          1,
				{Of: rv.FailureConnectionLost, Cause: rv.CauseClosed, Address: at}:                                      1,
				{Of: rv.FailureDropped, Cause: rv.CauseNoConnection, Detail: "1 of 1 connections to t were connecting"}: 5,
			},
		},
		{
			name: "connecting for longer than the timeout of the request",
			plan: func(p *rv.Plan) {
				t, step := &p.Targets[0], &p.Chains[0].Steps[0]
				t.Protocol, t.HTTP1.NoKeepAlive, t.ConnectTimeout = rv.ProtocolHTTP1, true, 10*time.Second
				step.Timeout = 200 * time.Millisecond
			},
			setup: func(b *bench) { b.direct, b.hangs, b.protocol = true, true, rv.ProtocolHTTP1 },
			serve: func(*bench, *simRequest) reply { return reply{Status: 200, Announces: true} },
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnect, Cause: rv.CauseConnectTimeout, Address: at}: -1,
			},
		},
		{
			name:  "maxInFlight",
			plan:  func(p *rv.Plan) { p.Chains[0].MaxInFlight = 1 },
			serve: func(*bench, *simRequest) reply { return reply{Status: 200, After: 250 * time.Millisecond} },
			want:  map[rv.Failure]int64{{Of: rv.FailureDropped, Cause: rv.CauseMaxInFlight, Detail: "c"}: -1},
		},
		{
			name:  "a chain that begins late",
			plan:  func(p *rv.Plan) { p.Chains[0].Delay = 450 * time.Millisecond },
			serve: func(*bench, *simRequest) reply { return reply{Status: 200} },
			want:  map[rv.Failure]int64{{Of: rv.FailureDropped, Cause: rv.CauseNoChain}: 5},
		},
		{
			name: "given back, and given up while waiting",
			plan: func(p *rv.Plan) { p.Drain = 300 * time.Millisecond },
			serve: func(b *bench, _ *simRequest) reply {
				if len(b.served) == 10 {
					b.down = map[int]bool{0: true}
					return reply{Goaway: true}
				}
				return reply{Status: 200}
			},
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnect, Cause: rv.CauseRefused, Address: at}:                                 -1,
				{Of: rv.FailureConnectionLost, Cause: rv.CauseGaveUpWaiting, Detail: "refused", Address: at}: 1,
			},
		},
		{
			name: "given back, and given up while the place tries another endpoint",
			plan: func(p *rv.Plan) {
				p.Drain = 300 * time.Millisecond
				p.Targets[0].Endpoints = append(p.Targets[0].Endpoints, rv.Endpoint{Scheme: "http", Authority: "u", Address: "u:80"})
			},
			serve: func(b *bench, _ *simRequest) reply {
				if len(b.served) == 10 {
					b.down = map[int]bool{0: true, 1: true}
					return reply{Goaway: true}
				}
				return reply{Status: 200}
			},
			want: map[rv.Failure]int64{
				{Of: rv.FailureConnect, Cause: rv.CauseRefused, Address: at}:                                 -1,
				{Of: rv.FailureConnect, Cause: rv.CauseRefused, Address: "u:80"}:                             -1,
				{Of: rv.FailureConnectionLost, Cause: rv.CauseGaveUpWaiting, Detail: "refused", Address: at}: 1,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(ten)
			if tt.plan != nil {
				tt.plan(p)
			}
			var b *bench
			b = newBench(t, p, func(r *simRequest) reply { return tt.serve(b, r) })
			if tt.setup != nil {
				tt.setup(b)
			}
			b.run()
			got := causesOf(b)
			for f, n := range tt.want {
				if n < 0 && got[f] > 0 {
					got[f] = n
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// show makes the worker show its exchanges as in a trial.
func show(w *Worker, f func(*trial.Exchange)) {
	w.outcomes.trial = trial.New(&trial.Config{Exchange: f}, w.clock.time, &w.requests, w.flow)
}

// TestTrialShowsTheConnection: a trial shows the connection that a request was sent on, and not the one that has its place
// when the request is given up.
func TestTrialShowsTheConnection(t *testing.T) {
	p := gets(perSecond(2, time.Second))
	p.Targets[0].Endpoints = append(p.Targets[0].Endpoints, rv.Endpoint{Scheme: "http", Authority: "u", Address: "u:80"})
	var b *bench
	b = newBench(t, p, func(*simRequest) reply {
		if len(b.served) == 1 {
			return reply{Status: 200}
		}
		b.down = map[int]bool{0: true, 1: true}
		return reply{Goaway: true}
	})
	b.w.cfg.Program.InspectAll(1 << 10)
	got := map[string]bool{}
	show(b.w, func(e *trial.Exchange) { got[e.Address] = true })
	b.run()
	if diff := cmp.Diff(map[string]bool{"t:80": true}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}
