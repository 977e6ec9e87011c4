package quicnet

import (
	"bytes"

	"github.com/quic-go/quic-go"

	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/protocol"
)

// This file has what happens before the handshake of a resumed session is complete. The session gets as many streams as
// the server permitted in the session before, and sends requests on them as early data. If the server rejects that, it
// has not processed any of it, and the same requests are sent on new streams (RFC 9001 4.6.2). The session of HTTP/3
// does not see the difference.

// beginEarly opens streams for requests. Their lanes wait for the handshake.
func (c *Conn) beginEarly() {
	c.early = true
	c.put(&h3.Record{Kind: h3.Early})
	n := uint32(0)
	for ; int(n) < len(c.lanes); n++ {
		s, err := c.q.OpenStream()
		if err != nil { // the server permits no more, or has rejected early data by now
			break
		}
		c.lanes[n] = lane{stream: s, number: n}
		c.put(&h3.Record{Kind: h3.Credit, Slot: n, Stream: n})
	}
	for slot := range n {
		c.readers.Go(func() { c.runEarlyLane(slot) })
	}
	c.readers.Go(func() { c.settle(n) })
}

// runEarlyLane runs the lane of a stream that was opened before the handshake is complete.
func (c *Conn) runEarlyLane(slot uint32) {
	select {
	case <-c.settled:
	case <-c.q.Context().Done():
		return
	}
	c.mu.Lock()
	s := c.lanes[slot].stream
	c.mu.Unlock()
	c.runLane(slot, s)
}

// keep stores what the session sends before the handshake is complete. It returns whether it is sent now.
func (l *lane) keep(r *h3.Record) bool {
	if r.Kind == h3.Cancel {
		l.first, l.cancelled = nil, true
		return true
	}
	l.first, l.held = bytes.Clone(r.Data), !r.Early
	return r.Early
}

// settle waits for the handshake, and sends what the server has not got. streams is how many are open. Streams can be
// opened again while it has mu, so that no other goroutine opens a control stream before.
func (c *Conn) settle(streams uint32) {
	select {
	case <-c.q.HandshakeComplete():
	case <-c.q.Context().Done():
		return
	}
	unsent, ok := c.leaveEarly(streams)
	if !ok {
		return
	}
	for s, p := range unsent {
		c.request(s, p)
	}
	c.begin(streams)
}

// leaveEarly ends the time of early data after the handshake. It returns what is not sent, and false if the connection ends.
func (c *Conn) leaveEarly(streams uint32) (unsent map[*quic.Stream][]byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.q.NextConnection(c.q.Context()); err != nil {
		return nil, false
	}
	var again []*quic.Stream
	rejected := sessionOf(c.q) != h3.AcceptedEarly
	for rejected && uint32(len(again)) < streams {
		s, err := c.q.OpenStream()
		if err != nil {
			const why = "fewer streams than in the resumed session are permitted"
			go c.q.CloseWithError(quic.ApplicationErrorCode(protocol.H3NoError), why) //nolint:errcheck // has ended
			return nil, false
		}
		again = append(again, s)
	}
	c.early = false
	if rejected {
		c.control = nil
	}
	if c.control == nil && c.greeting != nil {
		c.sendControl(c.greeting)
	}
	unsent = map[*quic.Stream][]byte{}
	for slot := range streams {
		if l := &c.lanes[slot]; rejected {
			l.reopen(again[slot])
		}
		if l := &c.lanes[slot]; l.first != nil && (rejected || l.held) {
			unsent[l.stream] = l.first
		}
		c.lanes[slot].first = nil
	}
	return unsent, true
}

// reopen gives the lane a stream in the place of one whose early data was rejected.
func (l *lane) reopen(s *quic.Stream) {
	if l.stream = s; l.cancelled {
		s.CancelRead(quic.StreamErrorCode(protocol.H3RequestCancelled))
		s.CancelWrite(quic.StreamErrorCode(protocol.H3RequestCancelled))
	}
}

// sessionOf returns the code of Handshaken of a connection.
func sessionOf(q *quic.Conn) uint32 {
	switch s := q.ConnectionState(); {
	case s.Used0RTT:
		return h3.AcceptedEarly
	case s.TLS.DidResume:
		return h3.Resumed
	}
	return h3.NewSession
}
