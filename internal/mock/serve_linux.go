package mock

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/runner/poll"
)

// serve runs the loop on its own thread. The thread ends with the loop, because other goroutines must not run on a
// pinned thread.
func (s *Server) serve(ctx context.Context) error {
	if s.opts.Listener != nil {
		return s.serveGoroutines(ctx)
	}
	l, err := newLoop(s)
	if err != nil {
		return err
	}
	defer l.close()
	stop := context.AfterFunc(ctx, l.poller.Wake)
	defer stop()
	defer s.startHTTP1(ctx, l.poller.Wake)()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- l.run(ctx)
	}()
	return <-done
}

// loop serves all connections from one thread.
type loop struct {
	srv      *Server
	poller   *poll.Poller
	listener int // a descriptor, not the net package's
	conns    []*conn
	free     []int32 // unused numbers of conns
	dirty    []*conn // may have output
	// congested connections are not read until their client has read some output. The loop checks them every
	// congestedRetry.
	congested []*conn
	// closing connections have received a GOAWAY for a protocol error, and may still be sending. The loop closes each at
	// its deadline. They are in the order of their deadlines.
	closing []*conn
	// acceptPaused is true if the loop does not watch the listener, because the process has no free descriptors.
	acceptPaused bool
	buf          []byte
}

// conn is a connection of a loop.
type conn struct {
	*session
	fd       int
	number   int32
	dirty    bool
	writable bool // watched until the socket accepts output
	paused   bool // not watched: congested
	failed   bool // the loop discards all further input
	shut     bool // the write side is shut down
	gone     bool
	deadline int64 // if failed
}

const (
	// readSize bounds one read; 100 streams of small requests are some 10 KiB.
	readSize       = 256 << 10
	congestedRetry = 5 * time.Millisecond
	acceptRetry    = 100 * time.Millisecond

	// listenerData marks the listener's events; connections are counted from 0.
	listenerData = 1 << 30
)

func newLoop(s *Server) (*loop, error) {
	p, err := poll.New()
	if err != nil {
		return nil, err
	}
	fd, err := duplicate(s)
	if err != nil {
		p.Close()
		return nil, err
	}
	l := &loop{srv: s, poller: p, listener: fd, buf: make([]byte, readSize)}
	if err := p.Add(fd, listenerData, false); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// duplicate returns a descriptor of the listener that Go's poller does not use.
func duplicate(s *Server) (fd int, err error) {
	raw, err := s.listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("target: %w", err)
	}
	var dupErr error
	err = raw.Control(func(orig uintptr) {
		fd, dupErr = unix.FcntlInt(orig, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil {
		err = dupErr
	}
	if err != nil {
		return 0, fmt.Errorf("target: listener: %w", err)
	}
	return fd, nil
}

func (l *loop) run(ctx context.Context) error {
	if cpu := l.srv.opts.CPU; cpu != nil {
		if err := poll.Pin(*cpu); err != nil {
			return err
		}
	}
	events := make([]poll.Event, 256)
	wait := time.Duration(-1)
	for ctx.Err() == nil {
		n, _, err := l.poller.Wait(events, wait)
		if err != nil {
			return err
		}
		wait = l.turn(events[:n])
	}
	l.shutdown()
	return nil
}

// turn handles events and due answers, writes, and returns how long to wait for events.
func (l *loop) turn(events []poll.Event) (wait time.Duration) {
	s := l.srv
	s.beginTurn()
	defer s.endTurn()
	accept := false
	for _, ev := range events {
		if ev.Data == listenerData {
			accept = true
			continue
		}
		c := l.conns[ev.Data]
		if c == nil { // closed: a child of a fork holds the socket open until its exec
			continue
		}
		if ev.Writable {
			l.markDirty(c)
		}
		if ev.Readable {
			l.read(c)
		}
	}
	if accept || l.acceptPaused {
		l.accept()
	}
	wait = time.Duration(s.respondDue())
	l.flush()
	return l.runTimers(wait)
}

// runTimers handles closing and congested connections and a listener that is not watched. It returns the wait, which
// may be shorter.
func (l *loop) runTimers(wait time.Duration) time.Duration {
	shorten := func(to time.Duration) {
		if wait < 0 || to < wait {
			wait = to
		}
	}
	for len(l.closing) > 0 {
		c := l.closing[0]
		if left := c.deadline - l.srv.now; left > 0 && !c.gone {
			shorten(time.Duration(left))
			break
		}
		l.closing = l.closing[1:]
		l.drop(c)
	}
	if len(l.congested) > 0 {
		l.retryCongested()
		shorten(congestedRetry)
	}
	if l.acceptPaused {
		shorten(acceptRetry)
	}
	return wait
}

func (l *loop) accept() {
	for {
		fd, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			l.watch(fd)
		case unix.EINTR, unix.ECONNABORTED:
		case unix.EAGAIN:
			l.watchListener(true)
			return
		default:
			// Out of descriptors or memory: the listener would stay readable, and the loop would spin.
			l.watchListener(false)
			return
		}
	}
}

// watchListener starts or stops watching the listener.
func (l *loop) watchListener(on bool) {
	if on != l.acceptPaused {
		return
	}
	l.acceptPaused = !on
	if on {
		l.acceptPaused = l.poller.Add(l.listener, listenerData, false) != nil
	} else {
		_ = l.poller.Remove(l.listener)
	}
}

func (l *loop) watch(fd int) {
	// This fails on sockets that are not TCP. Those of the listener are.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	c := &conn{fd: fd, number: int32(len(l.conns))}
	if n := len(l.free); n > 0 {
		c.number, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.conns = append(l.conns, nil)
	}
	c.session = l.srv.newSession(func() { l.markDirty(c) })
	l.conns[c.number] = c
	if err := l.poller.Add(fd, c.number, false); err != nil {
		l.drop(c)
	}
}

// markDirty notes that c may have output.
func (l *loop) markDirty(c *conn) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

func (l *loop) read(c *conn) {
	if c.gone {
		return
	}
	n, errno := poll.Read(c.fd, l.buf)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return
	case errno != 0 || n == 0:
		l.drop(c)
		return
	case c.failed:
		return // discarded
	}
	in := l.buf[:n]
	if c.opening != openingHTTP2 {
		in = c.begin(in)
	}
	switch c.opening {
	case openingUnknown:
		return
	case openingHTTP1:
		l.handOver(c, in)
		return
	}
	if err := c.receive(in); err != nil {
		c.failed = true
		c.deadline = l.srv.now + int64(lingerTime)
		l.closing = append(l.closing, c)
	}
	l.markDirty(c)
}

// handOver gives a connection of HTTP/1.1, with the bytes that were read from it, to net/http.
func (l *loop) handOver(c *conn, first []byte) {
	_ = l.poller.Remove(c.fd)
	file := os.NewFile(uintptr(c.fd), "")
	nc, err := net.FileConn(file) // with a descriptor of its own
	_ = file.Close()
	l.forget(c)
	if err != nil { // no free descriptors
		c.close()
		return
	}
	l.srv.http1.serve(c.session, nc, first)
}

func (l *loop) flush() {
	for _, c := range l.dirty {
		c.dirty = false
		if !c.gone {
			l.write(c)
		}
	}
	l.dirty = l.dirty[:0]
}

func (l *loop) write(c *conn) {
	if c.cut {
		l.drop(c)
		return
	}
	for {
		p := c.h2.Pending()
		if len(p) == 0 {
			break
		}
		n, errno := poll.Send(c.fd, p)
		if errno == unix.EAGAIN || errno == unix.ENOBUFS {
			l.await(c, true)
			return
		}
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			l.drop(c)
			return
		}
		c.wrote(n)
	}
	l.await(c, false)
	if c.failed && !c.shut && !c.gone {
		c.shut = true
		_ = unix.Shutdown(c.fd, unix.SHUT_WR)
	}
}

