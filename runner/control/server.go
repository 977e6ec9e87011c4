package control

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Engine is what the endpoint steers. Its methods may be called from any goroutine, and return
// soon: connecting and sending happen elsewhere.
type Engine interface {
	Update(rv.Update) error
	Start(rv.Start) error
	Stop(rv.Stop) error
	Teardown(rv.Teardown) error
	Renew(rv.Lease)
	// Observe says whether this runner reads the observations of the plan.
	Observe(on bool)
	Snapshot() *rv.Snapshot
	// Totals is a Snapshot with DetailTotals. A final snapshot is complete.
	Totals() *rv.Snapshot
}

// Options of a Server. Engine and TLS are needed.
type Options struct {
	Engine Engine
	// Conflict is what errors of Engine wrap when a message contradicts an earlier one.
	Conflict error
	// TLS comes from LoadTLS or ServerTLS.
	TLS *tls.Config
	// Version is the build of the runner, for error messages.
	Version string
	// Logger gets refused connections, thinned out, and internal errors. Nil: nowhere.
	Logger *slog.Logger
}

// Server is a runner's control endpoint.
type Server struct {
	engine      Engine
	conflict    error
	version     string
	log         *slog.Logger
	final       final
	http        http.Server
	lastRequest atomic.Int64 // time of the last request, in nanoseconds since 1970; 0 before the first request
}

// The bounds of one connection. The operator sends a small message once a second, so each bound is far above what a
// working cluster needs.
const (
	headerTimeout = 5 * time.Second // also bounds the TLS handshake
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 8 << 10
)

// New makes a server; Serve starts it.
func New(o Options) *Server {
	s := &Server{engine: o.Engine, conflict: o.Conflict, version: o.Version, log: o.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.final.acked = make(chan struct{})
	s.http = http.Server{
		Handler:           s,
		TLSConfig:         o.TLS,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(&thinned{log: s.log}, "", 0),
	}
	// One client that asks once a second gains nothing from HTTP/2.
	s.http.Protocols = new(http.Protocols)
	s.http.Protocols.SetHTTP1(true)
	return s
}

// Serve answers on l until Shutdown, then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("control endpoint: %w", err)
	}
	return nil
}

// Shutdown lets requests under way end, within ctx, and then closes everything.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // the shutdown's error says it all
		return fmt.Errorf("control endpoint: %w", err)
	}
	return nil
}

// Acked is closed when the final snapshot has been acknowledged.
func (s *Server) Acked() <-chan struct{} { return s.final.acked }

// LastRequest returns the time of the last request. It is zero before the first request.
func (s *Server) LastRequest() time.Time {
	if at := s.lastRequest.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// thinned logs the 1st, 2nd, 4th, 8th, ... line of net/http, each with its number. So connections without a certificate
// appear in the log, but cannot fill it.
type thinned struct {
	log *slog.Logger
	n   atomic.Uint64
}

func (t *thinned) Write(p []byte) (int, error) {
	if n := t.n.Add(1); n&(n-1) == 0 {
		t.log.Warn("Control connection refused", "reason", string(p[:max(0, len(p)-1)]), "count", n)
	}
	return len(p), nil
}
