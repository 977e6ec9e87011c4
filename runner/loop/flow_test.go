package loop

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/slots"
)

func lit(s string) rv.Text { return rv.Text{{Literal: s}} }

// step is a GET of /name that may take a second.
func step(name string, change ...func(*rv.Step)) rv.Step {
	s := rv.Step{Name: name, Method: "GET", Path: lit("/" + name), Timeout: time.Second}
	for _, f := range change {
		f(&s)
	}
	return s
}

// steps is a plan of one chain, one instance after another.
func steps(rate rv.Rate, s ...rv.Step) *rv.Plan {
	p := gets(rate)
	p.Chains[0].Steps = s
	return p
}

func header(name string) rv.Source { return rv.Source{Kind: rv.SourceHeader, Name: name} }

func equals(capture int, want string) []rv.Condition {
	return []rv.Condition{{Value: rv.Text{{Capture: capture}}, Match: rv.Match{Op: rv.MatchEquals, Want: lit(want)}}}
}

// trace is what the peer has seen: the time since the start, in ms, and the path.
func (b *bench) trace() (out []string) {
	for _, r := range b.served {
		out = append(out, fmt.Sprintf("%d %s", (r.At-time.Duration(b.startAt)).Milliseconds(), r.Fields[":path"]))
	}
	return out
}

// every10ms is n slots, 10 ms apart.
func every10ms(n int64) rv.Rate {
	return rv.Rate{Name: "r", Count: 100, Period: time.Second, Requests: n}
}

func TestFlow(t *testing.T) {
	think := func(d time.Duration) func(*rv.Step) {
		return func(s *rv.Step) { s.Think = &rv.Think{Fixed: d} }
	}
	group := func(n int) func(*rv.Step) { return func(s *rv.Step) { s.Group = n } }
	captureX := func(s *rv.Step) {
		s.Capture = []rv.Capture{{Source: header("x"), Optional: true}}
	}
	fails := func(path string, n int) func(*simRequest) reply {
		return func(r *simRequest) reply {
			if r.Fields[":path"] == path && n > 0 {
				n--
				return reply{Status: 503, After: time.Millisecond}
			}
			return reply{Status: 200, After: time.Millisecond, Headers: []string{"x", "go"}}
		}
	}
	for _, tt := range []struct {
		name  string
		plan  *rv.Plan
		serve func(*simRequest) reply
		want  []string
		chain string
	}{
		{
			"no thinking before the first request, but before each further one",
			steps(every10ms(10), step("a", think(time.Second)), step("b", think(25*time.Millisecond))), fails("", 0),
			[]string{"0 /a", "10 /a", "20 /a", "30 /b", "40 /b", "50 /b", "60 /a", "70 /a", "80 /a", "90 /b"}, "6 4 0",
		},
		{
			"a step is repeated",
			steps(every10ms(4), step("a", func(s *rv.Step) { s.Repeat = 3 }), step("b")), fails("", 0),
			[]string{"0 /a", "10 /a", "20 /a", "30 /b"}, "1 1 0",
		},
		{
			"until what the response says",
			steps(every10ms(4), step("a", captureX, func(s *rv.Step) { s.Repeat, s.Until = 100, equals(1, "go") }), step("b")),
			func(r *simRequest) reply {
				if r.At.Milliseconds() > 40 {
					return reply{Status: 200, Headers: []string{"x", "go"}}
				}
				return reply{Status: 200}
			},
			[]string{"0 /a", "10 /a", "20 /a", "30 /a"}, "1 0 0",
		},
		{
			"a step whose condition does not hold is skipped",
			steps(every10ms(4), step("a", captureX), step("b", func(s *rv.Step) { s.When = equals(1, "stop") }), step("c", func(s *rv.Step) { s.When = equals(1, "go") })), fails("", 0),
			[]string{"0 /a", "10 /c", "20 /a", "30 /c"}, "2 2 0",
		},
		{
			"a chain none of whose steps is sent leaves its slot to nobody",
			steps(every10ms(2), step("a", func(s *rv.Step) { s.When = equals(1, "go") })), fails("", 0),
			nil, "32 32 0",
		},
		{
			"a group goes out in the slots that follow, and the next step when all have answered",
			steps(every10ms(5), step("a", group(1)), step("b", group(1)), step("c")),
			func(r *simRequest) reply {
				if r.Fields[":path"] == "/a" {
					return reply{Status: 200, After: 15 * time.Millisecond}
				}
				return reply{Status: 200, After: time.Millisecond}
			},
			[]string{"0 /a", "10 /b", "20 /c", "30 /a", "40 /b"}, "2 1 0",
		},
		{
			"a failure in a group keeps back what has no slot yet",
			steps(every10ms(3), step("a", group(1)), step("b", group(1)), step("c")), fails("/a", 1),
			[]string{"0 /a", "10 /a", "20 /b"}, "2 0 1",
		},
		{
			"retries wait longer and longer, and then succeed",
			steps(every10ms(12), step("a", func(s *rv.Step) {
				s.OnFailure = rv.OnFailure{Retries: 2, Backoff: 25 * time.Millisecond, MaxBackoff: time.Second}
			}), step("b")), func() func(*simRequest) reply {
				seen := map[string]int{}
				return func(r *simRequest) reply {
					k := r.Fields[":path"]
					if seen[k]++; k == "/a" && seen[k] == 1 {
						return reply{Status: 503}
					}
					return reply{Status: 200}
				}
			}(),
			[]string{"0 /a", "10 /a", "20 /b", "30 /a", "40 /b", "50 /a", "60 /b", "70 /a", "80 /b", "90 /a", "100 /b", "110 /a"}, "6 5 0",
		},
		{
			"retries are used up",
			steps(every10ms(2), step("a", func(s *rv.Step) { s.OnFailure.Retries = 1 }), step("b")), fails("/a", 9),
			[]string{"0 /a", "10 /a"}, "1 0 1",
		},
		{
			"what failed captures nothing, and continues",
			steps(every10ms(4), step("a", captureX, func(s *rv.Step) { s.OnFailure.Continue = true }), step("b", func(s *rv.Step) { s.When = equals(1, "go") }), step("c")),
			func(r *simRequest) reply {
				if r.Fields[":path"] == "/a" {
					return reply{Status: 500, Headers: []string{"x", "go"}}
				}
				return reply{Status: 200}
			},
			[]string{"0 /a", "10 /c", "20 /a", "30 /c"}, "2 2 0",
		},
		{
			"what failed after its header captures nothing, and continues",
			steps(every10ms(4), step("a", captureX, func(s *rv.Step) { s.OnFailure.Continue = true }), step("b", func(s *rv.Step) { s.When = equals(1, "go") }), step("c")),
			func(r *simRequest) reply {
				if r.Fields[":path"] == "/a" { // the client resets it
					return reply{Status: 200, Headers: []string{"x", "go", "content-length", "2"}, Body: []byte("b")}
				}
				return reply{Status: 200}
			},
			[]string{"0 /a", "10 /c", "20 /a", "30 /c"}, "2 2 0",
		},
		{
			"a failure may not matter",
			steps(every10ms(4), step("a", func(s *rv.Step) { s.OnFailure.Continue = true }), step("b")), fails("/a", 9),
			[]string{"0 /a", "10 /b", "20 /a", "30 /b"}, "2 2 0",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.plan.Chains[0].Captures = []string{"x"}
			b := newBench(t, tt.plan, tt.serve)
			b.run()
			if diff := cmp.Diff(tt.want, b.trace()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			c := b.w.rec.Chains[0]
			if got := fmt.Sprint(c.Started, c.Completed, c.Aborted); got != tt.chain {
				t.Errorf("started, completed, aborted: %s, want %s", got, tt.chain)
			}
		})
	}
}

