package h2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// serverPeer is a client made of x/net's Framer and hpack, talking to a Server. It writes down
// what the server sends and what its handler is told.
type serverPeer struct {
	t      *testing.T
	s      *Server
	now    int64
	in     bytes.Buffer // to be received
	fr     *http2.Framer
	block  bytes.Buffer
	enc    *xhpack.Encoder
	dec    *xhpack.Decoder
	events []string
	sent   []string
	err    error
	// bytewise hands over each octet alone.
	bytewise bool
	// onEnd replaces the answer, which is a bare 204.
	onEnd func(id uint32)
	// onRequest is called besides.
	onRequest func(id uint32)
}

func newServerPeer(t *testing.T, cfg Config, bytewise bool) *serverPeer {
	p := &serverPeer{t: t, bytewise: bytewise, now: 1}
	p.s = NewServer(cfg, 0, p)
	p.fr = http2.NewFramer(&p.in, nil)
	p.fr.AllowIllegalWrites = true
	p.enc = xhpack.NewEncoder(&p.block)
	p.dec = xhpack.NewDecoder(4096, nil)
	return p
}

// greet sends the preface and SETTINGS and forgets the server's own.
func (p *serverPeer) greet(settings ...http2.Setting) {
	p.t.Helper()
	p.in.WriteString(http2.ClientPreface)
	p.check(p.fr.WriteSettings(settings...))
	p.check(p.fr.WriteSettingsAck())
	p.flush()
	p.sent = nil
}

func (p *serverPeer) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// flush lets the server receive what was written, and notes what it sends.
func (p *serverPeer) flush() {
	b := bytes.Clone(p.in.Bytes())
	p.in.Reset()
	if p.bytewise {
		for i := range b {
			if p.err == nil {
				p.err = p.s.Receive(b[i:i+1], p.now)
			}
		}
	} else if p.err == nil {
		p.err = p.s.Receive(b, p.now)
	}
	p.collect()
}

func (p *serverPeer) collect() {
	p.t.Helper()
	for len(p.s.Pending()) > 0 {
		b := bytes.Clone(p.s.Pending())
		p.s.Wrote(len(b))
		fr := http2.NewFramer(nil, bytes.NewReader(b))
		fr.ReadMetaHeaders = p.dec
		fr.SetMaxReadFrameSize(1 << 24)
		for {
			f, err := fr.ReadFrame()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				p.t.Fatalf("the server's output: %v", err)
			}
			p.sent = append(p.sent, frameText(f))
		}
	}
}

func frameText(f http2.Frame) string {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		var b strings.Builder
		fmt.Fprintf(&b, "HEADERS %d", f.StreamID)
		for _, h := range f.Fields {
			fmt.Fprintf(&b, " %s=%s", h.Name, h.Value)
		}
		if f.StreamEnded() {
			b.WriteString(" end")
		}
		return b.String()
	case *http2.DataFrame:
		if f.StreamEnded() {
			return fmt.Sprintf("DATA %d %d end", f.StreamID, len(f.Data()))
		}
		return fmt.Sprintf("DATA %d %d", f.StreamID, len(f.Data()))
	case *http2.RSTStreamFrame:
		return fmt.Sprintf("RST_STREAM %d %v", f.StreamID, f.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Sprintf("GOAWAY %d %v", f.LastStreamID, f.ErrCode)
	case *http2.WindowUpdateFrame:
		return fmt.Sprintf("WINDOW_UPDATE %d %d", f.StreamID, f.Increment)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return "SETTINGS ack"
		}
		return fmt.Sprintf("SETTINGS %d", f.NumSettings())
	case *http2.PingFrame:
		return fmt.Sprintf("PING ack=%v %s", f.IsAck(), f.Data)
	}
	return f.Header().String()
}

// headers encodes a block: ":method", "GET", and so on.
func (p *serverPeer) headers(fields ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		p.check(p.enc.WriteField(xhpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	return bytes.Clone(p.block.Bytes())
}

func (p *serverPeer) request(id uint32, end bool, method, path string, more ...string) {
	fields := append([]string{":method", method, ":scheme", "http", ":path", path}, more...)
	p.raw(id, end, fields...)
}

func (p *serverPeer) raw(id uint32, end bool, fields ...string) {
	p.check(p.fr.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: p.headers(fields...), EndStream: end, EndHeaders: true,
	}))
}

func (p *serverPeer) data(id uint32, end bool, data string) {
	p.check(p.fr.WriteData(id, end, []byte(data)))
}

func (p *serverPeer) frame(t http2.FrameType, flags http2.Flags, id uint32, payload string) {
	p.check(p.fr.WriteRawFrame(t, flags, id, []byte(payload)))
}

func (p *serverPeer) OnRequest(id uint32, method, path []byte) uint32 {
	p.events = append(p.events, fmt.Sprintf("request %d %s %s", id, method, path))
	if p.onRequest != nil {
		p.onRequest(id)
	}
	return id + 1000
}

