package listen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/notification"
)

// ruled are rules for each outcome of a request.
const ruled = `{apiVersion: h2surge.io/v1alpha1, kind: Target, rules: [
{name: echo, match: {method: POST, path: "/ue/{id}", body: [{jsonPointer: /a, equals: "1"}]}, responses: [{status: 201, body: "${path.id} ${counter}"}]},
{name: query, match: {path: /n, query: [{name: q, equals: x}]}, responses: [{problem: {status: 503, cause: NF_CONGESTION}}]},
{name: late, match: {path: /late}, responses: [{body: "${request.path}", delay: {fixed: 10ms}}]},
{name: silent, match: {path: /silent}, responses: [{unanswered: 1}]},
{name: reset, match: {path: /reset}, responses: [{reset: 1}]},
{name: close, match: {path: /close}, responses: [{close: 1}]},
{name: secure, match: {path: /s, headers: [{name: ":scheme", equals: https}]}, responses: [{body: "${request.header.:scheme}://${request.header.:authority}"}]}]}`

func newRuledBench(t *testing.T) *bench {
	t.Helper()
	set, err := rules.Load([]byte(ruled), "")
	if err != nil {
		t.Fatal(err)
	}
	return newBenchWith(set)
}

// responses returns what the peer got on streams.
func (b *bench) responses() (out []string) {
	fr := http2.NewFramer(nil, &b.out)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return out
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			out = append(out, f.PseudoValue("status"))
		case *http2.DataFrame:
			out = append(out, string(f.Data()))
		case *http2.RSTStreamFrame:
			out = append(out, f.ErrCode.String())
		}
	}
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		path, body string
		want       []string
		rule       string
		// later are the responses after the delay, and open the streams before it.
		later  []string
		open   int
		closed bool
	}{
		{path: "/ue/7", body: `{"a":1}`, want: []string{"201", "7 1"}, rule: "echo"},
		{path: "/ue/7", body: `{"a":2}`, want: []string{"204"}},
		{path: "/n?q=x", want: []string{"503", `{"title":"Service Unavailable","status":503,"cause":"NF_CONGESTION"}`}, rule: "query"},
		{path: "/n?q=y", want: []string{"204"}},
		{path: "/ue/8", body: `{"a":1,"b":"` + strings.Repeat("b", 100) + `"}`, want: []string{"413"}, rule: "-"},
		{path: "/late", rule: "late", later: []string{"200", "/late"}, open: 1},
		{path: "/silent", rule: "silent", open: 1},
		{path: "/reset", rule: "reset", want: []string{"INTERNAL_ERROR"}},
		{path: "/close", rule: "close", closed: true},
		{path: "/s", want: []string{"200", "https://nf"}, rule: "secure"},
	} {
		t.Run(tt.path+tt.body[:min(len(tt.body), 9)], func(t *testing.T) {
			b := newRuledBench(t)
			b.ls.Serve(0, &dial.Connection{})
			b.notify(tt.path, tt.body)
			b.turn()
			got := b.responses()
			if tt.rule == "-" {
				tt.rule, got = "", got[:1]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the peer got (-want +got):\n%s", diff)
			}
			if b.closed != tt.closed || b.ls.open.len() != tt.open {
				t.Errorf("closed: %v with %d open streams, want %v with %d", b.closed, b.ls.open.len(), tt.closed, tt.open)
			}
			if tt.later != nil && b.ls.Next(false) != 1+int64(10*time.Millisecond) {
				t.Errorf("the next turn is at %d", b.ls.Next(false))
			}
			b.ls.Begin(1 + int64(timeout))
			b.ls.Expire()
			b.ls.Flush()
			if diff := cmp.Diff(tt.later, b.responses()); diff != "" {
				t.Errorf("later, the peer got (-want +got):\n%s", diff)
			}
			want := rv.ListenerCounts{Received: 1, Unexpected: 1}
			if tt.rule != "" {
				want = rv.ListenerCounts{Received: 1, Answered: 1, ByRule: map[string]int64{tt.rule: 1}}
			} else if tt.want[0] == "413" {
				want = rv.ListenerCounts{Received: 1, Answered: 1}
			}
			if diff := cmp.Diff([]rv.ListenerCounts{want}, b.ls.Counts()); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			b.ls.CloseAll()
			if b.ls.Held() != 0 || b.ls.Memory() != 0 || b.ls.answers.size != 0 {
				t.Errorf("%d are held with %d octets, and %d of answers", b.ls.Held(), b.ls.Memory(), b.ls.answers.size)
			}
		})
	}
}

// TestRuleAndStep: a step receives a notification whatever its rule answers.
func TestRuleAndStep(t *testing.T) {
	for _, path := range []string{"/n?q=x", "/silent", "/close"} {
		b := newRuledBench(t)
		key, _, _ := strings.Cut(path, "?")
		b.ls.Await(0, []byte(key), 0, notification.Waiter{Step: 7})
		b.ls.Serve(0, &dial.Connection{})
		b.notify(path, "a")
		b.turn()
		if want := []string{"step 7: a at 1"}; !cmp.Equal(b.log, want) {
			t.Errorf("%s: the host got %q, want %q", path, b.log, want)
		}
	}
}

// TestEndBeforeAnswer: an answer is not sent if its stream or its connection ended during the delay, even if another
// connection has the record and a stream of the same number.
func TestEndBeforeAnswer(t *testing.T) {
	reset := func(b *bench) {
		_ = http2.NewFramer(&b.in, nil).WriteRSTStream(1, http2.ErrCodeCancel)
		b.turn()
	}
	for name, end := range map[string]func(*bench){
		"reset": reset,
		"closed": func(b *bench) {
			b.ls.conns[0].close()
			b.ls.Flush()
		},
		"closed, and opened again": func(b *bench) {
			b.ls.conns[0].close()
			b.ls.Flush()
			b.ls.Begin(2)
			b.ls.Serve(0, &dial.Connection{})
			b.notify("/late", "")
			b.turn()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRuledBench(t)
			b.ls.Serve(0, &dial.Connection{})
			b.notify("/late", "")
			b.turn()
			b.out.Reset()
			end(b)
			b.responses()
			b.ls.Begin(1 + int64(10*time.Millisecond))
			b.ls.Expire()
			b.ls.Flush()
			if got := b.responses(); got != nil {
				t.Errorf("the peer got %q", got)
			}
			b.ls.CloseAll()
			if b.ls.open.len() != 0 {
				t.Errorf("%d streams are open", b.ls.open.len())
			}
		})
	}
}

// TestDelayedAnswersAreBounded: notifications are refused while delayed answers take too much memory.
func TestDelayedAnswersAreBounded(t *testing.T) {
	b := newRuledBench(t)
	b.ls.answers.size = maxDelayed
	b.ls.Serve(0, &dial.Connection{})
	b.notify("/late", "")
	b.turn()
	if got, want := fmt.Sprint(b.responses()), "[REFUSED_STREAM]"; got != want {
		t.Errorf("the peer got %s, want %s", got, want)
	}
}
