package mock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// ruleSet loads rules; the text begins below the head of the file.
func ruleSet(t testing.TB, text string) *rules.Set {
	t.Helper()
	set, err := rules.Load([]byte("apiVersion: h2surge.io/v1alpha1\nkind: Target\n"+text), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const faulty = `
rules:
- {name: ok, match: {path: /ok}, responses: [{status: 200, body: "ok ${counter}"}]}
- {name: reset, match: {path: /reset}, responses: [{reset: 1}]}
- {name: close, match: {path: /close}, responses: [{close: 1}]}
- {name: silent, match: {path: /silent}, responses: [{unanswered: 1}]}
- {name: broken, match: {path: /broken}, responses: [{headers: [{name: h, value: "${request.body}"}]}]}
- {name: late, match: {path: /late}, responses: [{delay: {fixed: 20ms}}]}
- {name: big, match: {path: /big}, responses: [{body: "${request.body}"}]}
`

func TestRuleFaults(t *testing.T) {
	onAll(t, Options{Rules: ruleSet(t, faulty)}, func(t *testing.T, s *Server, c *http.Client) {
		if got := do(t, c, s, "GET", "/ok", ""); got != (reply{200, "", "4", "ok 1"}) {
			t.Errorf("%+v", got)
		}
		var reset http2.StreamError
		_, overHTTP2 := c.Transport.(*http2.Transport)
		// A client may send a GET again on another connection of HTTP/1.1, but not a POST.
		if _, err := try(t.Context(), c, s, "POST", "/reset", "x"); err == nil || overHTTP2 && (!errors.As(err, &reset) || reset.Code != http2.ErrCodeInternal) {
			t.Errorf("reset: %v", err)
		}
		if got := do(t, c, s, "GET", "/broken", "a\nb"); got.Status != 500 {
			t.Errorf("broken: %+v", got)
		}
		before := time.Now()
		if got := do(t, c, s, "GET", "/late", ""); got.Status != 200 || time.Since(before) < 20*time.Millisecond {
			t.Errorf("late: %+v after %v", got, time.Since(before))
		}
		if got := do(t, c, s, "GET", "/none", ""); got.Status != 404 || !strings.Contains(got.Body, "RESOURCE_URI_STRUCTURE_NOT_FOUND") {
			t.Errorf("no match: %+v", got)
		}
		if _, err := try(t.Context(), c, s, "POST", "/close", "x"); err == nil {
			t.Error("close: an answer")
		}
		st := checkSum(t, s)
		want := &RuleStats{Unmatched: 1, Rules: []RuleCount{
			{Name: "ok", Matches: 1}, {Name: "reset", Matches: 1, Reset: 1}, {Name: "close", Matches: 1, Closed: 1},
			{Name: "silent"}, {Name: "broken", Matches: 1, Failed: 1}, {Name: "late", Matches: 1}, {Name: "big"},
		}}
		if diff := cmp.Diff(want, st.RuleStats); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]uint64{"200": 2, "404": 1, "500": 1}, st.ByStatus); diff != "" || st.Unanswered != 2 {
			t.Errorf("%d unanswered, by status (-want +got):\n%s", st.Unanswered, diff)
		}
		s.Reset()
		if st := s.Stats(); st.Unmatched != 0 || st.Rules[0] != (RuleCount{Name: "ok"}) || len(st.ByStatus) != 0 {
			t.Errorf("after a reset: %+v", st)
		}
	})
}

// TestRuleBodies: large bodies arrive whole while many are sent at once, and too large ones are
// refused.
func TestRuleBodies(t *testing.T) {
	onAll(t, Options{Rules: ruleSet(t, faulty)}, func(t *testing.T, s *Server, c *http.Client) {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				body := strings.Repeat(fmt.Sprintf("%04d", i), 30000+i)
				got, err := try(t.Context(), c, s, "POST", "/big", body)
				if err != nil || got.Status != 200 || got.Body != body {
					t.Errorf("%d: status %d, %d bytes of %d, %v", i, got.Status, len(got.Body), len(body), err)
				}
			})
		}
		wg.Wait()
		for n, want := range map[int]int{maxContent: 200, maxContent + 1: 413, 3 * maxContent: 413} {
			if got := do(t, c, s, "POST", "/big", strings.Repeat("x", n)); got.Status != want {
				t.Errorf("%d bytes: %d, want %d", n, got.Status, want)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls.kept != 0 {
			t.Errorf("%d bytes are kept of no requests", s.calls.kept)
		}
	})
}

