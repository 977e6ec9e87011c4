package chain

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/protocol"
)

// parsed renders a step's request as its sender would and reads it back with net/http. The lines
// are the request line, host and the sorted fields, then the body.
func parsed(t *testing.T, h *Head, s *Step, in *Instance) []string {
	t.Helper()
	body := s.AppendBody(nil, in)
	raw := string(h.AppendHead([]byte("prefix"), s, in, len(body), nil))
	raw, ok := strings.CutPrefix(raw, "prefix")
	if !ok {
		t.Fatal("AppendHead does not append")
	}
	br := bufio.NewReader(strings.NewReader(raw + string(body)))
	r, err := http.ReadRequest(br)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	got, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(br); len(rest) > 0 {
		t.Fatalf("%q is more than one request", raw)
	}
	lines := []string{r.Method + " " + r.RequestURI + " " + r.Proto, "host: " + r.Host}
	var fields []string
	for name, values := range r.Header {
		for _, v := range values {
			fields = append(fields, strings.ToLower(name)+": "+v)
		}
	}
	sort.Strings(fields)
	return append(append(lines, fields...), string(got))
}

func TestHeadsOfAChain(t *testing.T) {
	g := program(t, lifeCycle())
	src := sources(g)
	for _, keepAlive := range []bool{true, false} {
		h := NewHead(g, 0, &g.Targets[0].Endpoints[0], keepAlive)
		var in Instance
		in.Start(g, 0, src, 0)
		ue, colour := "000005", "red"
		if !keepAlive {
			ue, colour = "000010", "green"
		}
		in.Capture(0, []byte("/base/sessions/42?a=b"))
		var got [][]string
		for i := range 3 {
			got = append(got, parsed(t, h, &g.Steps[i], &in))
		}
		want := [][]string{{
			"POST /base/sessions HTTP/1.1", "host: t.example:80",
			"content-length: 15", "content-type: application/json", "user-agent: h2surge", `{"ue":"` + ue + `"}`,
		}, {
			"PATCH /base/sessions/42?a=b HTTP/1.1", "host: t.example:80",
			"content-length: 2", "content-type: application/json", "user-agent: h2surge", "x-colour: c-" + colour, "{}",
		}, {
			"DELETE /base/sessions/42?a=b HTTP/1.1", "host: t.example:80", "user-agent: h2surge", "",
		}}
		if !keepAlive {
			for i := range want {
				want[i] = append(want[i][:2:2], append([]string{"connection: close"}, want[i][2:]...)...)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("keepAlive %v (-want +got):\n%s", keepAlive, diff)
		}
	}
}

func TestHeadIsExact(t *testing.T) {
	p := lifeCycle()
	p.Chains[1].Steps[0].Headers = append(p.Chains[1].Steps[0].Headers, rv.Header{Name: rv.Text{{Literal: "TE"}}, Value: lit("trailers")}, rv.Header{Name: rv.Text{{Literal: "x-empty"}}})
	g := program(t, p)
	var in Instance
	in.Start(g, 1, sources(g), 0)
	for keepAlive, connection := range map[bool]string{true: "te", false: "close, te"} {
		h := NewHead(g, 0, &rv.Endpoint{Scheme: "http", Authority: "[::1]:8080"}, keepAlive)
		want := "GET /red HTTP/1.1\r\nhost: [::1]:8080\r\nuser-agent: own\r\nte: trailers\r\nx-empty: \r\nconnection: " + connection + "\r\n\r\n"
		if got := string(h.AppendHead(nil, &g.Steps[3], &in, 0, nil)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// hostile is a plan whose capture fills a path, a part of a path and a field value, and whose
// list and literals are hostile themselves, as no plan of our compiler's is.
func hostile(value string) *rv.Plan {
	p := lifeCycle()
	captured, listed := rv.Part{Capture: 1}, rv.Part{Variable: 1}
	p.Variables = []rv.Variable{{Name: "v", List: []string{value}}}
	steps := &p.Chains[0].Steps
	(*steps)[0].Body = nil
	(*steps)[1].Path = rv.Text{{Literal: "/a/"}, captured, {Literal: "/b?" + value + "="}, listed}
	(*steps)[1].Headers = []rv.Header{
		{Name: rv.Text{{Literal: "x-captured"}}, Value: rv.Text{{Literal: "<"}, captured, {Literal: ">"}}},
		{Name: rv.Text{{Literal: "x-literal"}}, Value: rv.Text{{Literal: "<" + value + ">"}}},
		{Name: rv.Text{{Literal: "x-listed"}}, Value: rv.Text{{Literal: "<"}, listed, {Literal: ">"}}},
	}
	p.Chains[1].Steps[0].Path = lit("/")
	return p
}

// TestNoValueSplitsARequest: whatever is captured, listed or written, net/http reads one request
// with the fields of the plan, and the request line has three words.
func TestNoValueSplitsARequest(t *testing.T) {
	values := []string{
		"/x HTTP/1.1\r\nhost: evil\r\n\r\nGET /evil", "\r\n\r\n", "\n\nGET / HTTP/1.1\n", "a b", " ", "\t", "\x00", "\r",
		"\x7f\x01", "caf\xc3\xa9", "a%20b", "a#b", "x\r\ncontent-length: 99", "x\r\n transfer-encoding: chunked",
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		b := make([]byte, 1+r.IntN(12))
		for i := range b {
			b[i] = byte(r.Uint32())
			if r.IntN(2) == 0 {
				b[i] = "\r\n \x00:/a#"[r.IntN(8)]
			}
		}
		values = append(values, string(b))
	}
	for _, v := range values {
		g := program(t, hostile(v))
		h := NewHead(g, 0, &g.Targets[0].Endpoints[0], true)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		in.Capture(0, []byte(v))
		raw := string(h.AppendHead(nil, &g.Steps[1], &in, 2, nil))
		line, fields, _ := strings.Cut(raw, "\r\n")
		encoded := percentEncoded(v)
		if want := "PATCH /base/a/" + encoded + "/b?" + encoded + "=" + encoded + " HTTP/1.1"; line != want {
			t.Fatalf("%q: request line %q, want %q", v, line, want)
		}
		value := "<" + strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(v) + ">"
		want := "host: t.example:80\r\nx-captured: " + value + "\r\nx-literal: " + value + "\r\nx-listed: " + value +
			"\r\nuser-agent: h2surge\r\ncontent-length: 2\r\n\r\n"
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", v, diff)
		}
	}
}

// percentEncoded is the rule of Head, in other words.
func percentEncoded(v string) string {
	var b strings.Builder
	for i := range len(v) {
		if v[i] > 0x20 && v[i] < 0x7f && v[i] != '#' {
			b.WriteByte(v[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", v[i])
		}
	}
	return b.String()
}

// TestNoFragmentInPath: # is percent-encoded in a path, whatever makes the value.
func TestNoFragmentInPath(t *testing.T) {
	for name, v := range map[string]rv.Variable{
		"list":          {List: []string{"a#b"}},
		"csv":           {CSV: &rv.CSV{Content: *text1("a#b"), Columns: []string{"c"}}},
		"random string": {Random: &rv.Random{String: &rv.RandomString{Length: 1, Alphabet: "#"}}},
		"perShard":      {PerShard: []string{"a#b"}},
	} {
		part := rv.Part{Variable: 1}
		if v.CSV != nil {
			part.Column = "c"
		}
		p := drawPlan(nil, v)
		p.Chains[0].Steps[0].Path = rv.Text{{Literal: "/"}, part}
		g := program(t, p)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		want := " /base/" + map[bool]string{false: "a%23b", true: "%23"}[v.Random != nil] + " "
		head := string(NewHead(g, 0, &g.Targets[0].Endpoints[0], true).AppendHead(nil, &g.Steps[0], &in, 0, nil))
		fields, _, _ := request(t, NewEncoder(g, 0, &g.Targets[0].Endpoints[0]), hpack.NewDecoder(MaxTable, nil), &g.Steps[0], &in, Static)
		if path := strings.TrimPrefix(fields[3], ":path:") + " "; path != want || !strings.Contains(head, want) {
			t.Errorf("%s: path %q and head %q, want %q", name, path, head, want)
		}
	}
}

// TestHostileHeadIsOneRequest is the same with net/http as the judge.
func TestHostileHeadIsOneRequest(t *testing.T) {
	for _, v := range []string{"/x HTTP/1.1\r\nhost: evil\r\n\r\nGET /evil", "/a b", "/\n\nGET / HTTP/1.1\n", "/x\r\ncontent-length: 99"} {
		g := program(t, hostile(v))
		h := NewHead(g, 0, &g.Targets[0].Endpoints[0], true)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		in.Capture(0, []byte(v))
		if got := parsed(t, h, &g.Steps[1], &in); len(got) != 8 || got[1] != "host: t.example:80" || got[2] != "content-length: 2" {
			t.Errorf("%q: read as %q", v, got)
		}
		if got := parsed(t, h, &g.Steps[2], &in); len(got) != 4 || !strings.HasPrefix(got[0], "DELETE ") {
			t.Errorf("%q: read as %q", v, got)
		}
	}
}

// captures notes what a session hands on, and whether a request failed.
type captures struct {
	values []string
	failed bool
}

func (c *captures) OnStatus(uint32, int)                { c.failed = false }
func (c *captures) OnHeader(_ uint32, _, value []byte)  { c.values = append(c.values, string(value)) }
func (c *captures) OnTrailer(_ uint32, _, value []byte) { c.values = append(c.values, string(value)) }
func (c *captures) OnData(uint32, []byte)               {}
func (c *captures) OnDone(_ uint32, o protocol.Outcome) {
	c.failed = o.Kind != protocol.Completed
}

// TestSessionsHandOnNoSplitter: the first of the two guarantees that Head speaks of. A location
// with CR, LF or NUL does not get as far as a capture.
func TestSessionsHandOnNoSplitter(t *testing.T) {
	for _, v := range []string{"/a\rb", "/a\r\n\r\nGET / HTTP/1.1", "/a\nb", "/a\x00b", "/\r"} {
		var one captures
		c1 := h1.NewClient(h1.Config{}, &one)
		c1.Open(append(c1.Begin(), "GET / HTTP/1.1\r\n\r\n"...), 1, nil, protocol.WantHeaders)
		c1.Wrote(len(c1.Pending()))
		_ = c1.Receive([]byte("HTTP/1.1 204 x\r\nlocation: "+v+"\r\n\r\n"), 0)
		c1.Close()

		var two captures
		c2 := h2.NewClient(h2.Config{}, &two)
		var wire, block bytes.Buffer
		fr := http2.NewFramer(&wire, nil)
		enc := hpack.NewEncoder(&block)
		_ = enc.WriteField(hpack.HeaderField{Name: ":status", Value: "204"})
		_ = enc.WriteField(hpack.HeaderField{Name: "location", Value: v})
		_ = fr.WriteSettings()
		_ = c2.Receive(wire.Bytes(), 0)
		wire.Reset()
		id := c2.Open(append(c2.Begin(), 0x82, 0x86, 0x84), 1, nil, protocol.WantHeaders)
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
		_ = c2.Receive(wire.Bytes(), 0)
		c2.Close()

		for name, got := range map[string]captures{"h1": one, "h2": two} {
			if all := strings.Join(got.values, ""); strings.ContainsAny(all, "\r\n\x00") {
				t.Errorf("%s hands on %q", name, got.values)
			}
		}
		if !two.failed {
			t.Errorf("h2: a response with %q is complete", v)
		}
	}
}

func TestHeadsAllocateNothing(t *testing.T) {
	g := program(t, lifeCycle())
	src := sources(g)
	h := NewHead(g, 0, &g.Targets[0].Endpoints[0], true)
	var in Instance
	buf, body := make([]byte, 0, 1024), make([]byte, 0, 1024)
	round := func() {
		in.Start(g, 0, src, 0)
		in.Capture(0, []byte("/s/1"))
		for i := range 3 {
			body = g.Steps[i].AppendBody(body[:0], &in)
			buf = h.AppendHead(buf[:0], &g.Steps[i], &in, len(body), nil)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations a chain", n)
	}
}

// BenchmarkHead measures a PATCH to a captured path.
func BenchmarkHead(b *testing.B) {
	g, err := Load(lifeCycle(), Resources{})
	if err != nil {
		b.Fatal(err)
	}
	h := NewHead(g, 0, &g.Targets[0].Endpoints[0], true)
	var in Instance
	in.Start(g, 0, sources(g), 0)
	in.Capture(0, []byte("/npcf-policyauthorization/v1/app-sessions/0123456789abcdef"))
	var buf []byte
	for b.Loop() {
		buf = h.AppendHead(buf[:0], &g.Steps[1], &in, 2, nil)
	}
}
