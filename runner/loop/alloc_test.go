//go:build !race

package loop

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/slots"
)

func batched() *rv.Plan {
	p := gets(rv.Rate{Name: "r", Count: 1_000_000, Period: time.Second, Duration: time.Hour})
	p.Targets[0].Connections, p.Targets[0].Batch = 8, true
	return p
}

// checkAllocations fails if a worker allocates at least once in so many turns, on average.
func checkAllocations(t *testing.T, w *Worker, turns int) {
	t.Helper()
	if allocs := testing.AllocsPerRun(4, func() { take(t, w, turns) }); allocs != 0 {
		t.Errorf("%v allocations in %d turns", allocs, turns)
	}
}

// TestSteadyStateAllocatesNothing is the promise on which the engine's speed and the absence of
// garbage collection pauses rest.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	aborted := cannedChain()
	aborted.Chains[0].Steps[1].Expect.Status = []rv.StatusRange{{From: 418, To: 418}}
	aborted.Chains[0].Steps[2].Always = true
	for name, p := range map[string]*rv.Plan{
		"aborted":             aborted,
		"get":                 gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour}),
		"chain":               cannedChain(),
		"batch":               batched(),
		"paced":               gets(rv.Rate{Name: "r", Count: 1_000_000, Period: time.Second, Duration: time.Hour}),
		"two measured stages": gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour}, rv.Rate{Name: "next", ClosedLoop: true, Duration: time.Hour}),
	} {
		t.Run(name, func(t *testing.T) {
			w := cannedWorker(t, p, &canned{clock: 1})
			w.cfg.Lease = &slots.Lease{}
			w.cfg.Lease.Set(never - 1)
			from := sent(w)
			const turns = 1000
			checkAllocations(t, w, turns)
			if n := sent(w) - from; n < turns {
				t.Errorf("only %d requests", n)
			}
		})
	}
}

// TestRedirectsAllocateNothing: redirects to a server behind the target, until the limit of each request is reached.
func TestRedirectsAllocateNothing(t *testing.T) {
	p := cannedChain()
	s := &p.Chains[0].Steps[0]
	s.MaxRedirects, s.RedirectField = 16, "root"
	// :status 307 as a literal with an indexed name, location as a literal, not indexed.
	redirect := append([]byte{0, 0, 21, 1, 5, 0, 0, 0, 0, 0x08, 3, '3', '0', '7', 0x0f, 0x1f, 13}, "http://b.core"...)
	w := cannedWorker(t, p, &canned{clock: 1, created: redirect})
	from := w.rec.Steps[0].Redirects
	const turns = 100
	checkAllocations(t, w, turns)
	if n := w.rec.Steps[0].Redirects - from; n < turns {
		t.Errorf("only %d redirects", n)
	}
}

// TestBindingsAllocateNothing: responses with two lines of a header field, which are captured as one value.
func TestBindingsAllocateNothing(t *testing.T) {
	p := cannedChain()
	steps := p.Chains[0].Steps
	steps[0].Capture[0].Source.Joined, steps[0].Capture[0].Location = true, false
	steps[1].Path, steps[2].Path = lit("/u"), lit("/d")
	steps[2].Headers = []rv.Header{{Name: lit("lines"), Value: rv.Text{{Capture: 1}}}}
	created := append([]byte{0, 0, 37, 1, 5, 0, 0, 0, 0}, cannedCreated[9:]...)
	w := cannedWorker(t, p, &canned{clock: 1, created: append(created, cannedCreated[14:]...)})
	from := sent(w)
	const turns = 1000
	checkAllocations(t, w, turns)
	if n := sent(w) - from; n < turns || w.rec.Steps[0].FailedChecks > 0 {
		t.Errorf("%d requests, failed checks %v", n, w.rec.Steps[0].FailedBy.Counts())
	}
}

// TestCallsAllocateNothing: calls of gRPC with placeholders in nested messages, also compressed, and streams whose
// second message waits.
func TestCallsAllocateNothing(t *testing.T) {
	message := rv.Text{{Literal: `{"id":"`}, {Variable: 1}, {Literal: `","next":{"next":{"id":"5"},"name":"ue-`}, {Variable: 1}, {Literal: `"}}`}}
	for name, call := range map[string]rv.GRPC{
		"unary":      {Method: "Call", Messages: []rv.Text{message}},
		"compressed": {Method: "Call", Messages: []rv.Text{message}, Gzip: true},
		"waits":      {Method: "Both", Messages: []rv.Text{message, message}, Waits: []rv.Wait{{Before: 1, Delay: 1}}},
	} {
		w := cannedWorker(t, cannedCall(call), &canned{clock: 1, created: cannedStatus})
		from := sent(w)
		const turns = 1000
		checkAllocations(t, w, turns)
		if n := sent(w) - from; n < turns || w.rec.Steps[0].FailedChecks > 0 {
			t.Errorf("%s: %d requests, failed checks %v", name, n, w.rec.Steps[0].FailedBy.Counts())
		}
	}
}

