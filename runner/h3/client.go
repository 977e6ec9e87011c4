package h3

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/h3/qpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Config has the bounds of a session. If a field is zero, the session uses the default in its comment.
type Config struct {
	// MaxConcurrentStreams bounds the open requests: 100. The peer's permission to open streams bounds them, too.
	MaxConcurrentStreams int
	// MaxHeaderListSize bounds a response's header fields, in octets (RFC 9114 4.2.2): 64 KiB. A larger response is
	// malformed.
	MaxHeaderListSize uint32
}

// Client is the client side of one connection.
type Client struct {
	h       protocol.Handler
	cfg     Config
	dec     qpack.Decoder
	fields  protocol.Fields
	out     outBuffer
	carry   []byte            // a record that a read has cut
	credits ring.Ring[credit] // streams that no request has used
	// streams are the requests by slot.
	streams []stream
	count   int // of open streams
	// most is the largest number of streams that requests used or could use at a time.
	most  int
	peers []peerStream
	// opened are the kinds of the peer's streams of which a connection has one each.
	opened  [4]bool
	settled bool // the peer's SETTINGS have come
	early   bool // requests need not wait for SETTINGS
	// handshake is one more than the code of Handshaken; 0: none has come since the last call of Handshake.
	handshake uint32
	gone      bool   // after Shutdown and Close
	peerGone  bool   // the peer sent GOAWAY
	peerLast  uint64 // the id of the peer's last GOAWAY
	err       error
}

// NewClient returns a session whose SETTINGS are pending.
func NewClient(cfg Config, h protocol.Handler) *Client {
	if cfg.MaxConcurrentStreams <= 0 {
		cfg.MaxConcurrentStreams = 100
	}
	if cfg.MaxHeaderListSize == 0 {
		cfg.MaxHeaderListSize = 64 << 10
	}
	c := &Client{h: h, cfg: cfg, dec: qpack.Decoder{MaxList: uint64(cfg.MaxHeaderListSize)}}
	c.out.buf = AppendRecord(nil, &Record{Kind: Control, Data: appendSettings([]byte{streamControl}, &cfg)})
	return c
}

// Ready reports that the peer's SETTINGS arrived, or that requests can be sent as early data. Nothing that is sent
// depends on the peer's SETTINGS, so they need not be those of the resumed session (RFC 9114 7.2.4.2).
func (c *Client) Ready() bool { return c.settled || c.early }

// Settled returns whether the peer's SETTINGS have arrived.
func (c *Client) Settled() bool { return c.settled }

// Handshake returns the code of a Handshaken that has come since the last call.
func (c *Client) Handshake() (code uint32, ok bool) {
	code, ok = c.handshake-1, c.handshake > 0
	c.handshake = 0
	return code, ok
}

// Free returns how many requests may be opened now: 0 before Ready, while draining, after Shutdown or an error, at
// either limit, or while too much waits to be sent.
func (c *Client) Free() int {
	if !c.Ready() || c.peerGone || c.gone || c.err != nil || c.out.full() {
		return 0
	}
	return max(0, min(c.credits.Len(), c.cfg.MaxConcurrentStreams-c.count))
}

// InFlight returns how many requests will get an OnDone.
func (c *Client) InFlight() int { return c.count }

// MostStreams returns how many streams requests have used or could use at a time, at most. It grows while the transport
// opens the first streams. It is not the number of slots: a stream that replaces a used one can have another slot.
func (c *Client) MostStreams() int { return c.most }

// Draining reports that no more requests can be opened, because the peer sent GOAWAY. The owner opens another
// connection, and closes this one when InFlight is 0.
func (c *Client) Draining() bool { return c.peerGone }

// GoAway returns whether the peer sent a GOAWAY. That of HTTP/3 has no code (RFC 9114 5.2).
func (c *Client) GoAway() bool { return c.peerGone }

// Shutdown ends the opening of requests.
func (c *Client) Shutdown() { c.gone = true }

// Pending returns the next records to send. There may be more after Wrote. They are valid until the next call that adds
// some.
func (c *Client) Pending() []byte { return c.out.pending() }

// Wrote removes n octets that the transport has taken.
func (c *Client) Wrote(n int) { c.out.wrote(n) }

// Begin returns the buffer to which the header block of the next request is appended.
func (c *Client) Begin() []byte { return append(c.out.buf, blank[:]...) }

// headLen is the space for the type and the length of HEADERS. The length takes two octets as a rule.
const headLen = 3

// blank is the space before a header block, which Open fills.
var blank [RecordLen + headLen]byte

// Open sends the request whose header block was appended to what Begin returned, and its body. It sends nothing and
// returns 0 if Free is 0. The id is valid for Cancel until the request ends.
func (c *Client) Open(buf []byte, tok uint32, body []byte, want protocol.Want) (id uint32) {
	if c.Free() == 0 {
		return 0
	}
	at := len(c.out.buf)
	buf = closeHeaders(buf, at+RecordLen)
	if len(body) > 0 {
		buf = append(appendVarint(append(buf, frameData), uint64(len(body))), body...)
	}
	r := c.credits.Pop()
	s := &c.streams[r.slot]
	s.begin(r, tok, want)
	c.count++
	putRecord(buf[at:], &Record{
		Kind: Request, Fin: true, Early: want&protocol.EarlyData != 0, Slot: r.slot, Stream: r.stream,
	}, len(buf)-at-RecordLen)
	c.out.buf = buf
	return r.slot + 1
}