// await sets the events for which the loop watches c. Output waits for the socket if writable is true.
func (l *loop) await(c *conn, writable bool) {
	if c.h2.Congested() && !c.paused {
		c.paused = true
		_ = l.poller.Remove(c.fd)
		l.congested = append(l.congested, c)
	}
	if c.paused || c.writable == writable {
		return
	}
	c.writable = writable
	if err := l.poller.Modify(c.fd, c.number, writable); err != nil {
		l.drop(c)
	}
}

func (l *loop) retryCongested() {
	kept := l.congested[:0]
	for _, c := range l.congested {
		if !c.gone {
			l.write(c)
		}
		if c.gone {
			continue
		}
		if c.h2.Congested() {
			kept = append(kept, c)
			continue
		}
		c.paused = false
		c.writable = len(c.h2.Pending()) > 0
		if err := l.poller.Add(c.fd, c.number, c.writable); err != nil {
			l.drop(c)
		}
	}
	clear(l.congested[len(kept):])
	l.congested = kept
}

// drop closes c. Later calls have no effect.
func (l *loop) drop(c *conn) {
	if c.gone {
		return
	}
	_ = unix.Close(c.fd)
	l.forget(c)
	c.close()
}

// forget ends what the loop does for c.
func (l *loop) forget(c *conn) {
	c.gone = true
	l.conns[c.number] = nil
	l.free = append(l.free, c.number)
}

// shutdown sends GOAWAY to every client of HTTP/2 whose socket accepts it without waiting, and closes the connections.
func (l *loop) shutdown() {
	l.srv.beginTurn()
	defer l.srv.endTurn()
	for _, c := range l.conns {
		if c == nil {
			continue
		}
		if c.opening == openingUnknown {
			l.drop(c)
			continue
		}
		c.h2.Shutdown()
		if !c.failed {
			l.write(c)
		}
		if !c.gone {
			_ = unix.Shutdown(c.fd, unix.SHUT_WR)
			l.drop(c)
		}
	}
}

func (l *loop) close() {
	_ = unix.Close(l.listener)
	l.poller.Close()
}
