// Package peer has servers for tests. A Peer is the server's side of a connection, without I/O and without a clock: it
// reads requests with x/net's Framer and HPACK decoder, and answers or breaks them as the test says. Serve is
// net/http's server.
package peer

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Request is a request as the peer has read it.
type Request struct {
	At     time.Duration
	Conn   int
	Stream uint32
	Fields map[string]string
	Body   []byte
}

// Reply is what the peer does about a request. The zero Reply: nothing.
type Reply struct {
	After   time.Duration
	Status  int // 0: never answers
	Headers []string
	Body    []byte // is not sent to HEAD
	// Trailers of HTTP/2 follow the body.
	Trailers []string
	Reset    http2.ErrCode // with status 0 and Resets
	Resets   bool
	Goaway   bool // the request is above the last id the peer processes
	HangUp   bool // closes the connection
	// Announces the connection's end with the response: GOAWAY before it, or "connection: close".
	Announces bool
	// BodyAfter is when the body follows the header; 0: at once.
	BodyAfter time.Duration
}

// Peer is one connection. Its methods are called one at a time.
type Peer struct {
	// Index is Request.Conn.
	Index int
	HTTP1 bool
	// Now is the time of Request.At. Later calls a function after a time.
	Now   func() time.Duration
	Later func(time.Duration, func())
	// Serve decides about a request.
	Serve func(*Request) Reply
	// Control sees SETTINGS and PING frames, and returns whether the peer acts on them; nil: it does.
	Control func(http2.Frame) bool

	// In is what the client has sent and the peer has not parsed. Out is what the client has not read.
	In, Out bytes.Buffer
	// Preface is true when the client has sent it.
	Preface bool
	Decoder *hpack.Decoder
	Encoder *hpack.Encoder
	// Block is what Encoder writes to.
	Block bytes.Buffer
	// Open are the requests without an answer, by stream. Resets are the streams that the client has reset.
	Open   map[uint32]*Request
	Resets []uint32
	// Closed: the peer has closed the connection. Goodbye: the client has sent GOAWAY.
	Closed, Goodbye bool
	streams         uint32 // requests so far over HTTP/1.1
	frame           bytes.Reader
	reader, writer  *http2.Framer
}

// Init makes the peer ready.
func (c *Peer) Init() {
	c.Open = map[uint32]*Request{}
	c.Decoder = hpack.NewDecoder(4096, nil)
	c.Encoder = hpack.NewEncoder(&c.Block)
	c.reader, c.writer = http2.NewFramer(nil, &c.frame), http2.NewFramer(&c.Out, nil)
	c.reader.SetReuseFrames()
}

// Framer writes to Out.
func (c *Peer) Framer() *http2.Framer { return c.writer }

// Parse reads whole frames or requests from In. An error says what is wrong with what the client sent.
func (c *Peer) Parse() error {
	if c.HTTP1 {
		c.parse1()
		return nil
	}
	if !c.Preface {
		if c.In.Len() < len(http2.ClientPreface) {
			return nil
		}
		if got := string(c.In.Next(len(http2.ClientPreface))); got != http2.ClientPreface {
			return fmt.Errorf("preface %q", got)
		}
		c.Preface = true
	}
	for c.In.Len() >= 9 {
		h := c.In.Bytes()
		size := 9 + int(h[0])<<16 + int(h[1])<<8 + int(h[2])
		if c.In.Len() < size {
			return nil
		}
		c.frame.Reset(c.In.Next(size))
		f, err := c.reader.ReadFrame()
		if err != nil {
			return fmt.Errorf("a bad frame: %w", err)
		}
		if err := c.take(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *Peer) take(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.HeadersFrame:
		fields, err := c.Decoder.DecodeFull(f.HeaderBlockFragment())
		if err != nil {
			return fmt.Errorf("a bad header block: %w", err)
		}
		r := &Request{At: c.Now(), Conn: c.Index, Stream: f.StreamID, Fields: map[string]string{}}
		for _, hf := range fields {
			r.Fields[hf.Name] = hf.Value
		}
		c.Open[f.StreamID] = r
		if f.StreamEnded() {
			c.request(r)
		}
	case *http2.DataFrame:
		r := c.Open[f.StreamID]
		if r == nil {
			return nil // the peer has reset the stream
		}
		r.Body = append(r.Body, f.Data()...)
		if f.StreamEnded() {
			c.request(r)
		}
	case *http2.SettingsFrame, *http2.PingFrame:
		ping, isPing := f.(*http2.PingFrame)
		if acts := c.Control == nil || c.Control(f); acts && isPing && !ping.IsAck() {
			return c.Framer().WritePing(true, ping.Data)
		}
	case *http2.GoAwayFrame:
		c.Goodbye = true
	case *http2.RSTStreamFrame:
		c.Resets = append(c.Resets, f.StreamID)
		delete(c.Open, f.StreamID)
	}
	return nil
}

func (c *Peer) request(r *Request) {
	p := c.Serve(r)
	if p.Status == 0 && !p.Resets && !p.Goaway && !p.HangUp {
		return
	}
	c.Later(p.After, func() { c.answer(r, p) })
}

func (c *Peer) answer(r *Request, p Reply) {
	if c.Closed || c.Open[r.Stream] == nil {
		return
	}
	delete(c.Open, r.Stream)
	length := len(p.Body)
	if r.Fields[":method"] == http.MethodHead {
		p.Body = nil
	}
	switch fr := c.Framer(); {
	case p.HangUp:
		c.Closed = true
	case c.HTTP1:
		c.answer1(p, length)
	case p.Goaway:
		_ = fr.WriteGoAway(r.Stream-2, http2.ErrCodeNo, nil)
	case p.Resets:
		_ = fr.WriteRSTStream(r.Stream, p.Reset)
	default:
		if p.Announces {
			_ = fr.WriteGoAway(r.Stream, http2.ErrCodeNo, nil)
		}
		c.writeHeaders(r.Stream, len(p.Body)+len(p.Trailers) == 0, append([]string{":status", fmt.Sprint(p.Status)},
			p.Headers...))
		if len(p.Body) > 0 {
			_ = fr.WriteData(r.Stream, len(p.Trailers) == 0, p.Body)
		}
		if len(p.Trailers) > 0 {
			c.writeHeaders(r.Stream, true, p.Trailers)
		}
	}
}

func (c *Peer) writeHeaders(stream uint32, end bool, fields []string) {
	c.Block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = c.Encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = c.Framer().WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.Block.Bytes(), EndHeaders: true,
		EndStream: end})
}

// GoAway ends the connection with NO_ERROR: what was sent is processed.
func (c *Peer) GoAway() { _ = c.Framer().WriteGoAway(1<<31-1, http2.ErrCodeNo, nil) }