// TestFlagsOnTopOfRules: the target's own faults are drawn first and have no effect.
func TestFlagsOnTopOfRules(t *testing.T) {
	set := ruleSet(t, "rules: [{name: r, resource: {collection: c, action: create}}]")
	onAll(t, Options{Rules: set, NotFound: 1}, func(t *testing.T, s *Server, c *http.Client) {
		got := do(t, c, s, "POST", "/c", "{}")
		if st := s.Stats(); got.Status != 404 || !strings.Contains(got.Body, `"cause"`) || st.Resources != 0 || st.Rules[0].Matches != 0 {
			t.Errorf("%+v, %+v", got, st)
		}
	})
	if _, err := New(Options{Rules: set, BodySize: 1}); err == nil || !strings.Contains(err.Error(), "body-size") {
		t.Errorf("body size with rules: %v", err)
	}
}

// memory is a connection without I/O whose time the test sets.
type memory struct {
	tb   testing.TB
	c    *session
	enc  *xhpack.Encoder
	head bytes.Buffer
	id   uint32
}

func newMemory(tb testing.TB, opts Options) *memory {
	opts.Listen = "127.0.0.1:0"
	s, err := New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	m := &memory{tb: tb, c: s.newSession(func() {}), id: 1}
	m.enc = xhpack.NewEncoder(&m.head)
	m.enc.SetMaxDynamicTableSize(0)
	in := h2.AppendSettings([]byte(http2.ClientPreface), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	m.at(0, h2.AppendWindowUpdate(in, 0, 1<<30))
	return m
}

// at lets the server take bytes at a time, and returns what it sends by then.
func (m *memory) at(now time.Duration, in []byte) (out []byte) {
	m.tb.Helper()
	s := m.c.srv
	s.beginTurn()
	defer s.endTurn()
	s.now = int64(now)
	if err := m.c.receive(in); err != nil {
		m.tb.Fatal(err)
	}
	s.respondDue()
	out = slices.Clone(m.c.h2.Pending())
	m.c.wrote(len(out))
	return out
}

func (m *memory) get(path string) []byte { return m.request(true, "GET", path, "h", "v") }

// begin is the header of a request whose content follows.
func (m *memory) begin(method, path, name, value string) []byte {
	return m.request(false, method, path, name, value)
}

// request is the header of a request with one field, which ends the stream if end is true.
func (m *memory) request(end bool, method, path, name, value string) []byte {
	m.head.Reset()
	for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "a"}, {name, value}} {
		if err := m.enc.WriteField(xhpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			m.tb.Fatal(err)
		}
	}
	m.id += 2
	return h2.AppendHeaders(nil, m.id-2, end, true, m.head.Bytes())
}

// streams are those whose responses begin in what the server sent.
func streams(out []byte) (ids []uint32) {
	fr := http2.NewFramer(io.Discard, bytes.NewReader(out))
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return ids
		}
		if h, ok := f.(*http2.HeadersFrame); ok {
			ids = append(ids, h.StreamID)
		}
	}
}

// TestRuleDelays: answers leave in the order in which they are due, not in that of the requests.
func TestRuleDelays(t *testing.T) {
	const ms = time.Millisecond
	m := newMemory(t, Options{Latency: ms, Rules: ruleSet(t, `
rules:
- {name: slow, match: {path: /slow}, responses: [{delay: {fixed: 50ms}}]}
- {name: fast, match: {path: /fast}, responses: [{delay: {fixed: 10ms}}]}
- {name: now, match: {path: /now}, responses: [{status: 204}]}
`)})
	in := slices.Concat(m.get("/slow"), m.get("/fast"), m.get("/now"), m.get("/slow"))
	for _, step := range []struct {
		at   time.Duration
		in   []byte
		want []uint32
	}{
		{100 * ms, in, nil},
		{101 * ms, nil, []uint32{5}}, // the latency of all
		{110 * ms, h2.AppendRSTStream(nil, 7, http2.ErrCodeCancel), nil},
		{111 * ms, nil, []uint32{3}},
		{150 * ms, nil, nil},
		{151 * ms, nil, []uint32{1}},
	} {
		if got := streams(m.at(step.at, step.in)); !slices.Equal(got, step.want) {
			t.Errorf("at %v: answers on streams %v, want %v", step.at, got, step.want)
		}
	}
	if st := m.c.srv.Stats(); st.Pending != 0 || st.Answered != 3 || st.Aborted != 1 || m.c.srv.held() != 0 || m.c.srv.exchanges.n != 0 {
		t.Errorf("%+v", st)
	}
}

