package mock

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	xhpack "golang.org/x/net/http2/hpack"

	"github.com/h2surge/h2surge/internal/mock/rules"
)

// http2Opening is what a connection must begin with to be HTTP/2: the request line of the preface (RFC 9113 section
// 3.4).
const http2Opening = "PRI * HTTP/2.0\r\n"

// opening is the protocol that the first bytes of a connection show.
type opening uint8

const (
	openingUnknown opening = iota // so far, the bytes could be of both
	openingHTTP2
	openingHTTP1
)

func parseOpening(p []byte) opening {
	n := min(len(p), len(http2Opening))
	switch {
	case string(p[:n]) != http2Opening[:n]:
		return openingHTTP1
	case n == len(http2Opening):
		return openingHTTP2
	}
	return openingUnknown
}

// begin takes bytes of a connection whose protocol is unknown. Once it is known, begin returns all bytes so far.
func (c *session) begin(p []byte) []byte {
	p = append(c.first, p...)
	c.first = nil
	if c.opening = parseOpening(p); c.opening == openingUnknown {
		c.first = p
	}
	return p
}

// http1 serves the connections that speak HTTP/1.1, with net/http. It passes each request to the session of the
// connection and waits for the answer. It is written for little code, not for speed. It is the listener from which
// net/http accepts the connections given to serve.
type http1 struct {
	wake   func() // called after an answer was delayed
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	open   sync.WaitGroup // connections
}

// http1Conn is a connection of http1. The Server's lock guards its counts.
type http1Conn struct {
	net.Conn
	session *session
	first   []byte // read before net/http reads from the socket
	// requests is the number of requests so far. It is also the stream of the last one, because one request of a
	// connection is served at a time.
	requests uint32
	begun    uint32 // requests so far, with those that net/http refused
	answers  chan http1Answer
	once     sync.Once
	done     func()
}

// http1Answer is the end of a request. Header and body are set if the fate is Answered.
type http1Answer struct {
	fate   rules.Fate
	header []byte // as in HTTP/2
	body   []byte
}

type http1Key struct{}

// startHTTP1 serves HTTP/3 and the connections given to Server.http1 until stop is called. No more may be given after
// that.
func (s *Server) startHTTP1(ctx context.Context, wake func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	h := &http1{wake: wake, conns: make(chan net.Conn), closed: make(chan struct{})}
	s.http1 = h
	web := &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            10 * time.Second,
		MaxHeaderBytes:               64 << 10, // as in HTTP/2
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(io.Discard, "", 0),
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			return context.WithValue(ctx, http1Key{}, nc)
		},
		ConnState: func(nc net.Conn, state http.ConnState) {
			if state == http.StateActive {
				nc.(*http1Conn).count(func(c *http1Conn) { c.begun++ })
			}
		},
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = web.Serve(h) }) // ends with Shutdown
	stopHTTP3 := func() {}
	if s.http3 != nil {
		stopHTTP3 = s.http3.start(h)
	}
	return func() {
		stopHTTP3()
		cancel()
		linger, done := context.WithTimeout(context.Background(), lingerTime)
		defer done()
		_ = web.Shutdown(linger) // Close ends the connections that are left
		serving.Wait()
		_ = web.Close()
		h.open.Wait()
	}
}

// serve takes over a connection with the bytes that were read from it. The caller holds the Server's lock.
func (h *http1) serve(c *session, nc net.Conn, first []byte) {
	h.open.Add(1)
	c.onOutput = func() {}
	c.table = staticState // each header is decoded on its own
	c.http1 = &http1Conn{Conn: nc, session: c, first: first, answers: make(chan http1Answer, 1), done: h.open.Done}
	h.conns <- c.http1 // net/http accepts without the lock
}

