package quicnet

import (
	"errors"
	"io"
	"sync"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/protocol"
)

const (
	// maxQueued bounds what waits for the worker, in octets. Lanes then wait, so that flow control stops the peer.
	maxQueued = 1 << 20
	// maxWriting bounds the requests that wait for flow control, in octets.
	maxWriting = 1 << 20
	// queueKept is the capacity, in octets, of a queue that is kept while it is empty.
	queueKept = 64 << 10
)

// Conn is a QUIC connection whose octets are records of package h3. One goroutine may call Read, Send and Octets.
type Conn struct {
	q *quic.Conn
	// counted are the octets that Octets has returned.
	counted traffic
	// readers are the goroutines that put records.
	readers sync.WaitGroup

	// settled is closed when the handshake is complete, and the lanes of early data have their streams.
	settled chan struct{}

	mu sync.Mutex // guards the fields below
	// early: the handshake is not complete. Lane k then has stream k.
	early   bool
	control *quic.SendStream
	// greeting is what the control stream sends before the handshake is complete.
	greeting []byte
	// notify is called without mu when Read returns more than before, or Send takes requests again.
	notify func()
	lanes  []lane
	in     []byte // records for the session
	taken  int    // octets of in that Read has returned
	// drained is signalled when the queue has become smaller, or closed is true.
	drained *sync.Cond
	closed  bool  // nothing reads the queue any more
	writing int   // octets of requests that wait for flow control
	err     error // why the connection has ended
	// ending is what Close tells the peer.
	ending quic.ApplicationError
}

type traffic struct{ sent, received uint64 }

// lane is a slot for a request.
type lane struct {
	stream *quic.Stream
	number uint32
	// first is its request before the handshake is complete, or before it has a stream; nil: none. held: it is not sent
	// yet.
	first []byte
	held  bool
	// cancelled: the session has cancelled it before then.
	cancelled bool
}

func newConn(q *quic.Conn, lanes int) *Conn {
	c := &Conn{q: q, lanes: make([]lane, lanes), notify: func() {}, settled: make(chan struct{})}
	c.drained = sync.NewCond(&c.mu)
	c.ending.ErrorCode = quic.ApplicationErrorCode(protocol.H3NoError)
	select {
	case <-q.HandshakeComplete():
		_, _ = q.NextConnection(q.Context()) // streams can be opened again if early data was rejected
		c.begin()
		c.beginLanes(0)
	default:
		c.beginEarly()
	}
	return c
}

// begin lets the connection read after the handshake.
func (c *Conn) begin() {
	c.put(&h3.Record{Kind: h3.Handshaken, Code: sessionOf(c.q)})
	c.readers.Go(c.acceptPeers)
}

// beginLanes lets the lanes open streams. Those below next run already.
func (c *Conn) beginLanes(next uint32) {
	close(c.settled)
	c.beginLane(next)
}

// beginLane starts a lane if there is one.
func (c *Conn) beginLane(slot uint32) {
	if int(slot) < len(c.lanes) {
		c.readers.Go(func() { c.runLane(slot, nil) })
	}
}

// Notify sets what is called when the connection may be readable or writable. Any goroutine may call notify.
func (c *Conn) Notify(notify func()) {
	c.mu.Lock()
	c.notify = notify
	c.mu.Unlock()
	notify()
}

// Ready returns whether Read has something to return, and whether Send takes requests.
func (c *Conn) Ready() (readable, writable bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken < len(c.in) || c.err != nil, c.writing < maxWriting || c.err != nil
}

// Read returns records, perhaps with a part of one at the end. It returns 0 and no error if there are none. After an
// error, the connection has ended.
func (c *Conn) Read(b []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = copy(b, c.in[c.taken:])
	if c.taken += n; c.taken == len(c.in) {
		if c.taken = 0; cap(c.in) > queueKept {
			c.in = nil
		}
		c.in = c.in[:0]
	}
	if n > 0 {
		c.drained.Broadcast()
		return n, nil
	}
	return 0, c.err
}

// put queues a record for the session, and waits while the queue is full.
func (c *Conn) put(r *h3.Record) {
	c.mu.Lock()
	for len(c.in)-c.taken > maxQueued && !c.closed {
		c.drained.Wait()
	}
	c.in = h3.AppendRecord(c.in, r)
	notify := c.notify
	c.mu.Unlock()
	notify()
}

// end stores why the connection has ended, when all that was read before is in the queue. So a response that a lane has
// read is not lost.
func (c *Conn) end(why error) {
	c.readers.Wait()
	c.mu.Lock()
	c.err = cause(why)
	notify := c.notify
	c.mu.Unlock()
	notify()
}