// closeHeaders fills the type and the length of HEADERS at buf[at], whose block ends with buf.
func closeHeaders(buf []byte, at int) []byte {
	n := len(buf) - at - headLen
	if n >= 1<<14 {
		var more [2]byte // the length takes two octets more
		buf = append(buf, more[:]...)
		copy(buf[at+headLen+2:], buf[at+headLen:at+headLen+n])
		appendVarint(append(buf[:at], frameHeaders), 1<<29|uint64(n)) // four octets
		buf[at+1], buf[at+2] = 0x80|byte(n>>24), byte(n>>16)
		return buf
	}
	buf[at], buf[at+1], buf[at+2] = frameHeaders, 0x40|byte(n>>8), byte(n)
	return buf
}

// Cancel ends the handler's interest in a request: both directions of its stream are reset. There is no OnDone. Cancel
// ignores an id that is not open.
func (c *Client) Cancel(id uint32, _ int64) (reset bool) {
	if id == 0 || id > uint32(len(c.streams)) {
		return false
	}
	s := &c.streams[id-1]
	if !s.isOpen() {
		return false
	}
	c.drop(s)
	if c.err != nil { // Close was the last record
		return false
	}
	c.cancel(s, protocol.H3RequestCancelled)
	return true
}

// cancel resets both directions of a stream.
func (c *Client) cancel(s *stream, code http2.ErrCode) {
	c.out.first = AppendRecord(c.out.first, &Record{Kind: Cancel, Slot: s.slot, Stream: s.stream, Code: uint32(code)})
}

// Receive takes all of p, the records that came from the transport. It keeps a cut record for the next call. An error
// is a connection error: the record that closes the connection is pending.
func (c *Client) Receive(p []byte, _ int64) error {
	if len(c.carry) > 0 {
		p = c.resume(p)
	}
	for c.err == nil {
		r, n := NextRecord(p)
		if n == 0 {
			c.carry = append(c.carry, p...)
			break
		}
		p = p[n:]
		c.take(&r)
	}
	return c.err
}

// resume takes the cut record if p has its end, and returns what follows it. carry never grows beyond a record, so that
// a connection keeps little memory.
func (c *Client) resume(p []byte) []byte {
	for range 2 { // the length is known after RecordLen octets
		n := min(recordLen(c.carry)-len(c.carry), len(p))
		c.carry = append(c.carry, p[:n]...)
		p = p[n:]
	}
	if r, n := NextRecord(c.carry); n > 0 {
		c.take(&r)
		c.carry = c.carry[:0]
	}
	return p
}

func (c *Client) take(r *Record) {
	switch r.Kind {
	case Credit:
		c.onCredit(r)
	case Data:
		if s := c.find(r); s != nil {
			c.onData(s, r.Data, r.Fin)
		}
	case Reset:
		if s := c.find(r); s != nil {
			c.onReset(s, http2.ErrCode(r.Code))
		}
	case Peer:
		c.onPeer(r)
	case PeerReset:
		c.onPeerEnd(r.Stream)
	case Early:
		c.early = true
	case Handshaken:
		c.handshake = r.Code + 1
	}
}

// onCredit notes a stream that a request may use.
func (c *Client) onCredit(r *Record) {
	if int64(r.Slot) >= int64(c.cfg.MaxConcurrentStreams) {
		return
	}
	for uint32(len(c.streams)) <= r.Slot {
		c.streams = append(c.streams, stream{})
	}
	c.credits.Push(credit{r.Slot, r.Stream})
	c.most = max(c.most, c.credits.Len()+c.count)
}

// onReset handles the reset of a response (RFC 9114 4.1.1).
func (c *Client) onReset(s *stream, code http2.ErrCode) {
	kind := protocol.Reset
	if code == protocol.H3RequestRejected {
		kind = protocol.Refused
	}
	c.finish(s, protocol.Outcome{Kind: kind, Code: code})
}

// fail ends the session with a connection error.
func (c *Client) fail(code http2.ErrCode, reason string) {
	if c.err != nil {
		return
	}
	c.err = &ConnError{code, reason}
	c.out.first = AppendRecord(c.out.first, &Record{Kind: Close, Code: uint32(code), Data: []byte(reason)})
}

// Close ends the session after its connection has ended. Each open request ends as Lost.
func (c *Client) Close() {
	c.gone = true
	for i := range c.streams {
		if s := &c.streams[i]; s.isOpen() {
			c.finish(s, protocol.Outcome{Kind: protocol.Lost})
		}
	}
}

// finish ends a request and reports its outcome.
func (c *Client) finish(s *stream, o protocol.Outcome) {
	tok := s.tok
	c.drop(s)
	c.h.OnDone(tok, o)
}

// streamError ends a request whose response is malformed (RFC 9114 4.1.2).
func (c *Client) streamError(s *stream, code http2.ErrCode, rule string) {
	c.cancel(s, code)
	c.finish(s, protocol.Outcome{Kind: protocol.Reset, Code: code, Rule: rule})
}