func TestRetriesAreCounted(t *testing.T) {
	p := steps(every10ms(10), step("a", func(s *rv.Step) { s.OnFailure.Retries = 4 }))
	b := newBench(t, p, func(*simRequest) reply { return reply{Status: 500} })
	got := b.run()
	s := b.w.rec.Steps[0]
	if got.Sent != 10 || s.Retries != 8 || s.FailedBy.Counts()[rv.CheckStatus] != 10 {
		t.Errorf("got %+v, %d retries, failed %v", got, s.Retries, s.FailedBy.Counts())
	}
	if diff := cmp.Diff(map[string]int64{rv.AbortFailedCheck: 2}, b.w.rec.Chains[0].AbortedBy.Counts()); diff != "" {
		t.Errorf("aborted (-want +got):\n%s", diff)
	}
}

func TestRetryAfter(t *testing.T) {
	const backoff = 20 * time.Millisecond
	for _, tt := range []struct {
		name   string
		change func(*rv.Step)
		first  reply
		want   []string
	}{
		{"longer than the backoff", nil, reply{Status: 503, Headers: []string{"retry-after", "1"}}, []string{"0 /a", "1000 /a"}},
		{"on a response with another failure status", nil, reply{Status: 429, Headers: []string{"retry-after", "1"}}, []string{"0 /a", "1000 /a"}},
		{"a date", nil, reply{Status: 503, Headers: []string{"retry-after", time.Now().Add(4 * time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}}, []string{"0 /a"}},
		{"a date in the past", nil, reply{Status: 503, Headers: []string{"retry-after", "Mon, 02 Jan 2006 15:04:05 GMT"}}, []string{"0 /a", "20 /a"}},
		{"shorter than the backoff", nil, reply{Status: 503, Headers: []string{"retry-after", "0"}}, []string{"0 /a", "20 /a"}},
		{"not a time", nil, reply{Status: 503, Headers: []string{"retry-after", "soon"}}, []string{"0 /a", "20 /a"}},
		{"ignored", func(s *rv.Step) { s.OnFailure.IgnoreRetryAfter = true }, reply{Status: 503, Headers: []string{"retry-after", "1"}}, []string{"0 /a", "20 /a"}},
		{"with a body that is inspected", func(s *rv.Step) {
			s.Expect.Checks = []rv.Check{{Name: "size", Source: &rv.Source{Kind: rv.SourceBodySize}, Match: &rv.Match{Op: rv.MatchLessThan, Want: lit("100")}}}
		}, reply{Status: 503, Headers: []string{"retry-after", "1"}}, []string{"0 /a", "1000 /a"}},
		{"of a response that is not an error", func(s *rv.Step) { s.Expect.Status = []rv.StatusRange{{From: 201, To: 201}} },
			reply{Status: 200, Headers: []string{"retry-after", "1"}}, []string{"0 /a", "20 /a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := steps(rv.Rate{Name: "r", Count: 100, Period: time.Second, Requests: 200}, step("a", func(s *rv.Step) {
				s.OnFailure = rv.OnFailure{Retries: 3, Backoff: backoff}
				if tt.change != nil {
					tt.change(s)
				}
			}))
			p.Chains[0].MaxInFlight = 1
			n := 0
			b := newBench(t, p, func(*simRequest) reply {
				if n++; n == 1 {
					return tt.first
				}
				return reply{Status: 201}
			})
			b.run()
			if got := b.trace(); len(got) < len(tt.want) || !cmp.Equal(tt.want, got[:len(tt.want)]) {
				t.Errorf("requests %v, want %v first", got[:min(3, len(got))], tt.want)
			} else if len(tt.want) == 1 && len(got) > 1 {
				t.Errorf("requests %v, want one", got[:2])
			}
		})
	}
}

