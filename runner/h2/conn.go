package h2

import (
	"errors"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// conn is the part of a session that client and server share: frames, SETTINGS,
// header blocks, flow control and the octets to send. Client and Server embed it
// and add the messages. Both read frames in a loop of their own and handle HEADERS
// and DATA themselves, because an indirect call per frame would be visible in a
// profile. The rest reaches them through the role interface.
type conn struct {
	role    role
	in      reader
	out     outBuffer
	dec     hpack.Decoder
	block   block
	streams streamTable
	bodies  bodyQueue
	peer    peerSettings
	cfg     Config
	err     error // the session has ended

	now              int64       // of the current Receive, in nanoseconds
	resets, settings resetBudget // of RST_STREAM frames, and of SETTINGS frames received

	nextID     uint32 // the lowest idle stream id
	lastID     uint32 // the peer's last stream that was processed, for GOAWAY
	sendWindow int32
	recvWindow int32

	client bool // this side is the client
	ready  bool // the peer's first SETTINGS arrived
	gone   bool // a GOAWAY was sent
}

// role is what the Client or the Server does about frames that are rare.
type role interface {
	// streamError resets a stream on which the peer broke a rule (RFC 9113 5.4.2).
	streamError(s *stream, code http2.ErrCode, rule string)
	// onReset handles RST_STREAM. s is nil if the stream is closed.
	onReset(s *stream, code http2.ErrCode)
	// onGoAway handles GOAWAY (RFC 9113 6.8).
	onGoAway(last uint32, code http2.ErrCode, debug []byte)
	// onLateData handles DATA on a closed stream.
	onLateData(id uint32)
	// onSent is called when the last octet of a body is in the out buffer. The
	// stream is then closed on this side (RFC 9113 5.1).
	onSent(s *stream)
}

var errClosed = errors.New("h2: the session is closed")

// init prepares a session. Its SETTINGS are pending after what out holds.
func (c *conn) init(r role, cfg Config, client bool) {
	c.role, c.cfg, c.client = r, cfg, client
	c.in = reader{maxFrame: cfg.MaxFrameSize}
	c.peer = initialPeerSettings()
	c.resets = newResetBudget(cfg.ResetsPerSecond, cfg.ResetBurst)
	c.nextID = 1
	c.sendWindow, c.recvWindow = initialWindowSize, int32(cfg.ConnWindow)
	c.dec.Init(cfg.MaxHeaderListSize)
	if cfg.HeaderTableSize > hpack.DefaultTableSize {
		c.dec.Limit(cfg.HeaderTableSize) // a smaller one applies after its acknowledgement
	}
	c.out.Buf = AppendSettings(c.out.Buf, cfg.settings(client)...)
	if more := cfg.ConnWindow - initialWindowSize; more > 0 {
		c.out.Buf = AppendWindowUpdate(c.out.Buf, 0, more)
	}
}

// EncoderTableSize returns how large the dynamic table for sending may be, in
// octets: 4096, or less if the peer's SETTINGS say so.
func (c *conn) EncoderTableSize() uint32 { return c.peer.table.size }

// EncoderTableEpoch counts the changes of EncoderTableSize. A change may evict
// entries, even if the size has its old value again.
func (c *conn) EncoderTableEpoch() uint32 { return c.peer.table.epoch }

// Pending returns the octets to send. They are valid until the next call of a
// method. After Wrote, more may be pending.
func (c *conn) Pending() []byte { return c.out.pending() }

// Wrote drops the first n octets of Pending, which were sent.
func (c *conn) Wrote(n int) {
	c.out.wrote(n)
	c.pump()
}

// Ping queues a PING (RFC 9113 6.7). An answer shows that the peer is alive.
func (c *conn) Ping() {
	c.out.Buf = AppendPing(c.out.Buf, false, [pingLen]byte{})
}

// Shutdown queues GOAWAY(NO_ERROR). Open streams continue. A client opens no
// more streams; a server ignores new ones.
func (c *conn) Shutdown() {
	if !c.gone && c.err == nil {
		c.goAway(http2.ErrCodeNo, "")
	}
}

func (c *conn) goAway(code http2.ErrCode, reason string) {
	c.gone = true
	c.out.Buf = AppendGoAway(c.out.Buf, c.lastID, code, reason)
}

// fail ends the session with a connection error (RFC 9113 5.4.1): GOAWAY is the
// last frame.
func (c *conn) fail(code http2.ErrCode, reason string) {
	c.err = &ConnError{code, reason}
	c.goAway(code, reason)
}

// end releases the session's memory, and returns the streams that were open.
func (c *conn) end() streamTable {
	if c.err == nil {
		c.err = errClosed
	}
	open := c.streams
	c.streams, c.bodies = streamTable{}, bodyQueue{}
	c.in, c.block = reader{}, block{}
	return open
}

// idle reports that a stream was never opened: stream 0, the server's even ids,
// which do not exist without push, and the client's future ones.
func (c *conn) idle(id uint32) bool { return id&1 == 0 || id >= c.nextID }

// begin fills the entry of a new stream. It sets field by field, because a copy of
// a literal would wait for the stores of its narrow fields.
func (c *conn) begin(s *stream, id, tok uint32, want protocol.Want, flags streamFlags) {
	s.id, s.tok, s.want, s.flags, s.body, s.left = id, tok, want, flags, 0, lengthUnknown
	s.sendWindow, s.recvWindow = int32(c.peer.initialWindow), int32(c.cfg.StreamWindow)
}

// drop forgets a stream. Pointers to streams are invalid after it.
func (c *conn) drop(s *stream) {
	if s.body != 0 {
		c.forgetBody(s)
	}
	c.streams.remove(s)
}

func (c *conn) sendReset(id uint32, code http2.ErrCode) {
	c.out.Buf = AppendRSTStream(c.out.Buf, id, code)
}