// Accept implements net.Listener.
func (h *http1) Accept() (net.Conn, error) {
	select {
	case nc := <-h.conns:
		return nc, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *http1) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr implements net.Listener.
func (h *http1) Addr() net.Addr { return &net.TCPAddr{} }

// ServeHTTP implements http.Handler.
func (h *http1) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(http1Key{}).(*http1Conn)
	switch a := h.ask(c, r); a.fate {
	case rules.Answered:
		a.write(w)
	case rules.Unanswered:
		silence(w, r)
	default:
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
}

// ask passes a request to the session, and waits for its end or for that of the connection.
func (h *http1) ask(c *http1Conn, r *http.Request) http1Answer {
	s := c.session.srv
	s.beginTurn()
	tok := c.request(r)
	s.endTurn()
	buf := make([]byte, 32<<10)
	for ended := false; !ended && len(c.answers) == 0; { // an answer before the end: the session refused the request
		n, err := r.Body.Read(buf)
		ended = err != nil
		s.beginTurn()
		c.receive(tok, buf[:n], err)
		held := s.held() > 0
		s.endTurn()
		if ended && held {
			h.wake()
		}
	}
	select {
	case a := <-c.answers:
		return a
	case <-r.Context().Done():
		s.beginTurn()
		defer s.endTurn()
		c.abort(tok)
		return <-c.answers
	}
}

// request begins a request of the session.
func (c *http1Conn) request(r *http.Request) (tok uint32) {
	target := r.RequestURI
	if r.URL.IsAbs() {
		target = r.URL.RequestURI() // of the absolute form (RFC 9112 section 3.2.2)
	}
	c.requests++
	tok = c.session.OnRequest(c.requests, []byte(r.Method), []byte(target))
	if len(c.answers) > 0 || !c.session.srv.keeps() {
		return tok
	}
	field := func(name, value string) { c.session.OnHeader(c.requests, tok, []byte(name), []byte(value)) }
	if r.TLS != nil {
		field(":scheme", "https")
	} else {
		field(":scheme", "http")
	}
	field(":authority", r.Host)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			field(strings.ToLower(name), value)
		}
	}
	return tok
}

// receive handles a piece of a request's content; err is io.EOF at its end.
func (c *http1Conn) receive(tok uint32, p []byte, err error) {
	if len(p) > 0 {
		c.session.OnData(c.requests, tok, p)
	}
	switch {
	case len(c.answers) > 0: // OnData refused the request
	case errors.Is(err, io.EOF):
		c.session.OnEnd(c.requests, tok)
	case err != nil:
		c.abort(tok)
	}
}

// abort ends a request whose connection or stream ends, unless it has ended.
func (c *http1Conn) abort(tok uint32) {
	if len(c.answers) == 0 {
		c.session.OnReset(c.requests, tok)
		c.answers <- http1Answer{fate: rules.Reset}
	}
}

// write writes an answer. Without a date and a content type of the answer, net/http must not add its own.
func (a http1Answer) write(w http.ResponseWriter) {
	header := w.Header()
	header["Date"], header["Content-Type"] = nil, nil
	status := 0
	fields := xhpack.NewDecoder(4096, func(f xhpack.HeaderField) {
		if f.Name == ":status" {
			status, _ = strconv.Atoi(f.Value)
			return
		}
		header.Add(f.Name, f.Value)
	})
	if _, err := fields.Write(a.header); err != nil || fields.Close() != nil || status == 0 {
		panic(http.ErrAbortHandler) // cannot happen: the header is the session's own
	}
	w.WriteHeader(status)
	_, _ = w.Write(a.body) // fails if the client has left, or if the status has no content
}

// silence keeps a connection open without an answer until the client closes it or the server ends. It discards further
// requests: their answers would have to wait.
func silence(w http.ResponseWriter, r *http.Request) {
	nc, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer nc.Close()
	stop := context.AfterFunc(r.Context(), func() { _ = nc.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, nc)
}

// count changes counts with the Server's lock.
func (c *http1Conn) count(change func(*http1Conn)) {
	c.session.srv.mu.Lock()
	defer c.session.srv.mu.Unlock()
	change(c)
}

// Read implements net.Conn.
func (c *http1Conn) Read(p []byte) (n int, err error) {
	if len(c.first) > 0 {
		n = copy(p, c.first)
		c.first = c.first[n:]
	} else {
		n, err = c.Conn.Read(p)
	}
	c.count(func(c *http1Conn) { c.session.srv.count.received += uint64(n) })
	return n, err
}

// Write implements net.Conn.
func (c *http1Conn) Write(p []byte) (n int, err error) {
	n, err = c.Conn.Write(p)
	c.count(func(c *http1Conn) { c.session.srv.count.sent += uint64(n) })
	return n, err
}

// CloseWrite lets net/http end a connection so that the client can read the reason.
func (c *http1Conn) CloseWrite() error {
	endWriting(c.Conn)
	return nil
}

// Close implements net.Conn. A request that net/http refused, because it is malformed or incomplete, is an error of the
// connection.
func (c *http1Conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.count(func(c *http1Conn) {
			if c.begun > c.requests {
				c.session.srv.count.connectionErrors++
			}
			c.session.close()
		})
		c.done()
	})
	return err
}
