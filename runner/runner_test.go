package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/test/peer"
)

// lifecycle is a peer with a life cycle of resources, and with counts.
type lifecycle struct {
	address  string
	requests atomic.Int64
	mu       sync.Mutex
	alive    map[string]bool
	bodies   map[string]int
	delay    time.Duration
	// elsewhere precedes locations; "": they are relative.
	elsewhere string
}

func newPeer(t *testing.T, delay time.Duration) *lifecycle {
	t.Helper()
	p := &lifecycle{alive: map[string]bool{}, bodies: map[string]int{}, delay: delay}
	p.address = peer.Serve(t, true, p)
	return p
}

func (p *lifecycle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := p.requests.Add(1)
	body, _ := io.ReadAll(r.Body)
	time.Sleep(p.delay)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		p.bodies[string(body)]++
		at := fmt.Sprintf("/things/%d", n)
		p.alive[at] = true
		w.Header().Set("Location", p.elsewhere+at)
		w.WriteHeader(http.StatusCreated)
	case !p.alive[r.URL.Path]:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(p.alive, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		_, _ = w.Write([]byte("{}"))
	}
}

func lifeCycle(address string, rates ...rv.Rate) *rv.Plan {
	second := 5 * time.Second
	status := func(code int) rv.Expect { return rv.Expect{Status: []rv.StatusRange{{From: code, To: code}}} }
	session := rv.Text{{Capture: 1}}
	return &rv.Plan{
		Name:      "default/life",
		Targets:   []rv.Target{{Name: "t", Protocol: rv.ProtocolH2C, Connections: 4, MaxConcurrentStreams: 10, ConnectTimeout: second, Endpoints: []rv.Endpoint{{Scheme: "http", Authority: address, Address: address}}}},
		Variables: []rv.Variable{{Name: "ue", Range: &rv.Range{Start: 0, End: 1_000_000, Step: 1, Width: 7}}},
		Chains: []rv.Chain{{Name: "life", Weight: 1, Captures: []string{"session"}, Steps: []rv.Step{
			{Name: "create", Method: "POST", Path: rv.Text{{Literal: "/things"}}, Body: rv.Text{{Variable: 1}}, Timeout: second, Expect: status(201), Capture: []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}, Location: true}}},
			{Name: "update", Method: "PATCH", Path: session, Body: rv.Text{{Literal: "{}"}}, Timeout: second, Expect: status(200)},
			{Name: "delete", Method: "DELETE", Path: session, Timeout: second, Expect: status(204)},
		}}},
		Rates: rates, Drain: second, Shards: 1,
	}
}

func law(t *testing.T, s *rv.Snapshot) {
	t.Helper()
	c := &s.Counters
	if c.Sent != c.Done+c.TimedOut+c.Reset+c.ConnectionLost+c.InFlightAtEnd || c.Done != c.Succeeded+c.FailedChecks {
		t.Errorf("the counting law is broken: %+v", *c)
	}
}