func (p *serverPeer) token(id, tok uint32) {
	if tok != id+1000 {
		p.t.Errorf("stream %d: token %d", id, tok)
	}
}

func (p *serverPeer) OnHeader(id, tok uint32, name, value []byte) {
	p.token(id, tok)
	p.events = append(p.events, fmt.Sprintf("header %d %s=%s", id, name, value))
}

// OnData joins the pieces of one stream's data, which fall as the input is cut.
func (p *serverPeer) OnData(id, tok uint32, data []byte) {
	p.token(id, tok)
	prefix := fmt.Sprintf("data %d ", id)
	if n := len(p.events); n > 0 && strings.HasPrefix(p.events[n-1], prefix) {
		p.events[n-1] += string(data)
		return
	}
	p.events = append(p.events, prefix+string(data))
}

func (p *serverPeer) OnEnd(id, tok uint32) {
	p.token(id, tok)
	p.events = append(p.events, fmt.Sprintf("end %d", id))
	if p.onEnd != nil {
		p.onEnd(id)
		return
	}
	p.respond(id, nil)
}

func (p *serverPeer) OnReset(id, tok uint32) {
	p.token(id, tok)
	p.events = append(p.events, fmt.Sprintf("reset %d", id))
}

func (p *serverPeer) respond(id uint32, body []byte) bool {
	status := 9 // :status 204
	if len(body) > 0 {
		status = 8
	}
	return p.s.Respond(id, hpack.AppendIndexed(p.s.Begin(), status), body)
}

// silent leaves requests unanswered.
func (p *serverPeer) silent() { p.onEnd = func(uint32) {} }

func code(err error) string {
	var ce *ConnError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ce):
		return ce.Code.String()
	}
	return err.Error()
}

type serverCase struct {
	name   string
	cfg    Config
	want   protocol.Want
	client []http2.Setting
	do     func(p *serverPeer)
	// wantSent is what the server sends after the greeting, wantEvents what the handler is
	// told. A connection error must be the last thing, with its GOAWAY.
	wantSent, wantEvents []string
	wantErr              string
}

func (c serverCase) run(t *testing.T) {
	for _, bytewise := range []bool{false, true} {
		p := newServerPeer(t, c.cfg, bytewise)
		p.s.want = c.want
		p.greet(c.client...)
		c.do(p)
		p.flush()
		if diff := cmp.Diff(c.wantSent, p.sent); diff != "" {
			t.Errorf("bytewise %v: sent (-want +got):\n%s", bytewise, diff)
		}
		if diff := cmp.Diff(c.wantEvents, p.events); diff != "" {
			t.Errorf("bytewise %v: events (-want +got):\n%s", bytewise, diff)
		}
		if got := code(p.err); got != c.wantErr {
			t.Errorf("bytewise %v: error %v, want %q", bytewise, p.err, c.wantErr)
		}
	}
}

func runServerCases(t *testing.T, cases []serverCase, complete ...func(*serverCase)) {
	t.Helper()
	for _, c := range cases {
		for _, f := range complete {
			f(&c)
		}
		t.Run(c.name, c.run)
	}
}

func TestServerGreeting(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.collect()
	if diff := cmp.Diff([]string{"SETTINGS 3", "WINDOW_UPDATE 0 16711681"}, p.sent); diff != "" {
		t.Errorf("before the client spoke (-want +got):\n%s", diff)
	}
	p.sent = nil
	p.in.WriteString(http2.ClientPreface)
	p.check(p.fr.WriteSettings())
	p.flush()
	if diff := cmp.Diff([]string{"SETTINGS ack"}, p.sent); diff != "" {
		t.Errorf("after its SETTINGS (-want +got):\n%s", diff)
	}
}

func TestServerPreface(t *testing.T) {
	for _, in := range []string{"GET / HTTP/1.1\r\n\r\n", "P", "PRI * HTTP/2.0\r\n\r\nXX", "\x16\x03\x01"} {
		want := !strings.HasPrefix(http2.ClientPreface, in)
		for _, bytewise := range []bool{false, true} {
			p := newServerPeer(t, Config{}, bytewise)
			p.in.WriteString(in)
			p.flush()
			if got := errors.Is(p.err, ErrPreface); got != want {
				t.Errorf("%q, bytewise %v: error %v, want ErrPreface: %v", in, bytewise, p.err, want)
			}
		}
	}
}

func TestServerFirstFrame(t *testing.T) {
	for name, write := range map[string]func(p *serverPeer){
		"PING":         func(p *serverPeer) { p.frame(http2.FramePing, 0, 0, "12345678") },
		"SETTINGS ack": func(p *serverPeer) { p.check(p.fr.WriteSettingsAck()) },
		"HEADERS":      func(p *serverPeer) { p.request(1, true, "GET", "/") },
	} {
		p := newServerPeer(t, Config{}, false)
		p.in.WriteString(http2.ClientPreface)
		write(p)
		p.flush()
		if got := code(p.err); got != "PROTOCOL_ERROR" {
			t.Errorf("%s first: error %v, want PROTOCOL_ERROR", name, p.err)
		}
	}
}
