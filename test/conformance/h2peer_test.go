package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/h2surge/h2surge/runner/h2"
)

// h2peer is a scripted HTTP/2 server over cleartext TCP. Its first connections run the script,
// then behave: they answer every request with 200. All others behave from the start.
type h2peer struct {
	address string
	script  func(*h2conn)
	// hostile is how many connections run the script; 0 stands for 1.
	hostile int
	// calls: all requests are calls of gRPC.
	calls bool

	listener net.Listener
	group    sync.WaitGroup
	mu       sync.Mutex
	conns    []*h2conn
}

func newH2Peer(t *testing.T, script func(*h2conn)) *h2peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &h2peer{address: l.Addr().String(), script: script, hostile: 1, listener: l}
	t.Cleanup(p.close)
	return p
}

func (p *h2peer) start() {
	p.group.Go(func() {
		for {
			nc, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			c := newH2Conn(nc, len(p.conns))
			c.calls = p.calls
			p.conns = append(p.conns, c)
			p.mu.Unlock()
			p.group.Go(func() { p.serve(c) })
		}
	})
}

func (p *h2peer) serve(c *h2conn) {
	defer c.finish()
	if c.number < p.hostile {
		p.script(c)
	} else {
		c.greet()
	}
	c.behave()
}

// close ends the peer and waits, so that all it has seen can be read afterwards.
func (p *h2peer) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}

// await lets connections end by themselves, which the client has closed at the end of its run.
func (p *h2peer) await() {
	_ = p.listener.Close()
	p.group.Wait()
}

// stop is a RST_STREAM or, on stream 0, a GOAWAY that the client sent.
type stop struct {
	id   uint32
	code http2.ErrCode
}

// h2conn is one connection. The script and then behave run in its goroutine; a second one reads
// what the client sends, once greeted.
type h2conn struct {
	net.Conn
	number int
	fr     *http2.Framer
	enc    *hpack.Encoder
	block  bytes.Buffer

	requests chan *request
	reading  bool
	headOnly bool // every request is HEAD
	calls    bool // every request is a call of gRPC
	read     sync.WaitGroup

	// Owned by the reader until read is done.
	faults  []string
	opened  uint32           // the highest stream id
	pings   int              // acknowledged by the client
	updates map[uint32]int64 // the sum of its WINDOW_UPDATE, by stream

	mu    sync.Mutex // guards the fields below
	stops []stop
	// live streams, which may be most; 0: no bound.
	live, most int
	// The windows that the client may use: of the connection and, by stream, what was used.
	connWindow   int64
	streamWindow int64
	used         map[uint32]int64
	granted      map[uint32]int64
	body         map[uint32]int64
}

// request is one that the client has opened.
type request struct {
	id     uint32
	fields []hpack.HeaderField
	end    bool
}

func (r *request) get(name string) string {
	for _, f := range r.fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func newH2Conn(nc net.Conn, number int) *h2conn {
	c := &h2conn{Conn: nc, number: number, requests: make(chan *request, 1<<16),
		connWindow: 65535, streamWindow: 65535, updates: map[uint32]int64{}, used: map[uint32]int64{}, granted: map[uint32]int64{}, body: map[uint32]int64{}}
	c.fr = http2.NewFramer(nc, nc)
	c.fr.AllowIllegalWrites = true
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.fr.MaxHeaderListSize = 1 << 20
	c.fr.SetMaxReadFrameSize(16384) // we never announce more
	c.enc = hpack.NewEncoder(&c.block)
	return c
}

// greet reads the client's preface, sends SETTINGS, acknowledges the client's, and begins to read.
func (c *h2conn) greet(settings ...http2.Setting) {
	c.readPreface()
	c.readSettings()
	_ = c.fr.WriteSettings(settings...)
	_ = c.fr.WriteSettingsAck()
	for _, s := range settings {
		c.expect(s)
	}
	c.listen()
}

// expect holds the client to one of our settings from now on.
func (c *h2conn) expect(s http2.Setting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s.ID {
	case http2.SettingInitialWindowSize:
		c.streamWindow = int64(s.Val)
	case http2.SettingMaxConcurrentStreams:
		c.most = int(s.Val)
	}
}

// readPreface is RFC 9113 3.4.
func (c *h2conn) readPreface() {
	got := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, got); err != nil {
		return
	}
	if string(got) != http2.ClientPreface {
		c.faults = append(c.faults, fmt.Sprintf("preface %q", got))
	}
}

// readSettings takes the frame that must come first (RFC 9113 3.4), and obeys the client's table size.
func (c *h2conn) readSettings() {
	f, err := c.fr.ReadFrame()
	if err != nil {
		c.readError(err)
		return
	}
	s, ok := f.(*http2.SettingsFrame)
	if !ok || s.IsAck() {
		c.fault("the first frame is %v (RFC 9113 3.4)", f.Header())
		return
	}
	c.onFrame(s)
	if v, ok := s.Value(http2.SettingHeaderTableSize); ok {
		c.enc.SetMaxDynamicTableSizeLimit(v)
	}
}

// listen begins to read what the client sends.
func (c *h2conn) listen() {
	c.reading = true
	c.read.Go(func() {
		defer close(c.requests)
		for {
			f, err := c.fr.ReadFrame()
			if err != nil {
				c.readError(err)
				return
			}
			c.onFrame(f)
		}
	})
}

// readError tells the end of a connection from a client that is at fault.
func (c *h2conn) readError(err error) {
	var ne net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &ne) || errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	c.faults = append(c.faults, "cannot read: "+err.Error())
}

