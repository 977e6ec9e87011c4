package loop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestCallDeadlines: the runner resets a call whose deadline passes, and counts it and its cause once. A call that the
// server ends before that is done.
func TestCallDeadlines(t *testing.T) {
	const deadline = 50 * time.Millisecond
	status := func(code string, after time.Duration) reply {
		return reply{Status: 200, Headers: []string{"content-type", "application/grpc", "grpc-status", code}, After: after}
	}
	passed := map[rv.Failure]int64{{Of: rv.FailureTimedOut, Cause: rv.CauseDeadline, Address: "t:80"}: 10}
	for name, tt := range map[string]struct {
		deadline time.Duration
		answer   reply
		want     rvTotals
		failedBy map[string]int64
		causes   map[rv.Failure]int64
	}{
		"no answer":              {deadline, reply{}, rvTotals{Sent: 10, TimedOut: 10}, nil, passed},
		"no answer, and timeout": {0, reply{}, rvTotals{Sent: 10, TimedOut: 10}, nil, nil},
		"the server is first": {deadline, status("4", deadline-time.Millisecond), rvTotals{Sent: 10, Done: 10},
			map[string]int64{"DEADLINE_EXCEEDED": 10}, nil},
		"the server is late": {deadline, status("4", deadline+time.Millisecond), rvTotals{Sent: 10, TimedOut: 10}, nil, passed},
		"in time":            {deadline, status("0", deadline-time.Millisecond), rvTotals{Sent: 10, Done: 10, Succeeded: 10}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := gets(perSecond(10, time.Second))
			call := cannedCall(rv.GRPC{Method: "Call", Messages: []rv.Text{lit("{}")}, Deadline: tt.deadline})
			p.Targets[0].Protos, p.Chains[0].Steps = call.Targets[0].Protos, call.Chains[0].Steps
			p.Chains[0].Steps[0].Timeout = deadline
			b := newBench(t, p, func(*simRequest) reply { return tt.answer })
			if diff := cmp.Diff(&tt.want, b.run()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(b.conns[0].Resets); int64(n) != tt.want.TimedOut {
				t.Errorf("%d streams were reset, %d calls timed out", n, tt.want.TimedOut)
			}
			failedBy := b.w.rec.Steps[0].FailedBy.Counts()
			if len(failedBy) != len(tt.failedBy) || failedBy["DEADLINE_EXCEEDED"] != tt.failedBy["DEADLINE_EXCEEDED"] {
				t.Errorf("failed by %v, want %v", failedBy, tt.failedBy)
			}
			if got := causesOf(b); len(got) != len(tt.causes) || !cmp.Equal(got, tt.causes) && len(got) > 0 {
				t.Errorf("causes %v, want %v", got, tt.causes)
			}
		})
	}
}

// TestCallsOfOtherBody: a request whose script leaves out messages ends with its body, without the waits before them.
func TestCallsOfOtherBody(t *testing.T) {
	p := gets(perSecond(10, time.Second))
	call := cannedCall(rv.GRPC{Method: "Both", Messages: []rv.Text{lit("{}"), lit("{}")}, Waits: []rv.Wait{{Before: 1, Delay: time.Millisecond}}})
	p.Targets[0].Protos, p.Chains[0].Steps = call.Targets[0].Protos, call.Chains[0].Steps
	p.Chains[0].Steps[0].Script = &rv.Script{Name: "s", Content: rv.Content{Text: `function on_request(req) req.body = "" end`}}
	b := newBench(t, p, func(*simRequest) reply { return reply{Status: 200, Headers: []string{"grpc-status", "0"}} })
	if diff := cmp.Diff(&rvTotals{Sent: 10, Done: 10, Succeeded: 10}, b.run()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatusOfCalls: the status of a call is in its trailers, and in the header only if nothing follows it.
func TestStatusOfCalls(t *testing.T) {
	message := make([]byte, 5)
	code, kind := header("grpc-status"), header("content-type")
	check := func(s rv.Source, want string) []rv.Check {
		return []rv.Check{{Name: "check", Source: &s, Match: &rv.Match{Op: rv.MatchEquals, Want: lit(want)}}}
	}
	for name, tt := range map[string]struct {
		header, trailers []string
		body             []byte
		want             string // the code
	}{
		"header":                       {[]string{"grpc-status", "0"}, nil, nil, "OK"},
		"failure in the header":        {[]string{"grpc-status", "13"}, nil, nil, "INTERNAL"},
		"trailers":                     {nil, []string{"x", "y", "grpc-status", "0", "z", "y"}, message, "OK"},
		"the first of two":             {nil, []string{"grpc-status", "0", "grpc-status", "13"}, message, "OK"},
		"header and trailers":          {[]string{"grpc-status", "0"}, []string{"grpc-status", "13"}, message, "INTERNAL"},
		"trailers without a message":   {[]string{"grpc-status", "0"}, []string{"grpc-status", "13"}, nil, "INTERNAL"},
		"a message without trailers":   {[]string{"grpc-status", "0"}, nil, message, "UNKNOWN"},
		"trailers that have no status": {[]string{"grpc-status", "0"}, []string{"x", "y"}, message, "UNKNOWN"},
	} {
		for _, method := range []string{"Call", "Both"} {
			for _, checks := range [][]rv.Check{nil, check(kind, "application/grpc"), check(code, "13")} {
				p := gets(perSecond(10, time.Second))
				call := cannedCall(rv.GRPC{Method: method, Messages: []rv.Text{lit("{}")}})
				p.Targets[0].Protos, p.Chains[0].Steps = call.Targets[0].Protos, call.Chains[0].Steps
				p.Chains[0].Steps[0].Expect.Checks = checks
				want := tt.want
				if len(checks) > 0 && checks[0].Source.Name == code.Name {
					want = map[string]string{"OK": "check", "INTERNAL": "OK", "UNKNOWN": "UNKNOWN"}[want]
				}
				b := newBench(t, p, func(*simRequest) reply {
					return reply{Status: 200, Headers: append([]string{"content-type", "application/grpc"}, tt.header...), Body: tt.body, Trailers: tt.trailers}
				})
				b.run()
				got := b.w.rec.Steps[0].FailedBy.Counts()
				if want == "OK" && len(got) > 0 || want != "OK" && got[want] != 10 {
					t.Errorf("%s, %s with %d checks: failed by %v, want %s", name, method, len(checks), got, want)
				}
			}
		}
	}
}

// TestCapturesOfFailedCalls: a call that fails with its trailers captures nothing of its header.
func TestCapturesOfFailedCalls(t *testing.T) {
	for code, want := range map[string]string{"0": "10 /b", "13": "10 /c"} {
		call := cannedCall(rv.GRPC{Method: "Call", Messages: []rv.Text{lit("{}")}})
		a := call.Chains[0].Steps[0]
		a.Capture, a.OnFailure.Continue = []rv.Capture{{Source: header("x"), Optional: true}}, true
		p := steps(every10ms(2), a, step("b", func(s *rv.Step) { s.When = equals(1, "go") }), step("c"))
		p.Targets[0].Protos, p.Chains[0].Captures = call.Targets[0].Protos, []string{"x"}
		b := newBench(t, p, func(*simRequest) reply {
			return reply{Status: 200, Headers: []string{"x", "go"}, Body: make([]byte, 5), Trailers: []string{"grpc-status", code}}
		})
		b.run()
		if got := b.trace(); len(got) != 2 || got[1] != want {
			t.Errorf("grpc-status %s: requests %q, want %q last", code, got, want)
		}
	}
}