// notifyingNet is a canned network whose peer notifies a listener once for each request.
type notifyingNet struct {
	canned
	caller *cannedConn
	stream uint32
}

func (n *notifyingNet) Send(fd int, b []byte) (int, netio.Status) {
	c := n.conns[fd]
	if c == n.caller {
		return len(b), netio.OK
	}
	before := len(c.out)
	sent, st := n.canned.Send(fd, b)
	for range bytes.Count(c.out[before:], cannedOK[:5]) {
		n.caller.out = h2.AppendHeaders(n.caller.out, n.stream, false, true, []byte{0x83, 0x86, 4, 2, '/', 'n'}) // POST http /n
		n.caller.out = h2.AppendData(n.caller.out, n.stream, true, cannedEvent)
		n.stream += 2
	}
	return sent, st
}

var cannedEvent = []byte(`{"kind":"event"}`)

// TestNotificationsAllocateNothing: steps that await notifications, with a check and a capture.
func TestNotificationsAllocateNothing(t *testing.T) {
	p := gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour})
	p.Chains[0].Steps = append(p.Chains[0].Steps, rv.Step{
		Name: "wait", Timeout: time.Hour, Await: &rv.Await{Key: lit("/n")},
		Expect:  rv.Expect{Checks: []rv.Check{{Name: "kind", Source: &rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/kind"}, Match: &rv.Match{Op: rv.MatchEquals, Want: lit("event")}}}},
		Capture: []rv.Capture{{Source: rv.Source{Kind: rv.SourceBody}}},
	})
	p.Chains[0].Captures = []string{"body"}
	p.Listeners = []rv.Listener{{Name: "l", Status: 200, Body: "content", Retention: 100 * time.Microsecond}}
	n := &notifyingNet{canned: canned{clock: 1}, caller: &cannedConn{greeted: true, out: append(make([]byte, 0, 1<<20), http2.ClientPreface...)}, stream: 1}
	n.caller.out = h2.AppendWindowUpdate(h2.AppendSettings(n.caller.out), 0, 1<<30) // for the bodies of the responses
	n.conns = append(n.conns, n.caller)
	w := newCannedWorker(t, p, n)
	w.Serve(0, &dial.Connection{FD: 0})
	warm(t, w)
	from := w.Read().Listeners[0].InTime
	const turns = 1000
	checkAllocations(t, w, turns)
	if c := w.Read().Listeners[0]; c.InTime-from < turns || c.Missing+c.Late+c.FailedChecks != 0 {
		t.Errorf("%d notifications, %+v", c.InTime-from, c)
	}
}

// TestShortConnectionsAllocateNothing: each request has a connection of its own, which the loop opens.
func TestShortConnectionsAllocateNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ended bool
	}{
		{"the peer closes after the response", true},
		{"the runner closes first", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour})
			p.Targets[0].Protocol = rv.ProtocolHTTP1
			p.Targets[0].HTTP1.NoKeepAlive = true
			w := cannedWorker(t, p, &shortNet{canned: canned{clock: 1}, ended: tt.ended})
			from, reconnects := sent(w), w.rec.Reconnects
			const turns = 1000
			checkAllocations(t, w, turns)
			if n, opened := sent(w)-from, w.rec.Reconnects-reconnects; n < turns || opened < n-10 {
				t.Errorf("%d requests over %d connections", n, opened)
			}
		})
	}
}

// TestFollowingAnAuthorityIsCheap: a new authority costs little, whatever the number of steps, because the worker follows it
// in its loop. Its header blocks are made when they are needed, and another worker uses the same.
func TestFollowingAnAuthorityIsCheap(t *testing.T) {
	const authorities, limit = 8, 64 << 10
	for name, path := range map[string]string{"no dynamic table": "/step/%d", "a dynamic table": "/step"} {
		t.Run(name, func(t *testing.T) {
			var all []rv.Step
			for i := range 256 {
				all = append(all, step("s", func(s *rv.Step) {
					s.Path = lit(strings.ReplaceAll(path, "%d", strconv.Itoa(i)))
					s.Headers = []rv.Header{{Name: lit("accept"), Value: lit("application/json")}}
				}))
			}
			p := steps(every10ms(1), all...)
			p.Targets[0].FollowAuthority = true
			w := newBench(t, p, ok(0)).w
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range authorities {
				if _, ok := w.targets.Of(0, []byte("http"), fmt.Appendf(nil, "other:%d", 1000+i)); !ok {
					t.Fatal("not followed")
				}
			}
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) / authorities; n > limit {
				t.Errorf("%d bytes for each authority, want at most %d", n, limit)
			}
		})
	}
}
