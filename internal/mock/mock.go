// Package mock is a server of HTTP/2, HTTP/1.1 and HTTP/3 for demonstrations and tests. It behaves like a service with
// resources, is faster than the client under test, and produces faults if its options ask for them.
//
// It supports HTTP/2 with prior knowledge and HTTP/1.1, over TCP without TLS. The first bytes of a connection show
// which one. HTTP/2 is fast; net/http serves HTTP/1.1, and quic-go HTTP/3 on an address of its own. A POST to any path
// creates a resource. The location field of the answer is the path of the POST with an id of the server as last
// segment. GET, HEAD, PUT, PATCH and DELETE of a path that ends with such an id answer 200 or 204 if the resource
// exists, and 404 after a DELETE. On any other path GET and HEAD answer 200, and PUT, PATCH and DELETE 404. The id
// alone identifies a resource; the segments before it do not matter.
//
// Options.Rules replaces this behaviour by the rules of a file; see package rules.
package mock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/h2surge/h2surge/internal/dueheap"
	"github.com/h2surge/h2surge/internal/mock/notifier"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Server is a target. New listens, Serve serves; the other methods may be called from any
// goroutine.
type Server struct {
	opts     Options
	listener net.Listener
	begin    time.Time
	h2       h2.Config
	want     protocol.Want // of the h2 sessions
	encoder  *encoder
	body     []byte
	// updateContent is true if the answers to PUT and PATCH have the body.
	updateContent bool
	delay         delay

	// mu guards the fields below. A loop locks it once a turn, which may handle hundreds of requests.
	mu        sync.Mutex
	now       int64 // nanoseconds since begin, read once a turn
	count     counters
	open      int // connections
	faults    faults
	queue     queue
	store     *store
	bodies    *bodySet // nil: not tracked
	exchanges exchanges
	// waiting has the delayed exchanges without rules: all have the same delay. late has them with rules, whose delays
	// differ.
	waiting ring.Ring[uint32]
	late    dueheap.Heap[uint32]
	engine  *rules.Engine // nil: the built-in behaviour
	// notifier sends the notifications of the rules. It is nil if they have none.
	notifier *notifier.Sender
	record   *recorder // nil: none
	calls    calls
	http1    *http1
	http3    *http3Server // nil: not served
	// turned is the number of requests at the end of the last turn.
	turned uint64
	// accepted is the number of connections ever accepted.
	accepted uint64
}

// lingerTime is how long a failed connection stays open, so that its client can read the reason. If the server closed
// the socket with unread input, the kernel would send a reset, and the client would lose the reason.
const lingerTime = time.Second

// defaultBody is the body of the answer to a GET if Options.BodySize is 0.
const defaultBody = `{"status":"ok"}`

// New checks the options and listens. Clients that connect are served once Serve is called.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		opts:          opts,
		begin:         time.Now(),
		body:          makeBody(opts.BodySize),
		updateContent: opts.BodySize > 0,
		delay:         newDelay(opts.Latency, opts.Stall),
		queue:         newQueue(opts.Capacity),
		faults:        newFaults(opts.Unanswered, opts.NotFound, opts.Seed),
		store:         newStore(),
		h2: h2.Config{
			MaxConcurrentStreams: opts.MaxConcurrentStreams,
			ResetsPerSecond:      opts.ResetsPerSecond,
			ResetBurst:           opts.ResetBurst,
		},
	}
	s.encoder = newEncoder(len(s.body))
	if err := s.useRules(); err != nil {
		return nil, err
	}
	if opts.TrackBodies {
		s.bodies = &bodySet{}
		s.want |= protocol.WantBody
	}
	if s.listener = opts.Listener; s.listener == nil {
		var err error
		if s.listener, err = net.Listen("tcp", opts.Listen); err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
	}
	if opts.ListenHTTP3 != "" {
		var err error
		if s.http3, err = s.listenHTTP3(opts.ListenHTTP3); err != nil {
			return nil, errors.Join(err, s.listener.Close())
		}
	}
	return s, nil
}

// makeBody returns a JSON document of size bytes: a number if size is too small for an object.
func makeBody(size int) []byte {
	const open, end = `{"padding":"`, `"}`
	switch {
	case size < 0:
		return nil
	case size == 0:
		return []byte(defaultBody)
	case size < len(open)+len(end):
		return bytes.Repeat([]byte{'1'}, size)
	}
	b := append([]byte(open), bytes.Repeat([]byte{'x'}, size-len(open)-len(end))...)
	return append(b, end...)
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// HTTP3Addr is the address at which the server serves HTTP/3; nil: it does not.
func (s *Server) HTTP3Addr() net.Addr {
	if s.http3 == nil {
		return nil
	}
	return s.http3.socket.LocalAddr()
}

// Serve serves until ctx ends. It then sends GOAWAY to the clients of HTTP/2, closes all connections and returns nil.
// It may be called once.
func (s *Server) Serve(ctx context.Context) error {
	defer func() { _ = s.listener.Close() }() // may be closed already
	if s.engine != nil {
		defer s.engine.Close()
	}
	stop := s.startNotifier(ctx)
	defer stop()
	return errors.Join(s.serve(ctx), s.record.close())
}

// startNotifier sends notifications until stop is called.
func (s *Server) startNotifier(ctx context.Context) (stop func()) {
	if s.notifier == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.notifier.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// Close stops listening. It is for a server whose Serve was never called.
func (s *Server) Close() error {
	if s.http3 != nil {
		_ = s.http3.socket.Close()
	}
	return s.listener.Close()
}

// Stats returns what was counted so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.count.snapshot(s.begin)
	st.OpenConnections = uint64(s.open)
	st.Resources = s.store.live
	if s.engine != nil {
		st.Resources = uint64(s.engine.Documents())
		st.RuleStats = s.count.rules.snapshot(s.opts.Rules.Names())
		if s.notifier != nil {
			st.Notifications = s.notifier.Counts()
		}
	}
	if b := s.bodies; b != nil {
		st.BodyStats = &BodyStats{DistinctBodies: b.distinct, RepeatedBodies: b.repeated, UntrackedBodies: b.untracked}
	}
	return st
}

// Reset sets the counts to zero. Resources and connections stay. The answer to an earlier request is not counted.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.reset()
	if s.notifier != nil {
		s.notifier.Reset()
	}
	s.turned = 0
	if s.bodies != nil {
		s.bodies = &bodySet{}
	}
}

// beginTurn takes the lock and reads the clock.
func (s *Server) beginTurn() {
	s.mu.Lock()
	s.now = int64(time.Since(s.begin))
}

// endTurn adds the turn's requests to the current second and unlocks.
func (s *Server) endTurn() {
	if n := s.count.requests - s.turned; n > 0 {
		s.count.seconds.add(s.now, n)
		s.turned = s.count.requests
	}
	s.record.flush()
	s.mu.Unlock()
}
