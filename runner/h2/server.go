package h2

import (
	"errors"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// ServerConfig bounds a server session. A zero field has the default in its comment.
type ServerConfig struct {
	// HeaderTableSize is the dynamic table the client's encoder may use: 4096 bytes.
	HeaderTableSize uint32
	// StreamWindow is the receive window of a stream: 1 MiB. Values below 65535, which a
	// client may assume until it has seen SETTINGS, are raised to it.
	StreamWindow uint32
	// ConnWindow is the receive window of the connection: 16 MiB, at least 65535.
	ConnWindow uint32
	// MaxFrameSize is the largest payload accepted: 16384 bytes, which is also the least.
	MaxFrameSize uint32
	// MaxHeaderListSize bounds a request's header, encoded and decoded (RFC 9113 section
	// 6.5.2): 64 KiB. A larger one is answered with 431.
	MaxHeaderListSize uint32
	// MaxConcurrentStreams is announced and enforced with REFUSED_STREAM: 1000.
	MaxConcurrentStreams uint32
	// ResetsPerSecond and ResetBurst bound how often a client may reset streams, or make the
	// server reset them by breaking the protocol: 33 a second after the first 1000. Past it
	// the connection ends with ENHANCE_YOUR_CALM. A negative rate means no bound.
	ResetsPerSecond, ResetBurst int
	// TellHeaders and TellBody say whether the handler is told header fields and content.
	TellHeaders, TellBody bool
}

// ServerHandler is told what a client asks. All calls happen inside Server.Receive or
// Server.Close. Slices are valid during the call. The handler may call BeginResponse, Respond and
// ResetStream, and nothing else of the session.
type ServerHandler interface {
	// OnRequest reports a well-formed request. path is empty for CONNECT and otherwise what
	// :path holds, query included. The result comes back in the stream's later calls.
	OnRequest(id uint32, method, path []byte) (tok uint32)
	// OnHeader reports a header field, only with TellHeaders: :scheme and :authority first,
	// the other fields in their order; no trailers.
	OnHeader(id, tok uint32, name, value []byte)
	// OnData reports a piece of the request's content, only with TellBody.
	OnData(id, tok uint32, p []byte)
	// OnEnd reports that the request is complete. It is the usual moment to respond.
	OnEnd(id, tok uint32)
	// OnReset reports that a stream ended without a complete response: reset by the client,
	// reset by the session because the client broke the protocol, or lost with the connection.
	// It does not follow a call of ResetStream.
	OnReset(id, tok uint32)
}

// ServerCounts counts what a handler is not told.
type ServerCounts struct {
	Resets    uint64 // RST_STREAM frames received
	Refused   uint64 // streams refused because too many were open
	Malformed uint64 // requests that were malformed or too large
}

// Server is the server's side of one connection, without I/O: bytes in by Receive, bytes out by
// Pending and Wrote. It belongs to one goroutine.
type Server struct {
	cfg    ServerConfig
	h      ServerHandler
	counts ServerCounts
	now    int64

	// Response headers and control frames are appended to out as they come; DATA only while
	// less than outHighWater waits.
	out     outBuffer
	preface int // octets of the client's preface received
	in      reader
	block   block
	decoder hpack.Decoder
	request requestFields
	// skipping is set while the DATA frame under way belongs to no stream.
	skipping bool

	phase   serverPhase
	err     error
	streams serverStreams
	queue   serverQueue
	// lastID is the last stream that was served, highestID the last begun: after a GOAWAY
	// streams are ignored.
	lastID, highestID uint32
	// gone has the streams this side ended while the client may still send on them.
	gone endedStreams

	resets, settings resetBudget

	sendWindow, recvWindow int32 // the connection's
	peer                   peerSettings
	goAwaySent             bool
}

type serverPhase uint8

const (
	awaitPreface serverPhase = iota
	awaitSettings
	serving
	failed
)

const (
	// outHighWater bounds the DATA waiting for the socket; the rest waits as references to
	// the handler's bodies.
	outHighWater = 256 << 10
	// congested is the amount of waiting output at which an owner should stop reading.
	congested = 1 << 20

	// No client has a reason to send more SETTINGS; each may make the session visit every
	// stream.
	settingsPerSecond = 10
	settingsBurst     = 100
)

// NewServer returns a session whose SETTINGS are pending.
func NewServer(cfg ServerConfig, h ServerHandler) *Server {
	cfg = cfg.withDefaults()
	s := &Server{
		cfg:        cfg,
		h:          h,
		in:         reader{maxFrame: cfg.MaxFrameSize},
		sendWindow: initialWindowSize,
		recvWindow: int32(cfg.ConnWindow),
		peer:       initialPeerSettings(),
		resets:     newResetBudget(cfg.ResetsPerSecond, cfg.ResetBurst),
		settings:   newResetBudget(settingsPerSecond, settingsBurst),
	}
	s.decoder.Init(cfg.MaxHeaderListSize)
	s.out.buf = AppendSettings(s.out.buf,
		http2.Setting{ID: http2.SettingHeaderTableSize, Val: cfg.HeaderTableSize},
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: cfg.MaxConcurrentStreams},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: cfg.StreamWindow},
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: cfg.MaxFrameSize},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: cfg.MaxHeaderListSize},
	)
	if more := cfg.ConnWindow - initialWindowSize; more > 0 {
		s.out.buf = AppendWindowUpdate(s.out.buf, 0, more)
	}
	return s
}