// TestTotals: all is there but the response times of steps and the service time, and a final snapshot is complete.
func TestTotals(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 1000, Period: time.Second, Requests: 30}, rv.Rate{Name: "wait", Count: 1, Period: time.Hour, Duration: time.Hour})
	r := ready(t, plan, split.Whole(plan))
	if err := r.Start(rv.Start{At: rv.Clock()}); err != nil {
		t.Fatal(err)
	}
	s := r.Totals()
	for ; s.Counters.Sent < 30 || s.Counters.InFlightAtEnd > 0; s = r.Totals() { // a busy worker may answer with an earlier state
		time.Sleep(time.Millisecond)
	}
	law(t, s)
	for i, step := range s.Steps {
		if step.ResponseTime.Count != 0 || step.ResponseTime.Counts != nil {
			t.Errorf("step %d: %+v", i, step)
		}
	}
	if s.Counters.Done < 30 {
		t.Errorf("%d requests done; want 30", s.Counters.Done)
	}
	if s.Lag.Count == 0 || s.ServiceTime.Count != 0 {
		t.Errorf("%d times of lag, %d service times; want some and none", s.Lag.Count, s.ServiceTime.Count)
	}
	if s.ResponseTime.Count != s.Counters.Done {
		t.Errorf("%d response times of %d responses", s.ResponseTime.Count, s.Counters.Done)
	}
	if c := s.StageSelections; len(c) != 2 || c[0].Sent != s.Stages[0].Sent || c[0].Time.Count != 0 {
		t.Errorf("figures of stages %+v, want the counts of 2", c)
	}
	if err := r.Stop(rv.Stop{Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	if c := r.Totals().StageSelections[0]; c.Time.Count != c.Done || c.Done < 30 {
		t.Errorf("the final snapshot has %d response times of the first stage, want %d", c.Time.Count, c.Done)
	}
	for i, step := range r.Totals().Steps {
		if step.ResponseTime.Count != step.Done {
			t.Errorf("the final snapshot has %d response times of step %d, want %d", step.ResponseTime.Count, i, step.Done)
		}
	}
}

func TestRunCountsWhatThePeerCounts(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address,
		rv.Rate{Name: "warm", Count: 500, Period: time.Second, Requests: 100, WarmUp: true},
		rv.Rate{Name: "paced", Count: 3000, Period: time.Second, Requests: 1500},
		rv.Rate{Name: "fast", ClosedLoop: true, Requests: 1500})
	for _, workers := range []int{1, 3} {
		p.requests.Store(0)
		p.mu.Lock()
		clear(p.bodies)
		p.mu.Unlock()
		s, err := Run(t.Context(), plan, split.Whole(plan), Options{Workers: workers}, nil)
		if err != nil {
			t.Fatal(err)
		}
		law(t, s)
		if s.State != rv.StateDone || s.Histograms == nil || s.Generator.Workers != workers {
			t.Errorf("state %s, %d workers", s.State, s.Generator.Workers)
		}
		if s.Counters.Sent != 3000 || s.Counters.WarmUpSent != 100 || s.Counters.Succeeded != 3000 {
			t.Errorf("%d workers: %+v", workers, s.Counters)
		}
		if got := p.requests.Load(); got != 3100 {
			t.Errorf("%d workers: the peer counted %d", workers, got)
		}
		p.mu.Lock()
		for body, n := range p.bodies {
			if n != 1 {
				t.Errorf("%d workers: value %s was used %d times", workers, body, n)
			}
		}
		p.mu.Unlock()
	}
}

