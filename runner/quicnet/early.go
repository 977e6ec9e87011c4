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
	c.readers.Go(func() { c.settle(n) })
}

// keep stores what the session sends before the handshake is complete, or before the lane has a stream. It returns
// whether it is sent now.
func (l *lane) keep(r *h3.Record) bool {
	if r.Kind == h3.Cancel {
		l.first, l.cancelled = nil, true
		return true
	}
	sent := r.Early && l.stream != nil
	l.first, l.held = bytes.Clone(r.Data), !sent
	return sent
}

// settle waits for the handshake, sends what the server has not got, and starts the lanes. streams is how many were
// opened.
func (c *Conn) settle(streams uint32) {
	select {
	case <-c.q.HandshakeComplete():
	case <-c.q.Context().Done():
		return
	}
	if !c.leaveEarly(streams) {
		return
	}
	c.begin()
	for slot := range streams {
		if !c.settleLane(slot) {
			return
		}
	}
	c.beginLanes(streams)
}

// leaveEarly ends the time of early data after the handshake. It returns false if the connection has ended. It makes
// streams openable again while it has mu, so that no other goroutine opens a control stream before.
func (c *Conn) leaveEarly(streams uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.q.NextConnection(c.q.Context()); err != nil {
		return false
	}
	c.early = false
	if sessionOf(c.q) != h3.AcceptedEarly { // all that was sent is to be sent again
		c.control = nil
		for slot := range streams {
			c.lanes[slot].stream, c.lanes[slot].held = nil, true
		}
	}
	if c.control == nil && c.greeting != nil {
		c.sendControl(c.greeting)
	}
	return true
}

// settleLane starts a lane. If its early data was rejected, it first waits for a stream: the server may permit fewer
// than in the session before. No other lane opens one before all have theirs, so lane k has stream k again. It returns
// false if the connection has ended.
func (c *Conn) settleLane(slot uint32) bool {
	l := &c.lanes[slot] // its stream changes only here until the lane runs
	s, again := l.stream, l.stream == nil
	if again {
		var err error
		if s, err = c.q.OpenStreamSync(c.q.Context()); err != nil {
			return false
		}
	}
	c.mu.Lock()
	unsent, cancelled := l.first, again && l.cancelled
	if !l.held {
		unsent = nil
	}
	l.stream, l.first = s, nil
	c.mu.Unlock()
	switch {
	case cancelled:
		s.CancelRead(quic.StreamErrorCode(protocol.H3RequestCancelled))
		s.CancelWrite(quic.StreamErrorCode(protocol.H3RequestCancelled))
	case unsent != nil:
		c.request(s, unsent)
	}
	c.readers.Go(func() { c.runLane(slot, s) })
	return true
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
