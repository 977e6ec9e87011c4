package leadership

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// Times of connections to the API server.
const (
	dialTimeout   = 5 * time.Second
	probeInterval = time.Second
	probeTimeout  = 3 * time.Second
)

// Connections are those of the operator's clients to the API server, except those of the Lease.
//
// An informer that gets an error waits before it tries again: up to a minute after several errors. So a request that
// gets no answer does not return its error before the API server answers again, or its context ends. A probe finds that
// out. Informers then wait for the first time, which takes about a second.
type Connections struct {
	dialer *connrotation.Dialer
	log    logr.Logger

	mu sync.Mutex
	// answers is closed when the API server answers again; nil: the last request got an answer. Guarded by mu.
	answers chan struct{}
	// waiting is the number of requests that wait for answers. Guarded by mu.
	waiting int
}

// NewConnections returns Connections without a client.
func NewConnections(log logr.Logger) *Connections {
	return &Connections{dialer: connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout,
		KeepAlive: 15 * time.Second}).DialContext), log: log}
}

// Configure returns a copy of config whose clients use the Connections.
func (c *Connections) Configure(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.Dial = c.dialer.DialContext
	out.Wrap(func(base http.RoundTripper) http.RoundTripper { return &transport{base, c} })
	return out
}

// Close closes all connections. Their clients open new ones. Call it when the API server does not answer: after an
// outage of the network, a connection can need minutes until it works again.
func (c *Connections) Close() { c.dialer.CloseAll() }

type transport struct {
	base http.RoundTripper
	of   *Connections
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err == nil {
		t.of.answered()
		return resp, nil
	}
	if req.Context().Err() == nil {
		t.of.wait(req.Context(), t.base, req.URL, err)
	}
	return nil, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.base }

// answered lets all requests continue that wait.
func (c *Connections) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers != nil {
		close(c.answers)
		c.answers = nil
	}
}

// wait returns when the API server answers, or ctx ends.
func (c *Connections) wait(ctx context.Context, base http.RoundTripper, server *url.URL, err error) {
	c.mu.Lock()
	if c.answers == nil {
		c.answers = make(chan struct{})
		c.log.V(1).Info("A request to the API server got no answer", "error", err.Error())
		go c.probe(c.answers, base, &url.URL{Scheme: server.Scheme, Host: server.Host, Path: "/readyz"})
	}
	answers := c.answers
	c.waiting++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting--
	}()
	select {
	case <-answers:
	case <-ctx.Done():
	}
}

// probe asks the API server until it answers, or no request waits any more.
func (c *Connections) probe(answers <-chan struct{}, base http.RoundTripper, readyz *url.URL) {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		if isReady(base, readyz) {
			c.answered()
			return
		}
		select {
		case <-answers:
			return
		case <-ticker.C:
		}
		if c.abandoned() {
			return
		}
	}
}

// abandoned returns true if no request waits. The next one without an answer starts another probe.
func (c *Connections) abandoned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 || c.answers == nil {
		return c.answers == nil
	}
	close(c.answers)
	c.answers = nil
	return true
}

// isReady returns whether the API server answers. It may refuse the probe, which has no token.
func isReady(base http.RoundTripper, readyz *url.URL) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	req := (&http.Request{Method: http.MethodGet, URL: readyz, Host: readyz.Host, Header: http.Header{}}).WithContext(ctx)
	resp, err := base.RoundTrip(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
	_ = resp.Body.Close()
	return resp.StatusCode < http.StatusInternalServerError
}