func TestMaxInFlight(t *testing.T) {
	for _, closed := range []bool{false, true} {
		rate := every10ms(50)
		if closed {
			rate = rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Second}
		}
		p := steps(rate, step("a"))
		p.Chains[0].MaxInFlight = 3
		open, most := 0, 0
		var b *bench
		b = newBench(t, p, func(*simRequest) reply {
			open++
			most = max(most, open)
			b.in(100*time.Millisecond, func() { open-- })
			return reply{Status: 200, After: 100 * time.Millisecond}
		})
		got := b.run()
		if most != 3 || !closed && got.Sent+got.Dropped != 50 || got.Sent < 14 {
			t.Errorf("closed loop %v: %d at once, %+v", closed, most, got)
		}
	}
}

func TestStartDelay(t *testing.T) {
	p := steps(every10ms(20), step("a"))
	p.Chains = append(p.Chains, rv.Chain{Name: "late", Weight: 1, Delay: 100 * time.Millisecond, Steps: []rv.Step{step("b")}})
	b := newBench(t, p, ok(0))
	b.run()
	first := slices.IndexFunc(b.served, func(r *simRequest) bool { return r.Fields[":path"] == "/b" })
	if at := (b.served[first].At - time.Duration(b.startAt)).Milliseconds(); at < 100 || at > 110 || len(b.served) != 20 {
		t.Errorf("the late chain began after %d ms; %d requests", at, len(b.served))
	}
}

// TestStartDelayOfClosedLoop: a chain begins after its delay, although nothing else happens at this instant.
func TestStartDelayOfClosedLoop(t *testing.T) {
	for name, rate := range map[string]rv.Rate{
		"without a limit": {Name: "r", ClosedLoop: true, Duration: time.Second},
		"with a limit":    atMost(2, time.Second, 0),
		"with a ramp":     {Name: "r", ClosedLoop: true, Count: 2, RampFrom: new(int64(2)), Duration: time.Second},
		"until requests":  atMost(2, 0, 10),
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(rate, step("a"))
			p.Chains[0].MaxInFlight = 1
			for _, at := range []string{"300ms", "100ms", "200ms"} {
				delay, _ := time.ParseDuration(at)
				p.Chains = append(p.Chains, rv.Chain{Name: "late" + at, MaxInFlight: 1, Weight: 1, Delay: delay, Steps: []rv.Step{step(at)}})
			}
			b := newBench(t, p, ok(450*time.Millisecond))
			b.run()
			first := slices.IndexFunc(b.served, func(r *simRequest) bool { return r.Fields[":path"] == "/100ms" })
			if first < 0 {
				t.Fatal("the late chain did not begin")
			}
			if at := (b.served[first].At - time.Duration(b.startAt)).Milliseconds(); at < 100 || at > 110 {
				t.Errorf("the late chain began after %d ms", at)
			}
		})
	}
}

