package network

import (
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"
)

// conn is one end of a connection.
type conn struct {
	net    *Network
	host   *Host
	peer   *conn
	closed bool
	in     *stream // the peer's out
	sent   int64   // when the peer sent what Read returned last
	out    *stream
	// resetAt is when a RST arrives, and deadAt when this end gives up, because the connection is cut.
	resetAt, deadAt  int64
	reading, writing waiter
	local, remote    *net.TCPAddr
}

// stream is a direction of a connection.
type stream struct {
	way   way
	rand  *rand.Rand
	queue []segment // that are not read
	size  int       // of the queue, in octets
	last  int64     // when the last segment arrives: none overtakes another
	cutAt int64     // since when segments are lost; never: they arrive
	ended bool      // the queue has the end
}

// segment is a piece of a stream, or its end, which is empty.
type segment struct {
	sent int64
	at   int64 // when it arrives
	data []byte
}

// waiter is the goroutine that waits for an end of a stream. It looks again when the timer ends or now has a token: who
// changes the stream sets them.
type waiter struct {
	timer    *time.Timer
	now      chan struct{}
	waits    bool
	deadline int64
}

// pair returns the two ends of a connection.
func pair(client, server *Host, from, to netip.AddrPort) (a, b *conn) {
	direction := func(from, to netip.AddrPort) *stream {
		return &stream{way: way{from.Addr(), to.Addr()}, rand: client.net.source(from, to), cutAt: never}
	}
	there, back := direction(from, to), direction(to, from)
	end := func(h *Host, in, out *stream, local, remote netip.AddrPort) *conn {
		return &conn{net: h.net, host: h, in: in, out: out, resetAt: never, deadAt: never,
			reading: waiter{deadline: never}, writing: waiter{deadline: never},
			local: net.TCPAddrFromAddrPort(local), remote: net.TCPAddrFromAddrPort(remote)}
	}
	a, b = end(client, back, there, from, to), end(server, there, back, to, from)
	a.peer, b.peer = b, a
	client.net.conns = append(client.net.conns, a, b)
	return a, b
}

// send sends data, or the end.
func (c *conn) send(now int64, data []byte) {
	c.out.queue = append(c.out.queue, segment{sent: now, at: c.arrival(max(now, c.host.thaw)), data: data})
	c.out.size += len(data)
	c.refuse()
	c.peer.arm(now)
}

// arrival returns when a segment arrives that is sent now, unless it is lost.
func (c *conn) arrival(now int64) int64 {
	c.out.last = max(c.out.last, now+c.net.delay(c.out.rand))
	return c.out.last
}

// refuse takes the RST that answers data for an end that is gone.
func (c *conn) refuse() {
	for _, s := range c.out.queue {
		if len(s.data) > 0 && !c.out.loses(s) && c.peer.fails(s.at) != nil {
			c.reset(max(s.at, c.peer.host.thaw) + c.net.delay(c.in.rand))
			return
		}
	}
}

func (c *conn) reset(at int64) {
	c.resetAt = min(c.resetAt, at)
	c.arm(c.net.now())
}

// release sends again what a cut has lost.
func (c *conn) release(now int64) {
	again := sentAgain(c.out.cutAt, now)
	for i := range c.out.queue {
		if s := &c.out.queue[i]; c.out.loses(*s) {
			s.at = c.arrival(again)
		}
	}
	c.out.cutAt = never
	c.refuse()
}

// loses returns whether a cut loses a segment: it does not arrive before the cut.
func (s *stream) loses(g segment) bool { return g.at >= s.cutAt }

// has returns whether a segment can be read.
func (s *stream) has(g segment, now int64) bool { return g.at <= now && !s.loses(g) }

// fails returns the error of an end that cannot be used any more.
func (c *conn) fails(now int64) error {
	switch {
	case c.closed:
		return net.ErrClosed
	case now >= c.resetAt:
		return syscall.ECONNRESET
	case now >= c.deadAt:
		return syscall.ETIMEDOUT
	}
	return nil
}

// arm sets when the goroutines at this end look again.
func (c *conn) arm(now int64) {
	either, from := min(c.resetAt, c.deadAt), c.host.thaw
	if c.closed {
		either, from = now, now
	}
	read, write := either, either
	if len(c.in.queue) > 0 && !c.in.loses(c.in.queue[0]) {
		read = min(read, c.in.queue[0].at)
	}
	if c.out.size < c.net.opts.Window {
		write = now
	}
	c.reading.arm(now, read, from)
	c.writing.arm(now, write, from)
}