func TestRunOverHTTP1(t *testing.T) {
	p := newPeer(t, 0)
	p.address = peer.Serve(t, false, p)
	for _, use := range []rv.HTTP1{{}, {Pipeline: 4}, {NoKeepAlive: true}} {
		p.requests.Store(0)
		plan := lifeCycle(p.address,
			rv.Rate{Name: "paced", Count: 3000, Period: time.Second, Requests: 600},
			rv.Rate{Name: "fast", ClosedLoop: true, Requests: 600})
		plan.Targets[0].Protocol, plan.Targets[0].HTTP1 = rv.ProtocolHTTP1, use
		s, err := Run(t.Context(), plan, split.Whole(plan), Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		law(t, s)
		if s.Counters.Sent != 1200 || s.Counters.Succeeded != 1200 {
			t.Errorf("%+v: %+v %v", use, s.Counters, s.StatusCodes)
		}
		if got := p.requests.Load(); got != 1200 {
			t.Errorf("%+v: the peer counted %d", use, got)
		}
		if use.NoKeepAlive && s.Counters.Connects < 1200 {
			t.Errorf("%d connections for 1200 requests without keep-alive", s.Counters.Connects)
		}
	}
}

func TestProtocolOfControl(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: time.Minute})
	r, err := New(plan, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	if s := r.Snapshot(); s.State != rv.StateWaiting {
		t.Errorf("state %s", s.State)
	}
	if err := r.Start(rv.Start{At: rv.Clock()}); !errors.Is(err, ErrConflict) {
		t.Errorf("Start without a share: %v", err)
	}
	u := rv.Update{Revision: 2, Share: split.Whole(plan)}
	for range 2 { // the same message twice is one
		if err := r.Update(u); err != nil {
			t.Fatal(err)
		}
	}
	older := u
	older.Revision = 1
	if err := r.Update(older); !errors.Is(err, ErrConflict) {
		t.Errorf("an older revision: %v", err)
	}
	await(t, r, rv.StateReady)
	at := rv.Clock()
	for range 2 {
		if err := r.Start(rv.Start{At: at}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Start(rv.Start{At: at + 1}); !errors.Is(err, ErrConflict) {
		t.Errorf("another start: %v", err)
	}
	newer := u
	newer.Revision = 3
	newer.At, newer.Share.Slots.Of, newer.Share.Slots.Residues = 1, 2, []int64{1}
	if err := r.Update(newer); err != nil {
		t.Errorf("another share after its instant: %v", err)
	}
	await(t, r, rv.StateRunning)
	if err := r.Stop(rv.Stop{Reason: "spec.stop", Drain: true}); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	s := r.Snapshot()
	law(t, s)
	if s.State != rv.StateDone || s.Stopped != "spec.stop" || s.Revision != 3 || s.StartAt != at || s.StartedAt < at {
		t.Errorf("snapshot %+v", s)
	}
}

// eventually asks until something is so, or returns false.
func eventually(is func() bool) bool {
	for range 3000 {
		if is() {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

func await(t *testing.T, r *Runner, want rv.State) {
	t.Helper()
	if eventually(func() bool { return r.Snapshot().State == want }) {
		return
	}
	t.Fatalf("state %s, want %s: %s", r.Snapshot().State, want, r.Snapshot().Message)
}

func TestShareIsChecked(t *testing.T) {
	plan := lifeCycle("127.0.0.1:1", rv.Rate{Name: "r", Count: 1, Period: time.Second, Duration: time.Second})
	for _, tt := range []struct {
		want string
		edit func(*rv.Share)
	}{
		{"share.shard: 1 of 1", func(s *rv.Share) { s.Shard = 1 }},
		{"share.slots: residues must be sorted and below 0", func(s *rv.Share) { s.Slots.Of = 0 }},
		{"share.slots: residues must be sorted and below 2", func(s *rv.Share) { s.Slots = rv.Slots{Of: 2, Residues: []int64{0, 2}} }},
		{"share.slots: residues must be sorted and below 2", func(s *rv.Share) { s.Slots = rv.Slots{Of: 2, Residues: []int64{1, 0}} }},
		{"share.connections: the plan has 1 targets", func(s *rv.Share) { s.Connections = nil }},
		{"share.connections: the plan has 1 targets", func(s *rv.Share) { s.FirstConnection = []int{0, 0} }},
		{"share.connections[0]: must be at least 1", func(s *rv.Share) { s.Connections = []int{0} }},
		{"share.variables: the plan has 1", func(s *rv.Share) { s.Variables = nil }},
		{"share.variables[0]: [0, 1000001) is not within [0, 1000000)", func(s *rv.Share) { s.Variables = [][]rv.Span{{{To: 1_000_001}}} }},
		{"share.variables[0]: [2, 1) is not within [0, 1000000)", func(s *rv.Share) { s.Variables = [][]rv.Span{{{From: 2, To: 1}}} }},
		{"share.variables[0]: no values", func(s *rv.Share) { s.Variables = [][]rv.Span{{}} }},
	} {
		r, err := New(plan, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := split.Whole(plan)
		tt.edit(&s)
		if err := r.Update(rv.Update{Revision: 1, Share: s}); err == nil || err.Error() != tt.want {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

func TestRatesAreChecked(t *testing.T) {
	for _, r := range []rv.Rate{
		{Name: "no mode", Duration: time.Second},
		{Name: "two modes", Count: 1, Period: 1, ClosedLoop: true, Duration: time.Second},
		{Name: "no bound", Count: 1, Period: 1},
		{Name: "no period", Count: 1, Duration: time.Second},
		{Name: "negative", Count: 1, Period: 1, Duration: -1},
	} {
		if _, err := New(lifeCycle("x:1", r), Options{}); err == nil {
			t.Errorf("%s: accepted", r.Name)
		}
	}
}

func TestUnreachableTarget(t *testing.T) {
	plan := lifeCycle("127.0.0.1:"+peer.Refused(t), rv.Rate{Name: "r", Count: 1, Period: time.Second, Duration: time.Second})
	if got := problem(t, plan, "refused"); !strings.HasPrefix(got, "ConnectFailed: ") || !strings.Contains(got, "refused") {
		t.Errorf("problem %q", got)
	}
}

// TestSilentListener accepts connections and never says SETTINGS.
func TestSilentListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // ends the test
	plan := lifeCycle(l.Addr().String(), rv.Rate{Name: "r", Count: 1, Period: time.Second, Duration: time.Second})
	plan.Targets[0].ConnectTimeout = 200 * time.Millisecond
	_, err = Run(t.Context(), plan, split.Whole(plan), Options{}, nil)
	if !errors.Is(err, errUnreachable) {
		t.Errorf("error %v", err)
	}
}

func TestCancelDrainsAndReports(t *testing.T) {
	p := newPeer(t, 30*time.Millisecond)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 200, Period: time.Second, Duration: time.Minute})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	s, err := Run(ctx, plan, split.Whole(plan), Options{}, func(s *rv.Snapshot) {
		law(t, s)
		cancel(cause)
	})
	if err != nil {
		t.Fatal(err)
	}
	law(t, s)
	if s.Stopped != "interrupted" || s.Counters.InFlightAtEnd != 0 || s.Counters.Sent == 0 {
		t.Errorf("stopped %q, %+v", s.Stopped, s.Counters)
	}
	if got := p.requests.Load(); got != s.Counters.Sent {
		t.Errorf("sent %d, the peer counted %d", s.Counters.Sent, got)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 200, Period: time.Second, Duration: time.Minute})
	r, err := New(plan, Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Update(rv.Update{Revision: 1, Share: split.Whole(plan)}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	if s := r.Snapshot(); s.State != rv.StateDone || s.Counters.Sent != 0 {
		t.Errorf("snapshot %+v", s)
	}
	if err := r.Update(rv.Update{Revision: 2, Share: split.Whole(plan)}); !errors.Is(err, ErrConflict) {
		t.Errorf("an update after the end: %v", err)
	}
}

func TestDeadlineIsTold(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: time.Minute})
	plan.Deadline = 100 * time.Millisecond
	s, err := Run(t.Context(), plan, split.Whole(plan), Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Problem != rv.ProblemDeadline {
		t.Errorf("problem %q", s.Problem)
	}
	law(t, s)
}

func TestLiveRates(t *testing.T) {
	p := newPeer(t, 0)
	rate := func(n int64) []rv.Rate {
		return []rv.Rate{{Name: "r", Count: n, Period: time.Second, Duration: time.Second}}
	}
	plan := lifeCycle(p.address, rate(500)...)
	r, err := New(plan, Options{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	u := rv.Update{Revision: 1, Share: split.Whole(plan)}
	if err := r.Update(u); err != nil {
		t.Fatal(err)
	}
	await(t, r, rv.StateReady)
	at := rv.Clock() + int64(50*time.Millisecond)
	if err := r.Start(rv.Start{At: at}); err != nil {
		t.Fatal(err)
	}
	// 400 ms of 500/s, 200 of 1500/s, a pause of 200, and 400 of 1500/s again.
	for i, c := range []rv.Update{
		{At: int64(400 * time.Millisecond), Rates: rate(1500)},
		{At: int64(600 * time.Millisecond), Rates: rate(1500), Suspended: true},
		{At: int64(800 * time.Millisecond), Rates: rate(1500)},
	} {
		c.Revision, c.Share = int64(i+2), u.Share
		if err := r.Update(c); err != nil {
			t.Fatal(err)
		}
	}
	<-r.Done()
	s := r.Snapshot()
	law(t, s)
	st := s.Stages[0]
	if s.Revision != 4 || !s.Changed || s.Suspended || st.Slots != 1100 || st.Sent+st.Dropped != 1100 || p.requests.Load() != st.Sent {
		t.Errorf("snapshot %+v, the peer counted %d", s, p.requests.Load())
	}
	if st.Paused != int64(200*time.Millisecond) || st.Ended-st.Begun < int64(1200*time.Millisecond) {
		t.Errorf("stage %+v", st)
	}
}

func TestUpdatesThatAreRefused(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: time.Minute})
	r, err := New(plan, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	for want, rates := range map[string][]rv.Rate{
		"rates: the plan has 1":                                             {plan.Rates[0], plan.Rates[0]},
		"rates[0]: only count, period and rampFrom may change":              {{Name: "r", Count: 100, Period: time.Second, Duration: time.Hour}},
		"rates[0]: exactly one of closedLoop and count is required":         {{Name: "r", Duration: time.Minute}},
		"rates[0]: count must not be negative, and period must be positive": {{Name: "r", Count: 1, Duration: time.Minute}},
		"rates[0]: a positive duration or number of requests is required":   {{Name: "r", Count: 1, Period: time.Second}},
	} {
		if err := r.Update(rv.Update{Revision: 1, Share: split.Whole(plan), Rates: rates}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if s := r.Snapshot(); s.State != rv.StateWaiting {
		t.Errorf("state %s", s.State)
	}
}

// TestShareChangesWhileRunning: one of two runners takes the whole over from the other at an
// instant, and gives half of it back.
func TestShareChangesWhileRunning(t *testing.T) { inTime(t, rebalance) }

func rebalance(t *testing.T, lead time.Duration) bool {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 1000, Period: time.Second, Duration: 1200 * time.Millisecond})
	halves, err := split.Split(plan, 2)
	if err != nil {
		t.Fatal(err)
	}
	idle := halves[1]
	idle.Slots.Residues = nil
	runners := make([]*Runner, 2)
	for i := range runners {
		if runners[i], err = New(plan, Options{Workers: 2}); err != nil {
			t.Fatal(err)
		}
		defer runners[i].Close() //nolint:errcheck // never fails
		if err := runners[i].Update(rv.Update{Revision: 1, Share: halves[i]}); err != nil {
			t.Fatal(err)
		}
		await(t, runners[i], rv.StateReady)
	}
	at := rv.Clock() + int64(lead)
	whole := split.Whole(plan)
	for i, r := range runners {
		if err := r.Start(rv.Start{At: at}); err != nil {
			t.Fatal(err)
		}
		for k, share := range [][2]rv.Share{{whole, idle}, {halves[0], halves[1]}} {
			u := rv.Update{Revision: int64(k + 2), At: int64(k+1) * int64(400*time.Millisecond), Share: share[i]}
			if err := r.Update(u); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rv.Clock() >= at+int64(400*time.Millisecond) {
		return false
	}
	var slots [2]int64
	var sent int64
	for i, r := range runners {
		<-r.Done()
		s := r.Snapshot()
		law(t, s)
		slots[i], sent = s.Stages[0].Slots, sent+s.Counters.Sent
	}
	// 400 ms of halves, 400 of all and nothing, 400 of halves again.
	if slots != [2]int64{800, 400} || p.requests.Load() != sent {
		t.Errorf("slots %v, sent %d, the peer counted %d", slots, sent, p.requests.Load())
	}
	return true
}