func TestStopWhenValuesEnd(t *testing.T) {
	for name, rate := range map[string]rv.Rate{
		"paced": perSecond(100, 10*time.Second), "closed loop": {Name: "r", ClosedLoop: true, Duration: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(rate, step("a"), step("b", func(s *rv.Step) { s.Path = rv.Text{{Literal: "/"}, {Variable: 1}} }))
			p.Variables = []rv.Variable{{Name: "v", Stop: true, List: []string{"x", "y", "z"}}}
			b := newBench(t, p, ok(time.Millisecond))
			got := b.run()
			if got.Sent != 6 || got.Dropped != 0 || !b.w.rec.Exhausted {
				t.Errorf("got %+v, exhausted %v", got, b.w.rec.Exhausted)
			}
			if took := time.Duration(b.w.Read().EndedAt - b.startAt); took > time.Second {
				t.Errorf("the load ended after %v", took)
			}
			if c := b.w.rec.Chains[0]; c.Completed != 3 {
				t.Errorf("chains %+v", c)
			}
		})
	}
}

func TestSetupAndTeardown(t *testing.T) {
	p := steps(every10ms(3), step("load", func(s *rv.Step) { s.Path = rv.Text{{Literal: "/load/"}, {Global: 1}} }))
	p.Globals = []string{"token"}
	p.Chains = append(p.Chains,
		rv.Chain{Name: "login", Phase: rv.PhaseSetup, Captures: []string{"token"}, Publish: []int{1}, Steps: []rv.Step{
			step("login", func(s *rv.Step) { s.Capture = []rv.Capture{{Source: header("x")}} }), step("warm")}},
		rv.Chain{Name: "second", Phase: rv.PhaseSetup, Steps: []rv.Step{step("second", func(s *rv.Step) { s.Path = rv.Text{{Literal: "/second/"}, {Global: 1}} })}},
		rv.Chain{Name: "logout", Phase: rv.PhaseTeardown, Steps: []rv.Step{step("gone", func(s *rv.Step) { s.OnFailure.Retries = 1 }), step("never")}},
		rv.Chain{Name: "clean", Phase: rv.PhaseTeardown, Steps: []rv.Step{step("clean", func(s *rv.Step) { s.Path = rv.Text{{Literal: "/clean/"}, {Global: 1}} })}},
	)
	b := newBench(t, p, func(r *simRequest) reply {
		if r.Fields[":path"] == "/gone" {
			return reply{Status: 500}
		}
		return reply{Status: 200, After: 5 * time.Millisecond, Headers: []string{"x", "t0"}}
	})
	got := b.run()
	var paths []string
	for _, r := range b.served {
		paths = append(paths, r.Fields[":path"])
	}
	want := strings.Fields("/login /warm /second/t0 /load/t0 /load/t0 /load/t0 /gone /gone /clean/t0")
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got.Sent != 3 || b.w.rec.Setup.Sent != 3 || b.w.rec.Setup.Succeeded != 3 || b.w.rec.Teardown.Sent != 3 || b.w.rec.Teardown.Succeeded != 1 {
		t.Errorf("got %+v, setup %+v, teardown %+v", got, b.w.rec.Setup, b.w.rec.Teardown)
	}
	if b.drainedAt == 0 {
		t.Error("teardown was not waited for")
	}
}

func TestSetupFails(t *testing.T) {
	for name, tt := range map[string]struct {
		reply reply
		want  string
	}{
		"status":     {reply{Status: 403}, "setup chain login: step login: failed check status (status 403)"},
		"no answer":  {reply{}, "setup chain login: step login: timedOut"},
		"no capture": {reply{Status: 200}, "setup chain login: step login: missingCapture"},
	} {
		t.Run(name, func(t *testing.T) {
			p := steps(every10ms(3), step("load"))
			p.Globals = []string{"token"}
			p.Chains = append(p.Chains, rv.Chain{Name: "login", Phase: rv.PhaseSetup, Captures: []string{"token"}, Publish: []int{1}, Steps: []rv.Step{
				step("login", func(s *rv.Step) { s.Capture = []rv.Capture{{Source: header("x")}} })}})
			b := newBench(t, p, func(*simRequest) reply { return tt.reply })
			got := b.run()
			if got.Sent != 0 || b.w.SetupFailure() != tt.want {
				t.Errorf("got %+v, %q, want %q", got, b.w.SetupFailure(), tt.want)
			}
		})
	}
}

