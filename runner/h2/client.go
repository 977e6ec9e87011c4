package h2

import (
	"errors"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// Want says which parts of a response the handler is to be given, and what the
// session must know of the request to judge the response.
type Want uint8

const (
	// WantHeaders asks for OnHeader.
	WantHeaders Want = 1 << iota
	// WantBody asks for OnData.
	WantBody
	// WantErrorBody asks for OnData when the status is 400 or above.
	WantErrorBody
	// HeadRequest says that the method is HEAD: the response has no content,
	// whatever its content-length says (RFC 9113 8.1.1).
	HeadRequest
	// StableBody says that the request's body does not change while the stream
	// is open, so that it need not be copied.
	StableBody
)

// Kind is how a request ended.
type Kind uint8

const (
	// Completed: the whole response came.
	Completed Kind = iota
	// Reset by the peer, or by us because the response was malformed.
	Reset
	// Unprocessed: refused, or above the last stream of a GOAWAY. The request
	// did nothing and is safe to send again (RFC 9113 8.7).
	Unprocessed
	// Lost with its connection.
	Lost
)

// Outcome is the end of a request; Code is that of the RST_STREAM or GOAWAY, if
// one ended it. Rule is the rule that the response broke when the stream was
// reset by us, and empty when the peer reset it.
type Outcome struct {
	Kind Kind
	Code http2.ErrCode
	Rule string
}

// Handler takes the events of a client session. All calls happen inside Receive
// or Close; slices are valid during the call; the handler must not call back
// into the session.
type Handler interface {
	// OnStatus: the final response begins; 1xx are swallowed. A response that
	// turns out malformed may be Reset after it.
	OnStatus(tok uint32, status int)
	// OnHeader: a field of the response, only with WantHeaders; neither
	// pseudo-header fields nor trailers.
	OnHeader(tok uint32, name, value []byte)
	// OnData: a piece of the body, only with WantBody, or with WantErrorBody and such a status.
	OnData(tok uint32, p []byte)
	// OnDone: exactly once for each Open that was not cancelled.
	OnDone(tok uint32, o Outcome)
}

// Client is the client side of one connection.
type Client struct {
	h       Handler
	in      reader
	out     outBuffer
	dec     hpack.Decoder
	block   block
	streams streamTable
	bodies  bodyQueue
	peer    peerSettings
	resets  resetBudget
	told    fieldSink
	err     error // the session is over
	cfg     Config

	now        int64 // of the Receive under way, nanoseconds
	nextID     uint32
	limit      int // of open streams: the user's or the peer's, the lower; 0 when none may be opened
	abandoned  int // streams with that flag
	overdue    int // those of them that could not be reset yet
	sendWindow int32
	recvWindow int32

	ready    bool // the peer's first SETTINGS came
	behind   bool // bodies wait for room in the out buffer
	acked    bool // the peer acknowledged ours
	draining bool // GOAWAY seen or ids run out
	goneAway bool
	goAway   http2.ErrCode // valid with goneAway
	shut     bool          // we sent GOAWAY
}

var errOver = errors.New("h2: the session is closed")

// NewClient returns a session whose preface and SETTINGS are pending.
func NewClient(cfg Config, h Handler) *Client {
	cfg = cfg.withDefaults()
	c := &Client{
		h:          h,
		cfg:        cfg,
		in:         reader{maxFrame: cfg.MaxFrameSize},
		peer:       initialPeerSettings(),
		resets:     newResetBudget(cfg.ResetsPerSecond, cfg.ResetBurst),
		nextID:     1,
		sendWindow: initialWindowSize,
		recvWindow: int32(cfg.ConnWindow),
	}
	c.dec.Init(cfg.MaxHeaderListSize)
	if cfg.HeaderTableSize > http2InitialTable {
		c.dec.Limit(cfg.HeaderTableSize) // a smaller one counts from its acknowledgement on
	}
	c.out.buf = append(make([]byte, 0, 128), http2.ClientPreface...)
	push := http2.Setting{ID: http2.SettingEnablePush, Val: 0}
	c.out.buf = AppendSettings(c.out.buf, append(cfg.settings(), push)...)
	if more := cfg.ConnWindow - initialWindowSize; more > 0 {
		c.out.buf = AppendWindowUpdate(c.out.buf, 0, more)
	}
	return c
}

// Ready tells whether the peer's first SETTINGS arrived.
func (c *Client) Ready() bool { return c.ready }

// Free is how many streams may be opened now: 0 before Ready, while draining,
// after Shutdown or an error, at either limit, out of ids, or while too much
// waits to be sent.
func (c *Client) Free() int {
	if c.out.full() {
		return 0
	}
	return max(0, c.limit-c.streams.count)
}

// InFlight is how many streams still owe an OnDone.
func (c *Client) InFlight() int { return c.streams.count - c.abandoned }

// Abandoned is how many streams count against the limits though no one waits
// for them.
func (c *Client) Abandoned() int { return c.abandoned }

// Draining tells that no stream can be opened any more, because of a GOAWAY,
// because ids have run out, or because the peer answers while so many streams
// are abandoned that the reset budget cannot give them back soon: open another
// connection, and close this one when InFlight is 0.
func (c *Client) Draining() bool { return c.draining }

// GoAway returns the code of the peer's last GOAWAY, and whether there was one.
func (c *Client) GoAway() (code http2.ErrCode, seen bool) { return c.goAway, c.goneAway }

// EncoderTableSize is how large the dynamic table for requests may be, in
// octets: the default 4096, or less if the peer's SETTINGS say so.
func (c *Client) EncoderTableSize() uint32 { return c.peer.table.size }

// EncoderTableEpoch changes whenever the peer changed EncoderTableSize, also
// when it has the old value again: entries may have been evicted in between.
func (c *Client) EncoderTableEpoch() uint32 { return c.peer.table.epoch }

// Pending is what is to be sent, valid until the next call of any method but
// Wrote. More may follow it.
func (c *Client) Pending() []byte {
	if c.behind && c.err == nil && c.out.room() > 0 {
		c.behind = false
		c.out.compact()
		c.sendAll()
	}
	return c.out.pending()
}

// Wrote tells that the first n octets of Pending were sent.
func (c *Client) Wrote(n int) { c.out.wrote(n) }

// Shutdown queues GOAWAY(NO_ERROR). Streams go on; none can be opened.
func (c *Client) Shutdown() {
	if c.shut || c.err != nil {
		return
	}
	c.shut = true
	c.out.buf = AppendGoAway(c.out.buf, 0, http2.ErrCodeNo, "")
	c.setLimit()
}

// Close says that the connection is gone: every open stream ends as Lost.
func (c *Client) Close() {
	if errors.Is(c.err, errOver) {
		return
	}
	c.err = errOver
	c.setLimit()
	for i := range c.streams.ring {
		if s := &c.streams.ring[i]; s.id != 0 {
			c.finish(s, Outcome{Kind: Lost})
		}
	}
	c.streams, c.bodies = streamTable{}, bodyQueue{}
	c.in, c.block = reader{}, block{}
}

// setLimit finds the limit of open streams anew.
func (c *Client) setLimit() {
	c.limit = 0
	if c.ready && !c.draining && !c.shut && c.err == nil {
		c.limit = int(min(uint32(c.cfg.MaxConcurrentStreams), c.peer.maxConcurrent))
	}
}

// fail ends the session with a connection error (RFC 9113 5.4.1). No stream of
// the peer's was ever processed, so the last id is 0.
func (c *Client) fail(code http2.ErrCode, reason string) error {
	c.err = &ConnError{code, reason}
	c.out.buf = AppendGoAway(c.out.buf, 0, code, reason)
	c.setLimit()
	return c.err
}

// finish ends a stream and says so, unless no one waits.
func (c *Client) finish(s *stream, o Outcome) {
	tok, flags := s.tok, s.flags
	c.drop(s)
	if flags&abandoned == 0 {
		if o.Kind == Completed {
			c.checkBudget()
		}
		c.h.OnDone(tok, o)
	}
}

// drop forgets a stream.
func (c *Client) drop(s *stream) {
	if s.body != 0 {
		c.forgetBody(s)
	}
	if s.flags&abandoned != 0 {
		c.abandoned--
	}
	if s.flags&overdue != 0 {
		c.overdue--
	}
	c.streams.remove(s)
}

// resetStream is a stream error (RFC 9113 5.4.2). It must be sent whatever the
// budget says, but is charged to it.
func (c *Client) resetStream(s *stream, code http2.ErrCode, rule string) {
	c.resets.take(c.now)
	c.out.buf = AppendRSTStream(c.out.buf, s.id, code)
	c.finish(s, Outcome{Reset, code, rule})
}