func (c ServerConfig) withDefaults() ServerConfig {
	def := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.HeaderTableSize, hpack.DefaultTableSize)
	def(&c.StreamWindow, 1<<20)
	def(&c.ConnWindow, 16<<20)
	def(&c.MaxFrameSize, minMaxFrameSize)
	def(&c.MaxHeaderListSize, 64<<10)
	def(&c.MaxConcurrentStreams, 1000)
	c.StreamWindow = min(max(c.StreamWindow, initialWindowSize), maxWindow)
	c.ConnWindow = min(max(c.ConnWindow, initialWindowSize), maxWindow)
	c.MaxFrameSize = min(max(c.MaxFrameSize, minMaxFrameSize), maxMaxFrameSize)
	if c.ResetsPerSecond == 0 {
		c.ResetsPerSecond = 33
	}
	if c.ResetBurst == 0 {
		c.ResetBurst = 1000
	}
	return c
}

// Pending returns the bytes to send. They are valid until the next call of the session.
func (s *Server) Pending() []byte { return s.out.pending() }

// Wrote tells that the first n pending bytes went out.
func (s *Server) Wrote(n int) {
	s.out.wrote(n)
	s.out.compact()
	s.pump()
}

// Congested reports that so much output waits that the owner should not read more until the
// client has taken some: a client that sends and never reads must not fill memory.
func (s *Server) Congested() bool { return len(s.out.pending()) > congested }

// Open returns the number of streams neither side has ended.
func (s *Server) Open() int { return s.streams.n }

// Counts returns what was counted since the session began.
func (s *Server) Counts() ServerCounts { return s.counts }

// EncoderTable is the size of the dynamic table that response blocks may use, at most 4096
// octets, and the number of changes so far. A change may have evicted entries, even if the size
// is the same again.
func (s *Server) EncoderTable() (size, changes uint32) { return s.peer.table.size, s.peer.table.epoch }

// Shutdown queues a GOAWAY. Streams begun before it are still served, later ones are ignored.
func (s *Server) Shutdown() {
	if !s.goAwaySent && s.phase != failed {
		s.goAway(http2.ErrCodeNo, "")
	}
}

var (
	errClosed = errors.New("h2: the session is closed")
	// ErrPreface tells that the peer does not speak HTTP/2 with prior knowledge. Nothing more
	// is pending: such a peer would not understand it.
	ErrPreface = errors.New("h2: the client did not begin with HTTP/2's preface")
)

// Close reports every open stream as reset. The session is of no use afterwards.
func (s *Server) Close() {
	s.phase = failed
	if s.err == nil {
		s.err = errClosed
	}
	for i := range s.streams.slots {
		if st := &s.streams.slots[i]; st.id != 0 {
			id, tok, responded := st.id, st.tok, st.is(responded)
			s.drop(st)
			if !responded {
				s.h.OnReset(id, tok)
			}
		}
	}
}

// connError ends the session: a GOAWAY is pending, and nothing more is received.
func (s *Server) connError(code http2.ErrCode, reason string) {
	s.phase = failed
	s.err = &ConnError{code, reason}
	s.goAway(code, reason)
}

func (s *Server) goAway(code http2.ErrCode, reason string) {
	s.goAwaySent = true
	s.out.buf = AppendGoAway(s.out.buf, s.lastID, code, reason)
}
