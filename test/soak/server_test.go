//go:build soak

package soak

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// counts are what the servers have seen, as the report should have it.
type counts struct {
	sent, succeeded, failedChecks, timedOut, reset, lost atomic.Int64
	// connections that were accepted, and those on which GOAWAY was sent.
	connections, goAways atomic.Int64
}

// Every so many requests, at random, a server does something other than answering with 200.
const (
	unansweredEvery = 400
	failsEvery      = 300
	resetsEvery     = 500
	goAwayEvery     = 3000
	closesEvery     = 20_000
)

// server speaks HTTP/2 over cleartext TCP.
type server struct {
	t       *testing.T
	address string
	counts  *counts

	mu       sync.Mutex
	listener net.Listener
	conns    map[*conn]bool
	group    sync.WaitGroup
}

func newServer(t *testing.T, n *counts) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, address: l.Addr().String(), counts: n, conns: map[*conn]bool{}}
	s.serve(l)
	return s
}

func (s *server) serve(l net.Listener) {
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	s.group.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.counts.connections.Add(1)
			c := newConn(s, nc)
			s.mu.Lock()
			s.conns[c] = true
			s.mu.Unlock()
			s.group.Go(c.run)
		}
	})
}

// leave refuses connections from now on, and ends those there are with GOAWAY.
func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.listener.Close()
	for c := range s.conns {
		c.goAway()
	}
}

// comeBack listens again.
func (s *server) comeBack() {
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.serve(l)
}

// close waits until the client has closed all connections.
func (s *server) close() {
	_ = s.listener.Close()
	s.group.Wait()
}

// conn is a connection. Its reader answers; writes are under mu, for leave writes too.
type conn struct {
	net.Conn
	s  *server
	fr *http2.Framer

	mu      sync.Mutex
	block   bytes.Buffer
	enc     *hpack.Encoder
	last    uint32 // the highest stream
	leaving bool
	// half: the server sends no more, and what comes is lost.
	half bool
	// open are the streams without an answer.
	open map[uint32]bool
}

func newConn(s *server, nc net.Conn) *conn {
	c := &conn{Conn: nc, s: s, fr: http2.NewFramer(nc, nc), open: map[uint32]bool{}}
	c.enc = hpack.NewEncoder(&c.block)
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return c
}

func (c *conn) run() {
	defer func() {
		_ = c.Close()
		c.end()
		c.s.mu.Lock()
		delete(c.s.conns, c)
		c.s.mu.Unlock()
	}()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	c.locked(func() {
		_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 200})
		_ = c.fr.WriteSettingsAck()
	})
	for {
		f, err := c.fr.ReadFrame()
		if err != nil {
			if ne := net.Error(nil); !errors.Is(err, io.EOF) && !errors.As(err, &ne) {
				c.s.t.Errorf("the client sent %v", err)
			}
			return
		}
		c.locked(func() { c.frame(f) })
	}
}

func (c *conn) locked(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func (c *conn) frame(f http2.Frame) {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		c.request(f.StreamID)
	case *http2.RSTStreamFrame:
		delete(c.open, f.StreamID)
	case *http2.PingFrame:
		if !f.IsAck() && !c.half {
			_ = c.fr.WritePing(true, f.Data)
		}
	case *http2.GoAwayFrame:
		if f.ErrCode != http2.ErrCodeNo {
			c.s.t.Errorf("the client ends a connection with %v: %s", f.ErrCode, f.DebugData())
		}
	}
	if c.leaving && len(c.open) == 0 && !c.half {
		c.half = true
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	}
}

// request answers one, or does something else. What comes behind GOAWAY is given back to the client, which counts
// it once, where it is answered.
func (c *conn) request(id uint32) {
	n := c.s.counts
	switch {
	case c.leaving && id > c.last:
		return
	case c.half:
		n.sent.Add(1)
		n.lost.Add(1)
		return
	}
	n.sent.Add(1)
	c.last = id
	status := "200"
	switch {
	case rand.N(unansweredEvery) == 0:
		n.timedOut.Add(1)
		c.open[id] = true
		return
	case rand.N(resetsEvery) == 0:
		n.reset.Add(1)
		_ = c.fr.WriteRSTStream(id, http2.ErrCodeInternal)
		return
	case rand.N(failsEvery) == 0:
		n.failedChecks.Add(1)
		status = "503"
	case rand.N(closesEvery) == 0:
		c.closeHalf()
		return
	default:
		n.succeeded.Add(1)
	}
	c.block.Reset()
	_ = c.enc.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	_ = c.enc.WriteField(hpack.HeaderField{Name: "content-type", Value: "text/plain"})
	_ = c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndHeaders: true})
	_ = c.fr.WriteData(id, true, bytes.Repeat([]byte("x"), rand.N(2000)))
	if rand.N(goAwayEvery) == 0 {
		c.announce()
	}
}

// closeHalf ends the connection with requests in flight, of which this one will not be answered.
func (c *conn) closeHalf() {
	c.s.counts.lost.Add(1)
	c.half = true
	_ = c.Conn.(*net.TCPConn).CloseWrite()
}

// end is when the client has closed, too. Requests that it has not given up by then were lost with the connection.
func (c *conn) end() {
	c.s.counts.lost.Add(int64(len(c.open)))
	c.s.counts.timedOut.Add(-int64(len(c.open)))
}

// goAway announces the end.
func (c *conn) goAway() { c.locked(c.announce) }

func (c *conn) announce() {
	if c.leaving || c.half {
		return
	}
	c.leaving = true
	c.s.counts.goAways.Add(1)
	_ = c.fr.WriteGoAway(c.last, http2.ErrCodeNo, nil)
	if len(c.open) == 0 {
		c.half = true
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	}
}

// away takes the servers away in turn, each for some seconds, until done.
func away(servers []*server, done <-chan struct{}) {
	for i := 0; ; i++ {
		s := servers[i%len(servers)]
		select {
		case <-done:
			return
		case <-time.After(5 * time.Second):
		}
		s.leave()
		select {
		case <-done:
		case <-time.After(3 * time.Second):
		}
		s.comeBack()
	}
}
