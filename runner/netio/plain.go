package netio

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/h2surge/h2surge/runner/dial"
)

// plainNet is Net on any system: for each connection, two goroutines copy octets between a net.Conn and buffers, and a
// channel wakes the worker. It is for first steps on systems without epoll and is not fast.
type plainNet struct {
	now   func() int64
	timer *time.Timer // of Wait
	mu    sync.Mutex  // guards the fields below and those of the connections
	conns []*plainConn
	// next is where Wait begins to look, so that no connection starves another.
	next  int
	woken bool
	// why is the error of the last read or write that found a connection closed.
	why error
	// changed has a token when Wait must look again.
	changed chan struct{}
}

type plainConn struct {
	net  net.Conn
	data int32
	in   []byte
	out  []byte
	// drained is signalled when in or out has become smaller, or the connection has closed.
	drained *sync.Cond
	read    Status // what Read returns when in is empty
	write   Status
	why     error // behind Closed of either
	closed  bool
	// awaitsWritable: the worker has found out full.
	awaitsWritable bool
}

// plainBuffer bounds each of a connection's two buffers.
const plainBuffer = 64 << 10

// NewPlain returns a Net of goroutines, which has a clock.
func NewPlain(now func() int64) Net { return &plainNet{now: now, changed: make(chan struct{}, 1)} }

func (n *plainNet) Now() int64 { return n.now() }

func (*plainNet) Nap(time.Duration) {}

func (n *plainNet) Wake() {
	n.mu.Lock()
	n.woken = true
	n.mu.Unlock()
	n.notify()
}

func (n *plainNet) notify() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// Connect leaves connecting to the dialer.
func (*plainNet) Connect(string, bool) (*dial.Connection, bool, error) { return nil, false, nil }

func (n *plainNet) Adopt(c *dial.Connection, data int32) (int, error) {
	if c.Conn == nil {
		return -1, errors.New("the connection has no net.Conn")
	}
	p := &plainConn{net: c.Conn, data: data, read: Again, write: OK}
	p.drained = sync.NewCond(&n.mu)
	n.mu.Lock()
	fd := slices.Index(n.conns, nil)
	if fd < 0 {
		fd = len(n.conns)
		n.conns = append(n.conns, nil)
	}
	n.conns[fd] = p
	n.mu.Unlock()
	go n.reader(p)
	go n.writer(p)
	return fd, nil
}

// reader copies from the socket to the buffer.
func (n *plainNet) reader(p *plainConn) {
	b := make([]byte, plainBuffer)
	for {
		k, err := p.net.Read(b)
		n.mu.Lock()
		for len(p.in) > 0 && !p.closed {
			p.drained.Wait()
		}
		p.in = append(p.in, b[:k]...)
		if err != nil {
			p.read = Closed
			if errors.Is(err, io.EOF) {
				p.read = Ended
			} else {
				p.why = err
			}
		}
		done := err != nil || p.closed
		n.mu.Unlock()
		n.notify()
		if done {
			return
		}
	}
}

// writer copies from the buffer to the socket, and closes the socket at the end.
func (n *plainNet) writer(p *plainConn) {
	defer p.net.Close() //nolint:errcheck // the connection has ended
	for {
		n.mu.Lock()
		for len(p.out) == 0 && !p.closed {
			p.drained.Wait()
		}
		b := p.out
		p.out = nil
		end := p.closed && len(b) == 0
		n.mu.Unlock()
		if end {
			return
		}
		if _, err := p.net.Write(b); err != nil {
			n.mu.Lock()
			p.write, p.why = Closed, err
			n.mu.Unlock()
			return
		}
		n.notify()
	}
}

func (n *plainNet) Wait(out []Event, timeout time.Duration) (int, bool, error) {
	var due <-chan time.Time
	for {
		got, woken := n.ready(out)
		if got > 0 || woken || timeout == 0 {
			return got, woken, nil
		}
		if timeout > 0 && due == nil {
			due = n.after(timeout)
		}
		select {
		case <-n.changed:
		case <-due:
			return 0, false, nil
		}
	}
}

// after is time.After with the timer of the call before.
func (n *plainNet) after(d time.Duration) <-chan time.Time {
	if n.timer == nil {
		n.timer = time.NewTimer(d)
	} else {
		n.timer.Reset(d)
	}
	return n.timer.C
}

// ready lists what is ready now.
func (n *plainNet) ready(out []Event) (int, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	woken, got := n.woken, 0
	n.woken = false
	for i := range n.conns {
		if got == len(out) {
			break
		}
		p := n.conns[(n.next+i)%len(n.conns)]
		if p == nil || p.closed {
			continue
		}
		ev := Event{Data: p.data, Readable: len(p.in) > 0 || p.read != Again, Writable: p.awaitsWritable &&
			len(p.out) < plainBuffer}
		if ev.Readable || ev.Writable {
			out[got] = ev
			got++
		}
	}
	n.next++
	return got, woken
}

func (n *plainNet) Interest(fd int, _ int32, writable bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[fd].awaitsWritable = writable
	return nil
}

func (n *plainNet) Read(fd int, b []byte) (int, Status) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.conns[fd]
	if len(p.in) == 0 {
		n.why = p.why
		return 0, p.read
	}
	k := copy(b, p.in)
	p.in = p.in[k:]
	p.drained.Broadcast()
	return k, OK
}

func (n *plainNet) Send(fd int, b []byte) (int, Status) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.conns[fd]
	if p.write != OK {
		n.why = p.why
		return 0, p.write
	}
	k := min(len(b), plainBuffer-len(p.out))
	if k <= 0 {
		return 0, Again
	}
	p.out = append(p.out, b[:k]...)
	p.drained.Broadcast()
	return k, OK
}

func (n *plainNet) Why() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.why
}

func (n *plainNet) Close(fd int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.conns[fd]
	p.closed = true
	p.drained.Broadcast()
	// The writer closes the socket when it has sent all; after a second, it gives up.
	_ = p.net.SetDeadline(time.Now().Add(time.Second))
	n.conns[fd] = nil
}
