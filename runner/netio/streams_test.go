package netio

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
)

// pipe is a connection of streams in memory.
type pipe struct {
	mu     sync.Mutex
	notify func()
	in     string
	full   bool
	closed bool
	// ends: Close waits for it.
	ends chan struct{}
	err  error
	sent string
}

func (p *pipe) change(f func()) {
	p.mu.Lock()
	f()
	notify := p.notify
	p.mu.Unlock()
	if notify != nil {
		notify()
	}
}

func (p *pipe) Notify(f func()) { p.change(func() { p.notify = f }) }

func (p *pipe) Ready() (readable, writable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in != "" || p.err != nil, !p.full
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := copy(b, p.in)
	p.in = p.in[n:]
	if n > 0 {
		return n, nil
	}
	return 0, p.err
}

func (p *pipe) Send(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full {
		return 0, nil
	}
	p.sent += string(b)
	return len(b), nil
}

func (*pipe) Octets() (sent, received int64) { return 100, 200 }

func (p *pipe) Close() {
	<-p.ends
	p.change(func() { p.closed = true })
}

func adoptPipe(t *testing.T, n Net, data int32) (*pipe, Socket) {
	t.Helper()
	p := &pipe{ends: make(chan struct{})}
	s, err := Open(n, &dial.Connection{FD: -1, Streams: p}, data)
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

// awaitEvents waits for events for an hour at most, and returns their data.
func awaitEvents(t *testing.T, n Net) (all []Event) {
	t.Helper()
	out := make([]Event, 8)
	for {
		k, _, err := n.Wait(out, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if k > 0 {
			return out[:k]
		}
	}
}

// TestStreams: events of connections of QUIC, with and without those of sockets. A worker does not wait for their end.
func TestStreams(t *testing.T) {
	plain := NewPlain(rv.Clock)
	n, wait := WithStreams(plain)
	p, s := adoptPipe(t, n, 7)
	if !s.IsSecure() {
		t.Error("not secure")
	}
	if sent, received := s.Octets(1, 2); sent != 100 || received != 200 {
		t.Errorf("octets %d, %d", sent, received)
	}
	go p.change(func() { p.in = "hello" })
	for range 2 { // as long as not all is read
		ev := awaitEvents(t, n)
		if len(ev) != 1 || ev[0] != (Event{Data: 7, Readable: true}) {
			t.Fatalf("events %v", ev)
		}
		b := make([]byte, 3)
		if k, st := s.Read(b); st != OK || k == 0 {
			t.Fatalf("%d octets, status %d", k, st)
		}
	}
	if k, st := s.Read(make([]byte, 9)); k != 0 || st != Again {
		t.Errorf("%d octets, status %d", k, st)
	}
	if k, _, err := n.Wait(make([]Event, 8), 0); k != 0 || err != nil {
		t.Errorf("%d events, %v", k, err)
	}

	p.change(func() { p.full = true })
	out := &output{text: "abc"}
	if sent, st, err := s.Write(out); sent != 0 || st != Again || err != nil || !s.AwaitsWritable() {
		t.Errorf("%d sent, status %d, %v", sent, st, err)
	}
	go p.change(func() { p.full = false })
	if ev := awaitEvents(t, n); len(ev) != 1 || ev[0] != (Event{Data: 7, Writable: true}) {
		t.Fatalf("events %v", ev)
	}
	if sent, st, _ := s.Write(out); sent != 3 || st != OK || p.sent != "abc" {
		t.Errorf("%d sent, status %d", sent, st)
	}

	go p.change(func() { p.err = io.ErrClosedPipe })
	awaitEvents(t, n)
	if _, st := s.Read(make([]byte, 1)); st != Closed || !errors.Is(n.Why(), io.ErrClosedPipe) {
		t.Errorf("status %d, %v", st, n.Why())
	}
	s.Close()
	p.change(func() { p.in = "late" })
	if k, _, _ := n.Wait(make([]Event, 8), 0); k != 0 {
		t.Errorf("%d events after Close", k)
	}
	close(p.ends)
	if wait(); !p.closed {
		t.Error("the connection has not ended")
	}
	if _, other := adoptPipe(t, n, 8); other.fd != firstStreams {
		t.Errorf("number %d", other.fd-firstStreams)
	}
}

// TestStreamsStarveNone: with more ready connections than events, each gets its turn.
func TestStreamsStarveNone(t *testing.T) {
	n, _ := WithStreams(NewPlain(rv.Clock))
	for i := range int32(20) {
		p, _ := adoptPipe(t, n, i)
		p.change(func() { p.in = "x" })
	}
	seen := map[int32]bool{}
	for range 10 {
		for _, ev := range awaitEvents(t, n) {
			seen[ev.Data] = true
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d of 20 connections had an event", len(seen))
	}
}

// output is what a session has to send.
type output struct{ text string }

func (o *output) Pending() []byte { return []byte(o.text) }
func (o *output) Wrote(n int)     { o.text = o.text[n:] }