func (c *h2conn) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// onFrame holds the client to the RFC and notes what it says.
func (c *h2conn) onFrame(f http2.Frame) {
	id := f.Header().StreamID
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		if id&1 == 0 || id <= c.opened {
			c.fault("HEADERS on stream %d after %d (RFC 9113 5.1.1)", id, c.opened)
		}
		c.opened = id
		c.onOpen(id)
		r := &request{id: id, fields: f.Fields, end: f.StreamEnded()}
		for _, name := range []string{":method", ":scheme", ":authority", ":path"} {
			if r.get(name) == "" {
				c.fault("request without %s (RFC 9113 8.3.1)", name)
			}
		}
		c.requests <- r
	case *http2.DataFrame:
		c.onData(id, int64(f.Length), f.StreamEnded())
	case *http2.RSTStreamFrame:
		if id > c.opened {
			c.fault("RST_STREAM on stream %d, which is idle (RFC 9113 6.4)", id)
		}
		c.onStop(id, f.ErrCode)
	case *http2.GoAwayFrame:
		if f.LastStreamID != 0 {
			c.fault("GOAWAY tells of stream %d, which we never opened (RFC 9113 6.8)", f.LastStreamID)
		}
		c.onStop(0, f.ErrCode)
	case *http2.PingFrame:
		c.onPing(f)
	case *http2.SettingsFrame:
		if v, ok := f.Value(http2.SettingEnablePush); !f.IsAck() && (!ok || v != 0) {
			c.fault("SETTINGS_ENABLE_PUSH is not 0")
		}
	case *http2.WindowUpdateFrame:
		c.updates[id] += int64(f.Increment)
	default:
		c.fault("unexpected %v", f.Header())
	}
}

func (c *h2conn) onOpen(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live++; c.most > 0 && c.live > c.most {
		c.fault("stream %d is the %d-th at a time, of %d allowed (RFC 9113 5.1.2)", id, c.live, c.most)
	}
}

func (c *h2conn) onStop(id uint32, code http2.ErrCode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stops = append(c.stops, stop{id, code})
	if id != 0 {
		c.live--
	}
}

// stopped tells whether the client has stopped a stream, or with 0 the connection.
func (c *h2conn) stopped(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.stops, func(s stop) bool { return s.id == id })
}

// closed notes that the server ends a stream, before it does.
func (c *h2conn) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live--
}

func (c *h2conn) onPing(f *http2.PingFrame) {
	if f.IsAck() {
		c.pings++
		return
	}
	// Not by the Framer, which belongs to the script.
	c.bytes(h2.AppendPing(nil, true, f.Data))
}

// onData is the flow control of RFC 9113 6.9, as the receiver sees it.
func (c *h2conn) onData(id uint32, n int64, _ bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.body[id] += n
	c.used[id] += n
	c.connWindow -= n
	if c.connWindow < 0 {
		c.fault("DATA beyond the connection's window by %d (RFC 9113 6.9.1)", -c.connWindow)
	}
	if over := c.used[id] - c.streamWindow - c.granted[id]; over > 0 {
		c.fault("DATA beyond the window of stream %d by %d (RFC 9113 6.9.1)", id, over)
	}
}

// received is how many octets of DATA have come on a stream.
func (c *h2conn) received(id uint32) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.body[id]
}

// grant opens a window; stream 0 is the connection.
func (c *h2conn) grant(id, n uint32) {
	c.mu.Lock()
	if id == 0 {
		c.connWindow += int64(n)
	} else {
		c.granted[id] += int64(n)
	}
	c.mu.Unlock()
	_ = c.fr.WriteWindowUpdate(id, n)
}

// request waits for the client's next one; nil: the connection ended.
func (c *h2conn) request() *request { return <-c.requests }

// next is the id of the client's next request, or 0 when the connection ended.
func (c *h2conn) next() uint32 {
	if r := c.request(); r != nil {
		return r.id
	}
	return 0
}

// fields encodes pairs of name and value.
func (c *h2conn) fields(pairs ...string) []byte {
	c.block.Reset()
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(c.block.Bytes())
}

// headers sends a whole header block in one frame.
func (c *h2conn) headers(id uint32, end bool, pairs ...string) {
	c.headerBlock(id, end, c.fields(pairs...))
}

func (c *h2conn) headerBlock(id uint32, end bool, block []byte) {
	_ = c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndStream: end, EndHeaders: true})
}

func (c *h2conn) data(id uint32, end bool, p []byte) { _ = c.fr.WriteData(id, end, p) }

// frame sends any frame.
func (c *h2conn) frame(t http2.FrameType, flags http2.Flags, id uint32, payload []byte) {
	_ = c.fr.WriteRawFrame(t, flags, id, payload)
}

// bytes sends any octets.
func (c *h2conn) bytes(p []byte) { _, _ = c.Write(p) }

// ok answers a request as it should be.
func (c *h2conn) ok(id uint32) {
	c.closed()
	switch {
	case c.headOnly:
		c.headers(id, true, ":status", "200", "content-length", "2")
	case c.calls:
		c.headers(id, false, grpcHeader...)
		c.data(id, false, []byte(okMessage))
		c.headers(id, true, "grpc-status", "0")
	default:
		c.headers(id, false, ":status", "200", "content-length", "2")
		c.data(id, true, []byte("ok"))
	}
}

// behave answers what comes until the client ends the connection.
func (c *h2conn) behave() {
	if !c.reading {
		c.listen()
	}
	for r := range c.requests {
		c.ok(r.id)
	}
}

func (c *h2conn) finish() {
	_ = c.Close()
	c.read.Wait()
}

// stopsBut are what the client stopped, leaving out the code with which it says goodbye.
func (c *h2conn) stopsBut(code http2.ErrCode) []stop {
	var out []stop
	for _, s := range c.stops {
		if s.id != 0 || s.code != code {
			out = append(out, s)
		}
	}
	return out
}