func TestChecksAndCaptures(t *testing.T) {
	pointer := func(p string) *rv.Source { return &rv.Source{Kind: rv.SourceJSONPointer, Pointer: p} }
	equal := func(want string) *rv.Match { return &rv.Match{Op: rv.MatchEquals, Want: lit(want)} }
	p := steps(every10ms(8),
		step("a", func(s *rv.Step) {
			s.Expect.Checks = []rv.Check{{Name: "state", Source: pointer("/state"), Match: equal("up")}, {Name: "kind", Source: &rv.Source{Kind: rv.SourceHeader, Name: "kind"}, Match: equal("json")}}
			s.Capture = []rv.Capture{{Source: *pointer("/ids/-1")}}
		}),
		step("b", func(s *rv.Step) { s.Path = rv.Text{{Literal: "/b/"}, {Capture: 1}} }))
	p.Chains[0].Captures = []string{"id"}
	bodies := []string{`{"state":"up","ids":[1,2,3]}`, `{"state":"down","ids":[1]}`, `{"state":"up","ids":[]}`, `not json`, `{"ids":["last"],"state":"up"}`}
	n := 0
	b := newBench(t, p, func(r *simRequest) reply {
		if r.Fields[":path"] != "/a" {
			return reply{Status: 404, Body: []byte(`{"cause":"USER_NOT_FOUND"}`)}
		}
		n++
		kind := "json"
		if n == 5 {
			kind = "xml"
		}
		return reply{Status: 200, Headers: []string{"kind", kind}, Body: []byte(bodies[(n-1)%len(bodies)])}
	})
	b.run()
	if diff := cmp.Diff([]string{"0 /a", "10 /b/3", "20 /a", "30 /a", "40 /a", "50 /a", "60 /a", "70 /b/3"}, b.trace()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"state": 2, "kind": 1}, b.w.rec.Steps[0].FailedBy.Counts()); diff != "" {
		t.Errorf("failed checks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{rv.AbortFailedCheck: 5, rv.AbortMissingCapture: 1}, b.w.rec.Chains[0].AbortedBy.Counts()); diff != "" {
		t.Errorf("aborted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"USER_NOT_FOUND": 2}, b.w.rec.Causes.Counts()); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestTrailers: checks and captures of header fields see those of the trailer section, after those of the header. A
// Retry-After there delays nothing (RFC 9110 6.5.1).
func TestTrailers(t *testing.T) {
	ok := header("grpc-status")
	for _, inspects := range []bool{false, true} {
		p := steps(every10ms(5),
			step("a", func(s *rv.Step) {
				s.OnFailure.Retries = 1
				s.Capture = []rv.Capture{{Source: header("id")}, {Source: header("x")}}
				if inspects {
					s.Expect.Checks = []rv.Check{{Name: "ok", Source: &ok, Match: &rv.Match{Op: rv.MatchEquals, Want: lit("0")}}}
				}
			}),
			step("b", func(s *rv.Step) { s.Path = rv.Text{{Literal: "/b/"}, {Capture: 1}, {Literal: "/"}, {Capture: 2}} }))
		p.Chains[0].Captures = []string{"id", "x"}
		p.Chains[0].Steps[0].Capture[1].Slot = 1
		n := 0
		b := newBench(t, p, func(*simRequest) reply {
			if n++; n == 1 {
				return reply{Status: 503, Trailers: []string{"retry-after", "9"}}
			}
			return reply{Status: 200, Headers: []string{"x", "header"}, Body: []byte("x"), Trailers: []string{"grpc-status", strconv.Itoa(n / 4), "id", "7", "x", "trailer"}}
		})
		b.run()
		want := []string{"0 /a", "10 /a", "20 /b/7/header", "30 /a", "40 /b/7/header"}
		if inspects {
			want[4] = "40 /a" // the check failed
		}
		if diff := cmp.Diff(want, b.trace()); diff != "" {
			t.Errorf("inspects %v: requests (-want +got):\n%s", inspects, diff)
		}
	}
}

// TestProblemsOfSteps: problem details are counted for each step by status and cause, and each response by its status. Those of a
// warm-up are not.
func TestProblemsOfSteps(t *testing.T) {
	warm := every10ms(5)
	warm.Name, warm.WarmUp = "warm", true
	p := steps(warm, step("a", func(s *rv.Step) { s.OnFailure.Continue = true }), step("b"))
	p.Rates = append(p.Rates, every10ms(4*rv.MaxProblems))
	n := 0
	b := newBench(t, p, func(r *simRequest) reply {
		if r.Fields[":path"] == "/b" {
			return reply{Status: 200, Body: []byte(`{"cause":"NONE"}`)}
		}
		switch n++; {
		case n <= 5+10:
			return reply{Status: 404, Body: []byte(`{"cause":"CONTEXT_NOT_FOUND"}`)}
		case n <= 5+20:
			return reply{Status: 503, Body: []byte(`{"title":"Service Unavailable","status":503}`)}
		}
		return reply{Status: 500 + n%100, Body: []byte(`{"cause":"` + strings.Repeat("x", n) + `"}`)}
	})
	b.run()
	a := &b.w.rec.Steps[0]
	got := a.Problems.Counts()
	var all int64
	for _, c := range got {
		all += c
	}
	if got["404 CONTEXT_NOT_FOUND"] < 5 || got["503 Service Unavailable"] != 10 || got[rv.CauseOther] == 0 || len(got) != rv.MaxProblems+1 || all != a.Done {
		t.Errorf("%d of %d problems: %v", all, a.Done, got)
	}
	if other := b.w.rec.Steps[1].Problems.Counts(); len(other) > 0 {
		t.Errorf("problems of the other step: %v", other)
	}
	codes := map[int]int64{}
	b.w.rec.Steps[1].Codes.Each(func(code int, n int64) { codes[code] = n })
	if diff := cmp.Diff(map[int]int64{200: b.w.rec.Steps[1].Done}, codes); diff != "" {
		t.Errorf("status codes (-want +got):\n%s", diff)
	}
}

// TestBodiesAreBounded: a body that a check needs is cut above MaxBody. It counts as truncated if another check fails first, too. Step b
// needs no bodies.
func TestBodiesAreBounded(t *testing.T) {
	p := steps(every10ms(6), step("a", func(s *rv.Step) {
		s.MaxBody, s.OnFailure.Continue = 10, true
		s.Expect.Checks = []rv.Check{{Name: "full", Source: &rv.Source{Kind: rv.SourceBody}, Match: &rv.Match{Op: rv.MatchContains, Want: lit("x")}}}
	}), step("b"))
	status, n := []int{200, 200, 503}, 9
	b := newBench(t, p, func(r *simRequest) reply {
		if r.Fields[":path"] == "/b" {
			return reply{Status: 503, Body: []byte("{" + strings.Repeat("x", 9_000))}
		}
		n++
		return reply{Status: status[n-10], Body: []byte(strings.Repeat("x", n))}
	})
	b.run()
	a := &b.w.rec.Steps[0]
	want := map[string]int64{rv.CheckBody: 1, rv.CheckStatus: 1}
	if diff := cmp.Diff(want, a.FailedBy.Counts()); diff != "" || a.Succeeded != 1 || a.ResponsesTruncated != 2 {
		t.Errorf("%d succeeded, %d truncated, failed (-want +got):\n%s", a.Succeeded, a.ResponsesTruncated, diff)
	}
	if b := &b.w.rec.Steps[1]; b.Done != 3 || b.ResponsesTruncated != 0 {
		t.Errorf("step b: %d responses, %d truncated", b.Done, b.ResponsesTruncated)
	}
}

func TestCookies(t *testing.T) {
	p := steps(every10ms(5), step("login"), step("use"), step("fresh", func(s *rv.Step) { s.ClearCookies = true }))
	p.Chains[0].Cookies = true
	n := 0
	b := newBench(t, p, func(r *simRequest) reply {
		if r.Fields[":path"] != "/login" {
			return reply{Status: 200}
		}
		n++
		return reply{Status: 200, Headers: []string{"set-cookie", fmt.Sprintf("id=%d; Path=/", n)}}
	})
	b.run()
	var got []string
	for _, r := range b.served {
		got = append(got, r.Fields["cookie"])
	}
	if diff := cmp.Diff([]string{"", "id=1", "", "", "id=2"}, got); diff != "" {
		t.Errorf("cookies (-want +got):\n%s", diff)
	}
}

// TestResponseChangesThePath: what a response sets belongs to the path that was sent, and not to that of the next request.
func TestResponseChangesThePath(t *testing.T) {
	capture := func(slot int, field string) rv.Capture { return rv.Capture{Slot: slot, Source: header(field)} }
	p := steps(every10ms(4),
		step("first", func(s *rv.Step) { s.Capture = []rv.Capture{capture(0, "x-next")} }),
		step("cart", func(s *rv.Step) {
			s.Path = rv.Text{{Literal: "/carts/"}, {Capture: 1}, {Literal: "/items"}}
			s.Capture = []rv.Capture{capture(0, "x-next"), {Slot: 1, Source: header("location"), Location: true}}
		}),
		step("item", func(s *rv.Step) { s.Path = rv.Text{{Capture: 2}} }),
		step("old", func(s *rv.Step) { s.Path = lit("/carts/1/x") }))
	p.Chains[0].Captures = []string{"id", "item"}
	for _, cookies := range []bool{false, true} {
		p.Chains[0].Cookies = cookies
		next := 0
		b := newBench(t, p, func(*simRequest) reply {
			next++
			return reply{Status: 200, Headers: []string{"x-next", fmt.Sprint(next), "location", "item", "set-cookie", fmt.Sprintf("s=%d", next)}}
		})
		b.run()
		var got []string
		for _, r := range b.served {
			got = append(got, strings.TrimSpace(r.Fields[":path"]+" "+r.Fields["cookie"]))
		}
		want := []string{"/first", "/carts/1/items", "/carts/1/item", "/carts/1/x"}
		if cookies {
			want = []string{"/first", "/carts/1/items s=1", "/carts/1/item s=2; s=1", "/carts/1/x s=3; s=1"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cookies %v (-want +got):\n%s", cookies, diff)
		}
	}
}

func TestFollowAuthority(t *testing.T) {
	body := rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/_links/self/href"}
	for name, capture := range map[string]rv.Capture{
		"location":      {Source: header("location"), Location: true},
		"another field": {Source: header("x-next")},
		"body":          {Source: body},
	} {
		for _, follow := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, following %v", name, follow), func(t *testing.T) { testFollow(t, capture, follow) })
		}
	}
}

func testFollow(t *testing.T, capture rv.Capture, follow bool) {
	p := steps(every10ms(4), step("a", func(s *rv.Step) {
		s.Capture = []rv.Capture{capture}
	}), step("b", func(s *rv.Step) { s.Path = rv.Text{{Capture: 1}, {Literal: "/b"}} }))
	p.Chains[0].Captures = []string{"at"}
	p.Targets[0].FollowAuthority = follow
	const uri = "http://Other:81/x/../y"
	b := newBench(t, p, func(r *simRequest) reply {
		return reply{Status: 200, Headers: []string{"location", uri, "x-next", uri}, Body: []byte(`{"_links": {"self": {"href": "` + uri + `"}}}`)}
	})
	got := b.run()
	want := []string{"t /a", "t /y/b", "t /a", "t /y/b"}
	if follow {
		want = []string{"t /a", "other:81 /y/b", "t /a", "other:81 /y/b"}
	}
	var seen []string
	for _, r := range b.served {
		seen = append(seen, r.Fields[":authority"]+" "+r.Fields[":path"])
	}
	if diff := cmp.Diff(want, seen); diff != "" || got.Succeeded != 4 {
		t.Errorf("%+v\n%s", got, diff)
	}
	if follow && (len(b.dialled) != 2 || b.dialled[1].Target.Endpoints[0].Address != "other:81") {
		t.Errorf("dialled %+v", b.dialled)
	}
}

// TestFollowedAuthorityHasTheShare: connections to an authority that is followed have the numbers of the present share,
// as those to its target.
func TestFollowedAuthorityHasTheShare(t *testing.T) {
	p := steps(every10ms(100), step("a", func(s *rv.Step) {
		s.Capture = []rv.Capture{{Source: header("location"), Location: true}}
	}), step("b", func(s *rv.Step) { s.Path = rv.Text{{Capture: 1}, {Literal: "/b"}} }))
	p.Chains[0].Captures = []string{"at"}
	p.Targets[0].FollowAuthority, p.Targets[0].Connections = true, 2
	p.Targets[0].Connecting.LocalAddresses = []string{"::1"}
	b := newBench(t, p, func(*simRequest) reply {
		return reply{Status: 200, Headers: []string{"location", "http://other:81/x"}}
	})
	share := split.Whole(p)
	share.Connections, share.FirstConnection = []int{3}, []int{1}
	b.onStart = append(b.onStart, func() {
		b.w.Change(slots.Change{At: b.startAt + int64(300*time.Millisecond), Rates: p.Rates, Share: &share})
	})
	if got := b.run(); got.Succeeded != 100 {
		t.Errorf("%+v", got)
	}
	dialled := map[string][]int{}
	for _, a := range b.dialled {
		to := a.Target.Endpoints[0].Authority
		dialled[to] = append(dialled[to], a.Number)
	}
	want := []int{0, 1, 2, 3}
	if diff := cmp.Diff(map[string][]int{"t": want, "other:81": want}, dialled); diff != "" {
		t.Errorf("numbers of the connections (-want +got):\n%s", diff)
	}
}

// TestFollowPublishedURI: an API prefix that setup has captured from a body.
func TestFollowPublishedURI(t *testing.T) {
	p := steps(every10ms(2), step("load", func(s *rv.Step) { s.Path = rv.Text{{Global: 1}, {Literal: "/v2"}} }))
	p.Globals = []string{"prefix"}
	p.Targets[0].FollowAuthority = true
	discover := step("discover", func(s *rv.Step) {
		s.Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/apiPrefix"}}}
	})
	p.Chains = append(p.Chains, rv.Chain{Name: "setup", Phase: rv.PhaseSetup, Captures: []string{"prefix"}, Publish: []int{1}, Steps: []rv.Step{discover}})
	b := newBench(t, p, func(r *simRequest) reply {
		return reply{Status: 200, Body: []byte(`{"apiPrefix": "http://other:81"}`)}
	})
	b.run()
	var seen []string
	for _, r := range b.served {
		seen = append(seen, r.Fields[":authority"]+" "+r.Fields[":path"])
	}
	if diff := cmp.Diff([]string{"t /discover", "other:81 /v2", "other:81 /v2"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestScripts(t *testing.T) {
	script := func(lua string) func(*rv.Step) {
		return func(s *rv.Step) { s.Script = &rv.Script{Name: "script", Content: rv.Content{Text: lua}} }
	}
	p := steps(every10ms(6),
		step("a", script(`
			function make_request(headers, body, request, payload)
				request["x-before"] = headers[":status"] or "none"
				request[":path"] = request[":path"] .. "?from=lua"
				return request, payload .. "body"
			end
			function validate_response(headers, body) return body == "good" end`), func(s *rv.Step) { s.Method = "POST" }),
		step("b", script(`function on_request(req, prev) req:set_header("x-before", prev.body) end`)),
		step("c", script(`local n = 0 function on_request(req, prev) n = n + 1 error("no\nway " .. n) end`)))
	b := newBench(t, p, func(r *simRequest) reply { return reply{Status: 200, Body: []byte("good")} })
	got := b.run()
	var seen []string
	for _, r := range b.served {
		seen = append(seen, fmt.Sprintf("%s %s %q", r.Fields[":path"], r.Fields["x-before"], r.Body))
	}
	want := []string{`/a?from=lua none "body"`, `/b good ""`, `/a?from=lua none "body"`, `/b good ""`}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got.Sent != 4 || got.Dropped != 2 || b.w.rec.Chains[0].AbortedBy.Counts()[rv.AbortScript] != 2 {
		t.Errorf("got %+v, aborted %v", got, b.w.rec.Chains[0].AbortedBy.Counts())
	}
	if diff := cmp.Diff(map[rv.Failure]int64{{Of: rv.FailureDropped, Cause: rv.CauseScript, Detail: "script:1: no way 1"}: 2}, causesOf(b)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// TestScriptChangesTheMethod: whether a response has content depends on the method that was sent.
func TestScriptChangesTheMethod(t *testing.T) {
	for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
		for from, to := range map[string]string{"GET": "HEAD", "HEAD": "GET"} {
			t.Run(fmt.Sprintf("%s, %s to %s", protocol, from, to), func(t *testing.T) {
				p := steps(every10ms(3), step("a", func(s *rv.Step) {
					s.Method = from
					s.Script = &rv.Script{Name: "script", Content: rv.Content{Text: `function on_request(req, prev) req.method = "` + to + `" end`}}
				}))
				p.Targets[0].Protocol = protocol
				b := newBench(t, p, func(*simRequest) reply {
					r := reply{Status: 200, Body: []byte("hello")}
					if protocol == rv.ProtocolH2C {
						r.Headers = []string{"content-length", "5"}
					}
					return r
				})
				b.protocol = protocol
				if got := b.run(); got.Succeeded != 3 || b.served[0].Fields[":method"] != to || len(b.conns) != 1 {
					t.Errorf("got %+v over %d connections, failures %v", got, len(b.conns), causesOf(b))
				}
			})
		}
	}
}

// TestLocationThatCannotBeFollowed: the instance ends once, and is counted once.
// slowLog takes time at each record.
type slowLog struct {
	slog.Handler
	took func()
}

func (slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (s slowLog) Handle(context.Context, slog.Record) error { s.took(); return nil }

// TestLongTurnHearsTheInbox: checks and scripts that take long delay what comes from outside by one response, not
// by all that have come at once.
func TestLongTurnHearsTheInbox(t *testing.T) {
	p := gets(rv.Rate{Name: "r", ClosedLoop: true, Requests: 8})
	p.Targets[0].Connections, p.Targets[0].MaxConcurrentStreams = 8, 1
	p.Chains[0].Steps[0].Script = &rv.Script{Name: "s", Content: rv.Content{Text: `function on_response() error("no") end`}}
	b := newBench(t, p, ok(time.Millisecond))
	const each = 30 * time.Millisecond
	var asked, heard int64
	b.w.scripts.log = slog.New(slowLog{slog.DiscardHandler, func() {
		b.clock += int64(each)
		if asked == 0 {
			asked = b.clock
			b.w.Do(func(*Worker) { heard = b.clock })
		}
	}})
	got := b.run()
	if d := time.Duration(heard - asked); got.Done != 8 || heard == 0 || d > each {
		t.Errorf("got %+v; heard after %v, want at most %v", got, d, each)
	}
}

func TestLocationThatCannotBeFollowed(t *testing.T) {
	p := steps(every10ms(4), step("a", func(s *rv.Step) {
		s.Capture = []rv.Capture{{Source: header("location"), Location: true}}
	}), step("b", func(s *rv.Step) { s.Path = rv.Text{{Capture: 1}} }))
	p.Chains[0].Captures = []string{"at"}
	p.Targets[0].FollowAuthority = true
	b := newBench(t, p, func(*simRequest) reply {
		return reply{Status: 200, Headers: []string{"location", "https://other/x"}} // the target has no TLS
	})
	b.run()
	c := b.w.rec.Chains[0]
	_, ended := b.w.flow.All()
	if c.Started != 4 || c.Completed != 0 || c.AbortedBy.Counts()[rv.AbortLocation] != 4 || b.w.flow.Live(0) || len(ended) != 1 {
		t.Errorf("chains %+v, %v, live: %v, %d ended", c, c.AbortedBy.Counts(), b.w.flow.Live(0), len(ended))
	}
}