// arm lets a goroutine look again at an instant, or at its deadline, and not before from.
func (w *waiter) arm(now, at, from int64) {
	switch at = max(min(at, w.deadline), from); {
	case !w.waits:
	case at == never:
		w.timer.Stop()
	case at > now:
		w.timer.Reset(time.Duration(at - now))
	case len(w.now) == 0:
		w.now <- struct{}{}
	}
}

// wait waits without the lock. The error is that of the deadline.
func (c *conn) wait(w *waiter, now int64) error {
	if now >= w.deadline && now >= c.host.thaw {
		return os.ErrDeadlineExceeded
	}
	if w.timer == nil {
		w.timer, w.now = time.NewTimer(0), make(chan struct{}, 1)
	}
	w.waits = true
	c.arm(now)
	c.net.mu.Unlock()
	select {
	case <-w.timer.C:
	case <-w.now:
	}
	c.net.mu.Lock()
	w.waits = false
	return nil
}

// Sent returns when the peer sent what Read returned last.
func (c *conn) Sent() time.Time {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	return c.net.begin.Add(time.Duration(c.sent))
}

// Read implements net.Conn. It returns octets of one segment.
func (c *conn) Read(b []byte) (n int, err error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for err == nil {
		now := c.net.now()
		frozen, end := now < c.host.thaw && !c.closed, false
		if now < c.reading.deadline && !c.closed && !frozen {
			n, end = c.take(b, min(now, c.resetAt))
		}
		if n > 0 || len(b) == 0 {
			c.peer.arm(now) // it may wait for space
			return n, nil
		}
		if end {
			return 0, io.EOF
		}
		if !frozen {
			err = c.fails(now)
		}
		if err == nil {
			err = c.wait(&c.reading, now)
		}
	}
	return 0, c.wrap("read", err)
}

// take moves octets of a segment that has arrived until now to b. end: there are no others.
func (c *conn) take(b []byte, now int64) (n int, end bool) {
	s := c.in
	if len(b) == 0 || len(s.queue) == 0 || !s.has(s.queue[0], now) {
		return 0, false
	}
	head := &s.queue[0]
	if len(head.data) == 0 {
		return 0, true
	}
	n, c.sent = copy(b, head.data), head.sent
	head.data, s.size = head.data[n:], s.size-n
	if len(head.data) == 0 {
		s.queue = slices.Delete(s.queue, 0, 1)
	}
	return n, false
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (n int, err error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for n < len(b) && err == nil {
		now := c.net.now()
		space := c.net.opts.Window - c.out.size
		switch err = c.fails(now); {
		case err != nil:
		case c.out.ended:
			err = syscall.EPIPE
		case space <= 0 || now >= c.writing.deadline:
			err = c.wait(&c.writing, now)
		default:
			data := slices.Clone(b[n:min(len(b), n+space)])
			n += len(data)
			c.send(now, data)
		}
	}
	if err != nil {
		return n, c.wrap("write", err)
	}
	return n, nil
}

// CloseWrite ends the output.
func (c *conn) CloseWrite() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.finish()
	return nil
}

func (c *conn) finish() {
	if !c.out.ended {
		c.out.ended = true
		c.send(c.net.now(), nil)
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.close()
	return nil
}

// close sends the end, or RST if there is input that was not read. Input that arrives later is answered with RST.
func (c *conn) close() {
	if c.closed {
		return
	}
	c.closed = true
	now := c.net.now()
	switch {
	case c.net.hosts[c.host.address] != c.host: // it has vanished
	case c.in.size == 0 || !c.in.has(c.in.queue[0], now):
		c.finish()
	case c.out.cutAt == never:
		c.peer.reset(c.arrival(max(now, c.host.thaw)))
	}
	c.in.size, c.in.queue = 0, slices.DeleteFunc(c.in.queue, func(s segment) bool { return c.in.has(s, now) })
	c.peer.refuse()
	c.arm(now)
	if c.peer.closed {
		c.net.conns = slices.DeleteFunc(c.net.conns, func(o *conn) bool { return o == c || o == c.peer })
	}
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.setDeadline(t, &c.reading, &c.writing) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadline(t, &c.reading) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(t, &c.writing) }

func (c *conn) setDeadline(t time.Time, of ...*waiter) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for _, w := range of {
		if w.deadline = never; !t.IsZero() {
			w.deadline = int64(t.Sub(c.net.begin))
		}
	}
	c.arm(c.net.now())
	return nil
}

// wrap makes the error of package net.
func (c *conn) wrap(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}
