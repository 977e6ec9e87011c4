package h2

import (
	"strconv"
	"strings"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Client is the client side of one connection.
type Client struct {
	conn
	h         protocol.Handler
	fields    protocol.Fields
	abandoned int    // streams with that flag
	overdue   int    // streams with that flag
	answered  uint32 // the newest stream with a complete response
	// answeredBefore is answered at the last ResetAbandoned.
	answeredBefore uint32
	peerCode       http2.ErrCode // of the peer's last GOAWAY
	peerGone       bool          // the peer sent a GOAWAY
	peerDebug      string        // the debug data of the peer's last GOAWAY, at most maxDebug octets
	draining       bool
}

// NewClient returns a session whose preface and SETTINGS are pending.
func NewClient(cfg Config, h protocol.Handler) *Client {
	c := &Client{h: h}
	c.out.Buf = append(make([]byte, 0, 128), http2.ClientPreface...)
	c.init(c, cfg.withDefaults(clientDefaults, 0), true)
	return c
}

// Ready reports that the peer's first SETTINGS arrived.
func (c *Client) Ready() bool { return c.ready }

// Free returns how many streams may be opened now: 0 before Ready, while draining,
// after Shutdown or an error, at either limit, or while too much waits to be sent.
func (c *Client) Free() int {
	if !c.ready || c.draining || c.gone || c.err != nil || c.out.full() {
		return 0
	}
	return max(0, c.limit()-c.streams.count)
}

// limit returns how many streams may be open: the user's bound or the peer's,
// whichever is lower.
func (c *Client) limit() int {
	return int(min(uint32(c.cfg.MaxConcurrentStreams), c.peer.maxConcurrent))
}

// InFlight returns how many streams will get an OnDone.
func (c *Client) InFlight() int { return c.streams.count - c.abandoned }

// Abandoned returns how many streams count against the limits although the
// handler gets no more events of them.
func (c *Client) Abandoned() int { return c.abandoned }

// Answered reports that a response was complete, also one of an abandoned stream.
func (c *Client) Answered() bool { return c.answered != 0 }

// Draining reports that no more streams can be opened: after a GOAWAY, when the
// ids have run out, or when the peer passed over so many abandoned streams that the
// reset budget cannot free them soon. The owner opens another connection,
// and closes this one when InFlight is 0.
func (c *Client) Draining() bool { return c.draining }

// GoAway returns the code of the peer's last GOAWAY, and whether there was one.
func (c *Client) GoAway() (code http2.ErrCode, seen bool) { return c.peerCode, c.peerGone }

// GoAwayWords returns the code of the peer's last GOAWAY, and its debug data in quotes if there is some.
func (c *Client) GoAwayWords() string {
	if c.peerDebug == "" {
		return c.peerCode.String()
	}
	return c.peerCode.String() + ": " + strconv.Quote(c.peerDebug)
}

// maxDebug bounds the debug data that is kept of a GOAWAY.
const maxDebug = 64

// Open sends the request whose header block was appended to what Begin returned,
// and its body as far as the windows and the out buffer allow. The rest is copied,
// unless it is stable, and sent later. With protocol.Unfinished, Send continues the
// body. Open sends nothing and returns 0 if Free is 0.
func (c *Client) Open(buf []byte, tok uint32, body []byte, want protocol.Want) (id uint32) {
	if c.Free() == 0 {
		return 0
	}
	id = c.nextID
	s := c.streams.add(id)
	c.begin(s, id, tok, want, 0)
	if c.nextID = id + 2; c.nextID > maxStreamID {
		c.draining = true
	}
	if want&protocol.Unfinished != 0 {
		s.flags |= unfinished
	}
	c.sendHeaders(buf, id, len(body) == 0 && !s.is(unfinished))
	if n := c.sendData(s, body); n < len(body) { // few bodies need more than a frame
		c.sendBody(s, body[n:], want&protocol.StableBody != 0)
	}
	return id
}

// Send continues the body of a request that was opened with protocol.Unfinished, and
// ends it if end is true. It ignores an id that is not open.
func (c *Client) Send(id uint32, p []byte, end bool) {
	s := c.streams.find(id)
	if s == nil || !s.is(unfinished) || s.is(abandoned) || c.err != nil {
		return
	}
	if end {
		s.flags &^= unfinished
	}
	switch {
	case s.body != 0:
		c.bodies.extend(s.body, p)
	case len(p) > 0:
		c.sendBody(s, p, false)
	case end:
		c.endBody(s)
	}
}

// endBody ends a stream whose body was sent without END_STREAM.
func (c *Client) endBody(s *stream) { c.out.Buf = AppendData(c.out.Buf, s.id, true, nil) }

// Receive takes all of p, the octets that came from the peer. It keeps a cut frame
// for the next call. An error is a connection error: the GOAWAY that reports it is
// pending, and the owner writes it and closes. now is in nanoseconds.
func (c *Client) Receive(p []byte, now int64) error {
	c.now = now
	for len(p) > 0 && c.err == nil {
		h, payload, n, ok := c.in.next(p)
		p = p[n:]
		switch {
		case !ok:
			c.cut(h)
		case !c.inPlace(h):
		case h.Type == http2.FrameHeaders, h.Type == http2.FrameContinuation:
			if block, end, complete := c.headerBlock(h, payload); complete {
				c.onBlock(h.StreamID, block, end)
			}
		case h.Type == http2.FrameData:
			c.onData(h, payload)
		default:
			c.onControl(h, payload)
		}
	}
	return c.err
}

// onBlock handles a complete header block. The decoder needs blocks of closed
// streams, too, because they change its table (RFC 9113 5.1).
func (c *Client) onBlock(id uint32, p []byte, end bool) {
	s := c.streams.find(id)
	var sink hpack.Sink
	if s != nil && s.want&protocol.WantHeaders != 0 && (end || !s.is(gotHeader)) {
		c.fields = protocol.Fields{Handler: c.h, Tok: s.tok, Trailers: s.is(gotHeader)}
		sink = &c.fields
	}
	var sum hpack.Summary
	if err := c.dec.Decode(&sum, p, sink); err != nil {
		c.fail(http2.ErrCodeCompression, err.Error())
		return
	}
	if s != nil {
		c.onHeader(s, &sum, end, sink != nil)
	}
}

func (c *Client) onData(h FrameHeader, p []byte) {
	s := c.data(h)
	if s == nil {
		return
	}
	if len(p) > 0 && s.want&protocol.WantBody != 0 {
		c.h.OnData(s.tok, p)
	}
	if c.endsStream(h) {
		c.endResponse(s)
	}
}

// Close ends the session after its connection has ended. Each open stream ends as
// Lost.
func (c *Client) Close() {
	open := c.end()
	for s := range open.all {
		if !s.is(abandoned) {
			c.h.OnDone(s.tok, protocol.Outcome{Kind: protocol.Lost})
		}
	}
	c.abandoned, c.overdue = 0, 0
}

// finish ends a stream and reports its outcome, unless it is abandoned.
func (c *Client) finish(s *stream, o protocol.Outcome) {
	tok, report := s.tok, !s.is(abandoned)
	if o.Kind == protocol.Completed {
		c.answered = max(c.answered, s.id)
	}
	c.drop(s)
	if report {
		c.h.OnDone(tok, o)
	}
}

// drop forgets a stream.
func (c *Client) drop(s *stream) {
	if s.is(abandoned) {
		c.abandoned--
		if s.is(overdue) {
			c.overdue--
		}
	}
	c.conn.drop(s)
}

// streamError implements role. A stream error is sent whatever the budget is, but
// is charged to it.
func (c *Client) streamError(s *stream, code http2.ErrCode, rule string) {
	c.resets.take(c.now)
	c.sendReset(s.id, code)
	c.finish(s, protocol.Outcome{Kind: protocol.Reset, Code: code, Rule: rule})
}

// onReset implements role. On a closed stream, RST_STREAM is late and has no
// effect.
func (c *Client) onReset(s *stream, code http2.ErrCode) {
	if s == nil {
		return
	}
	kind := protocol.Reset
	if code == http2.ErrCodeRefusedStream { // RFC 9113 8.7
		kind = protocol.Refused
	}
	c.finish(s, protocol.Outcome{Kind: kind, Code: code})
}

// onGoAway implements role: the peer has not processed streams above the last id,
// and will not. A later GOAWAY may lower the id. It cannot raise it, because those
// streams have ended.
func (c *Client) onGoAway(last uint32, code http2.ErrCode, debug []byte) {
	c.draining, c.peerGone, c.peerCode = true, true, code
	c.peerDebug = strings.ToValidUTF8(string(debug[:min(len(debug), maxDebug)]), "")
	for s := range c.streams.all {
		if s.id > last {
			c.finish(s, protocol.Outcome{Kind: protocol.Unprocessed, Code: code})
		}
	}
}

// onLateData implements role: the stream has ended, and the response was reported.
func (c *Client) onLateData(uint32) {}

// onSent implements role.
func (c *Client) onSent(s *stream) {
	if s.is(remoteClosed) {
		c.drop(s)
	}
}