// Close ends the connection without an error, unless it has ended or fail has begun to end it. It does not wait for the
// peer.
func (c *Conn) Close() {
	c.discard()
	c.mu.Lock()
	why := c.ending
	c.mu.Unlock()
	_ = c.q.CloseWithError(why.ErrorCode, why.ErrorMessage)
}

// fail begins to end the connection with an error. The caller has mu.
func (c *Conn) fail(code http2.ErrCode, reason string) {
	why := quic.ApplicationError{ErrorCode: quic.ApplicationErrorCode(code), ErrorMessage: reason}
	c.ending = why
	go c.q.CloseWithError(why.ErrorCode, why.ErrorMessage) //nolint:errcheck // has ended
}

// discard lets no lane wait for the queue.
func (c *Conn) discard() {
	c.mu.Lock()
	c.closed = true
	c.drained.Broadcast()
	c.mu.Unlock()
}

// Octets returns how many octets have been sent and received since the last call, in UDP datagrams.
func (c *Conn) Octets() (sent, received int64) {
	s := c.q.ConnectionStats()
	now := traffic{s.BytesSent, s.BytesReceived}
	sent, received = int64(now.sent-c.counted.sent), int64(now.received-c.counted.received)
	c.counted = now
	return sent, received
}

// runLane opens streams for requests and reads the responses, first of a stream that is open; nil: none is.
func (c *Conn) runLane(slot uint32, s *quic.Stream) {
	buf := make([]byte, laneBuffer)
	for first := s == nil; ; first = false {
		if s == nil {
			if s = c.openStream(slot, first); s == nil {
				return
			}
		}
		if !c.readResponse(s, h3.Record{Kind: h3.Data, Slot: slot, Stream: uint32(s.StreamID() / 4)}, buf) {
			return
		}
		s = nil
	}
}

// openStream waits until the peer permits a stream, and offers it to the session. It starts the next lane when this one
// has its first stream, so that one lane at a time waits for its first. Lanes get streams in the order in which they
// wait: in time, there can be more lanes than the peer permits streams. It returns nil if the connection has ended.
func (c *Conn) openStream(slot uint32, first bool) *quic.Stream {
	select {
	case <-c.settled:
	case <-c.q.Context().Done():
		return nil
	}
	s, err := c.q.OpenStreamSync(c.q.Context())
	if err != nil {
		return nil
	}
	number := uint32(s.StreamID() / 4)
	c.mu.Lock()
	c.lanes[slot] = lane{stream: s, number: number}
	c.mu.Unlock()
	c.put(&h3.Record{Kind: h3.Credit, Slot: slot, Stream: number})
	if first {
		c.beginLane(slot + 1)
	}
	return s
}

// laneBuffer is how many octets a lane reads at a time: about a packet.
const laneBuffer = 2048

// readResponse reads a stream to its end. It returns false if the connection has ended.
func (c *Conn) readResponse(s *quic.Stream, r h3.Record, buf []byte) bool {
	code, reset, ok := c.read(s, r, buf)
	switch {
	case reset:
		s.CancelWrite(quic.StreamErrorCode(protocol.H3RequestCancelled)) // perhaps a part of the request is not sent
		r.Kind, r.Code, r.Data = h3.Reset, code, nil
		c.put(&r)
	case ok && s.Context().Err() == nil:
		endEarly(s)
	}
	return ok
}

// read passes the octets of a stream to the session. reset: the peer has reset the stream. ok is false if the
// connection has ended.
func (c *Conn) read(s io.Reader, r h3.Record, buf []byte) (code uint32, reset, ok bool) {
	for {
		n, err := s.Read(buf)
		r.Data, r.Fin = buf[:n], errors.Is(err, io.EOF)
		if n > 0 || r.Fin {
			c.put(&r)
		}
		if err == nil {
			continue
		}
		var e *quic.StreamError
		switch {
		case r.Fin:
			return 0, false, true
		case errors.As(err, &e):
			return uint32(min(e.ErrorCode, 1<<32-1)), e.Remote, true
		}
		return 0, false, false
	}
}

// acceptPeers reads the unidirectional streams of the peer.
func (c *Conn) acceptPeers() {
	for number := uint32(0); ; number++ {
		s, err := c.q.AcceptUniStream(c.q.Context())
		if err != nil {
			return
		}
		c.readers.Go(func() {
			r := h3.Record{Kind: h3.Peer, Stream: number}
			if code, reset, _ := c.read(s, r, make([]byte, laneBuffer)); reset {
				c.put(&h3.Record{Kind: h3.PeerReset, Stream: number, Code: code})
			}
		})
	}
}
