// Package target is the peer that h2surge ships: an HTTP/2 server for demonstrations and tests
// that behaves like a service with resources, is fast enough that the client is what one
// measures, and goes wrong on demand.
//
// It speaks HTTP/2 with prior knowledge over TCP and nothing else. A POST to any path creates a
// resource, whose path is in the answer's location: below the POST's path, with an id that only
// this server makes as last segment. On a path that ends with such an id, GET, HEAD, PUT, PATCH
// and DELETE go by whether that resource exists: 200 or 204, and 404 after a DELETE. On any
// other path GET and HEAD answer 200, and PUT, PATCH and DELETE 404. It is the id that names
// a resource; the segments before it do not matter.
//
// With Options.Rules all that gives way to what a file says; package rules has the details.
package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/h2surge/h2surge/internal/target/rules"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Server is a target. New listens, Serve serves; the other methods may be called from any
// goroutine.
type Server struct {
	opts     Options
	listener *net.TCPListener
	begin    time.Time
	h2       h2.Config
	want     protocol.Want // of the h2 sessions
	encoder  *encoder
	body     []byte
	// updateContent makes PUT and PATCH answer with the body.
	updateContent bool
	delay         delay

	// mu guards all below. A loop takes it once a turn, which may handle hundreds of requests.
	mu        sync.Mutex
	now       int64 // nanoseconds since begin, read once a turn
	count     counters
	open      int // connections
	faults    faults
	store     *store
	bodies    *bodySet // nil: not tracked
	exchanges exchanges
	// waiting has the exchanges that are held back for equally long, late those that a rule
	// delays. Without rules late is empty, with rules waiting is.
	waiting tokenQueue
	late    tokenHeap
	engine  *rules.Engine // nil: the built-in behaviour
	record  *recorder     // nil: none
	calls   calls
	// turned is the number of requests at the end of the last turn.
	turned uint64
	// accepted is the number of connections ever accepted.
	accepted uint64
}

// lingerTime is how long a failed connection is kept open for its client to read why: closing
// with unread input would make the kernel send a reset, and the client lose it.
const lingerTime = time.Second

// defaultBody is what a GET is answered with unless a size is asked for.
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
	l, err := net.Listen("tcp", opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	s.listener = l.(*net.TCPListener)
	return s, nil
}

// makeBody returns a JSON document of that many bytes where they suffice for one.
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

// Serve serves until ctx ends, tells clients by GOAWAY, and returns nil then. It may be called
// once.
func (s *Server) Serve(ctx context.Context) error {
	defer func() { _ = s.listener.Close() }() // may be closed already
	if s.engine != nil {
		defer s.engine.Close()
	}
	return errors.Join(s.serve(ctx), s.record.close())
}

// Close stops listening. It is for a server whose Serve was never called.
func (s *Server) Close() error { return s.listener.Close() }

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
	}
	if b := s.bodies; b != nil {
		st.BodyStats = &BodyStats{DistinctBodies: b.distinct, RepeatedBodies: b.repeated, UntrackedBodies: b.untracked}
	}
	return st
}

// Reset sets the counts to zero. Resources and connections stay. A request that came before is
// not counted when it is answered.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.reset()
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

// endTurn books the turn's requests to the present second and gives the lock back.
func (s *Server) endTurn() {
	if n := s.count.requests - s.turned; n > 0 {
		s.count.seconds.add(s.now, n)
		s.turned = s.count.requests
	}
	s.record.flush()
	s.mu.Unlock()
}
