package netio

import (
	"slices"
	"sync"
	"time"

	"github.com/h2surge/h2surge/runner/dial"
)

// streamsNet is a Net that also has connections of QUIC, whose goroutines wake the worker.
type streamsNet struct {
	Net
	// conns are those of QUIC, by their number minus firstStreams; nil: the number is free.
	conns []*streamsConn
	// why is the error of the last Closed of a connection of QUIC, and nil after another one.
	why error
	// closing are the connections of QUIC that are about to end.
	closing sync.WaitGroup

	mu sync.Mutex // guards the fields below, and those of connections
	// listed may be ready. A connection stays listed as long as it is, as poll.Poller reports it again and again.
	listed []*streamsConn
	// waits: Wait has found nothing ready, so that a change must wake it.
	waits bool
}

type streamsConn struct {
	dial.Streams
	data           int32
	isListed       bool
	closed         bool
	awaitsWritable bool
}

// firstStreams is the number of the first connection of QUIC, above all descriptors.
const firstStreams = 1 << 30

// WithStreams returns a Net that has also the connections of QUIC, and what waits for the end of those that are closed.
func WithStreams(n Net) (with Net, wait func()) {
	s := &streamsNet{Net: n}
	return s, s.closing.Wait
}

// at returns a connection of QUIC; nil: the number is that of a socket.
func (n *streamsNet) at(fd int) *streamsConn {
	if fd < firstStreams {
		return nil
	}
	return n.conns[fd-firstStreams]
}

func (n *streamsNet) Adopt(c *dial.Connection, data int32) (int, error) {
	if c.Streams == nil {
		return n.Net.Adopt(c, data)
	}
	s := &streamsConn{Streams: c.Streams, data: data}
	i := 0
	for i < len(n.conns) && n.conns[i] != nil {
		i++
	}
	if i == len(n.conns) {
		n.conns = append(n.conns, nil)
	}
	n.conns[i] = s
	s.Notify(func() { n.list(s) })
	return firstStreams + i, nil
}

// list notes that a connection may be ready.
func (n *streamsNet) list(s *streamsConn) {
	n.mu.Lock()
	wake := n.waits && !s.closed
	n.waits = n.waits && !wake
	if !s.isListed && !s.closed {
		s.isListed = true
		n.listed = append(n.listed, s)
	}
	n.mu.Unlock()
	if wake {
		n.Wake()
	}
}

func (n *streamsNet) Wait(out []Event, timeout time.Duration) (int, bool, error) {
	got := n.ready(out[:len(out)/2], timeout != 0)
	if got > 0 {
		timeout = 0
	}
	k, woken, err := n.Net.Wait(out[got:], timeout)
	if got == 0 {
		got = n.ready(out[k:], false)
	}
	return got + k, woken, err
}

// ready puts the connections into out that are ready, and drops the others from the list. If there is none, waits is as
// given.
func (n *streamsNet) ready(out []Event, waits bool) (got int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := n.listed[:0]
	for _, s := range n.listed {
		readable, writable := s.Ready()
		ev := Event{Data: s.data, Readable: readable, Writable: writable && s.awaitsWritable}
		switch {
		case s.closed || !ev.Readable && !ev.Writable:
			s.isListed = false
			continue
		case got < len(out):
			out[got] = ev
			got++
		}
		kept = append(kept, s)
	}
	clear(n.listed[len(kept):])
	if len(kept) > 1 && got == len(out) { // the next call begins with those that did not fit
		rotate(kept, got)
	}
	n.listed = kept
	n.waits = waits && got == 0
	return got
}

// rotate moves the first k elements to the end.
func rotate(all []*streamsConn, k int) {
	slices.Reverse(all[:k])
	slices.Reverse(all[k:])
	slices.Reverse(all)
}

func (n *streamsNet) Interest(fd int, data int32, writable bool) error {
	s := n.at(fd)
	if s == nil {
		return n.Net.Interest(fd, data, writable)
	}
	n.mu.Lock()
	s.awaitsWritable = writable
	n.mu.Unlock()
	n.list(s)
	return nil
}

func (n *streamsNet) Read(fd int, b []byte) (int, Status) {
	s := n.at(fd)
	if s == nil {
		n.why = nil
		return n.Net.Read(fd, b)
	}
	k, err := s.Streams.Read(b)
	return k, n.status(k, err)
}

func (n *streamsNet) Send(fd int, b []byte) (int, Status) {
	s := n.at(fd)
	if s == nil {
		n.why = nil
		return n.Net.Send(fd, b)
	}
	k, err := s.Streams.Send(b)
	return k, n.status(k, err)
}

func (n *streamsNet) status(k int, err error) Status {
	switch {
	case err != nil:
		n.why = err
		return Closed
	case k == 0:
		return Again
	}
	return OK
}

func (n *streamsNet) Why() error {
	if n.why != nil {
		return n.why
	}
	return n.Net.Why()
}

func (n *streamsNet) Close(fd int) {
	s := n.at(fd)
	if s == nil {
		n.Net.Close(fd)
		return
	}
	n.mu.Lock()
	s.closed = true
	n.mu.Unlock()
	n.conns[fd-firstStreams] = nil
	n.closing.Go(s.Streams.Close) // the worker does not wait for the goroutine of the connection
}