func TestRecord(t *testing.T) {
	set := ruleSet(t, "rules: [{name: one, match: {path: /a}, responses: [{status: 204}]}]")
	for name, opts := range map[string]Options{"built-in": {}, "rules": {Rules: set}, "unanswered": {Unanswered: 1}} {
		var out bytes.Buffer
		opts.Record = &out
		m := newMemory(t, opts)
		m.at(0, m.get("/a?b=<"))
		body := h2.AppendHeaders(nil, 3, false, true, hpack.AppendLiteral([]byte{0x83, 0x84, 0x86}, hpack.Without, 0, "x", "y"))
		m.at(0, h2.AppendData(h2.AppendData(body, 3, false, []byte("\xff")), 3, true, bytes.Repeat([]byte("z"), 10)))
		want := []Recorded{
			{
				Connection: 1, Stream: 1, Method: "GET", Path: "/a?b=<",
				Headers: [][2]string{{":scheme", "http"}, {":authority", "a"}, {"h", "v"}},
			},
			{
				Connection: 1, Stream: 3, Method: "POST", Path: "/", BodyBase64: "/3p6enp6enp6eno=", BodyBytes: 11,
				Headers: [][2]string{{":scheme", "http"}, {"x", "y"}},
			},
		}
		if opts.Rules != nil {
			want[0].Rule = "one"
		}
		var got []Recorded
		for d := json.NewDecoder(&out); d.More(); {
			var line Recorded
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRecordDelays: the record has the time that the target holds each response back.
func TestRecordDelays(t *testing.T) {
	slow := ruleSet(t, "rules: [{name: one, match: {path: /a}, responses: [{status: 204, delay: {fixed: 30ms}}]}]")
	lost := ruleSet(t, "rules: [{name: one, match: {path: /a}, responses: [{status: 204, delay: {fixed: 30ms}, unanswered: 1}]}]")
	stall := Stall{For: 40 * time.Millisecond, Every: 100 * time.Millisecond}
	for name, tc := range map[string]struct {
		opts Options
		want []time.Duration // of requests at 0, 50 and 95 ms
	}{
		"at once":                 {Options{}, []time.Duration{0, 0, 0}},
		"latency":                 {Options{Latency: 5 * time.Millisecond}, []time.Duration{5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond}},
		"stall":                   {Options{Stall: stall}, []time.Duration{0, 0, 5 * time.Millisecond}},
		"rule":                    {Options{Rules: slow}, []time.Duration{30 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond}},
		"rule, latency and stall": {Options{Rules: slow, Latency: time.Millisecond, Stall: stall}, []time.Duration{31 * time.Millisecond, 50 * time.Millisecond, 31 * time.Millisecond}},
		"no response":             {Options{Latency: time.Millisecond, Unanswered: 1}, []time.Duration{0, 0, 0}},
		"no response by a rule":   {Options{Rules: lost}, []time.Duration{0, 0, 0}},
	} {
		var out bytes.Buffer
		tc.opts.Record = &out
		m := newMemory(t, tc.opts)
		for _, at := range []time.Duration{0, 50 * time.Millisecond, 95 * time.Millisecond} {
			m.at(at, m.get("/a"))
		}
		var got []time.Duration
		for d := json.NewDecoder(&out); d.More(); {
			var line Recorded
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			got = append(got, time.Duration(line.DelayMicroseconds)*time.Microsecond)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

type badWriter struct{}

func (badWriter) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestRecordFails(t *testing.T) {
	m := newMemory(t, Options{Record: badWriter{}})
	m.at(0, m.get("/"))
	if err := m.c.srv.record.close(); err == nil || !strings.Contains(err.Error(), "record: the disk is full") {
		t.Errorf("error %v", err)
	}
}

// TestRulesAreHTTP: what the rules answer is what net/http takes.
func TestRulesAreHTTP(t *testing.T) {
	set := ruleSet(t, `rules: [{name: r, responses: [{status: 299, headers: [{name: content-type, value: a/b}, {name: x, value: "$$"}, {name: x, value: "2"}]}]}]`)
	onAll(t, Options{Rules: set}, func(t *testing.T, s *Server, c *http.Client) {
		res, err := c.Get("http://" + s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		want := http.Header{"Content-Type": {"a/b"}, "X": {"$", "2"}, "Content-Length": {"0"}}
		if diff := cmp.Diff(want, res.Header); diff != "" || res.StatusCode != 299 {
			t.Errorf("%d (-want +got):\n%s", res.StatusCode, diff)
		}
	})
}
