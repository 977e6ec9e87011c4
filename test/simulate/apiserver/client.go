package apiserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request is what a client asks of the server. Verb is one of those of RBAC, or "event" for an event of a watch. Object
// is what a client creates or updates, or what an event has; nil: another verb.
type Request struct {
	Client, Verb, Kind, Namespace, Name string
	Object                              client.Object
	// Sent is when the client sent it.
	Sent time.Time
}

// Fault is what goes wrong with a request. An event of a watch has Delay and Err, which ends the watch.
type Fault struct {
	// Delay is how long the request takes to the server.
	Delay time.Duration
	// Err is what the server answers if it is an error of the API; another error ends the connection before the request.
	Err error
	// Lost: the server handles the request after Delay, and the connection ends before the answer. The client can give up
	// before that.
	Lost bool
}

// Link is the state of the network between a client and the server.
type Link int

// Up: all octets arrive. NoAnswer: only those to the server. Silent: none. Down: the server refuses connections.
const (
	Up Link = iota
	NoAnswer
	Silent
	Down
)

// silence is how long a connection without an octet lives. client-go pings after 30 s, and waits for the answer for
// 15 s.
const silence = 45 * time.Second

var (
	errRefused = errors.New("connect: connection refused")
	errReset   = errors.New("read: connection reset by peer")
	errSilent  = errors.New("http2: client connection lost")
)

// Client is the way of one process to the server: the Transport of its rest.Config.
type Client struct {
	name string
	of   *Server

	mu      sync.Mutex
	link    Link          // guarded by mu
	changed chan struct{} // closed when link changes; guarded by mu
	// froze and thaw are when the process was stopped, and until when; guarded by mu.
	froze, thaw time.Time
}

// Client returns a way to the server. name is the one in a Request.
func (s *Server) Client(name string) *Client {
	return &Client{name: name, of: s, changed: make(chan struct{})}
}

// Config returns the configuration of a process that reaches the server this way.
func (c *Client) Config() *rest.Config {
	return &rest.Config{Host: "http://apiserver", Transport: c, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
}

// Set changes the state of the network. Requests and watches wait while it is silent, and end when it is down.
func (c *Client) Set(to Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = to
	close(c.changed)
	c.changed = make(chan struct{})
}

// underWay is how long after the begin of a freeze a request is one that the process sends before or after it, and not
// because of what happened since.
const underWay = 100 * time.Millisecond

// Freeze stops the process for a time, as SIGSTOP does. It gets no answers and no events of watches meanwhile. Requests
// that were under way when it froze, and that have not left it, do so at the end, also if nothing waits for them any
// more. Those that it begins later are not sent: a process that is stopped begins nothing.
func (c *Client) Freeze(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !now.Before(c.thaw) {
		c.froze = now
	}
	if end := now.Add(d); end.After(c.thaw) {
		c.thaw = end
	}
}

// freezes returns whether the process is frozen, and whether a request that it begins now is under way.
func (c *Client) freezes() (frozen, goes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.thaw), time.Since(c.froze) < underWay
}

func (c *Client) state() (link Link, changed <-chan struct{}, thaw time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link, c.changed, c.thaw
}

// pass returns when octets pass to the server, or those of an answer to the client. It returns an error if the
// connection or ctx ends before that.
func (c *Client) pass(ctx context.Context, answer bool) error {
	var dead <-chan time.Time
	for {
		link, changed, thaw := c.state()
		var thaws <-chan time.Time
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case link == Down:
			return errRefused
		case time.Now().Before(thaw):
			thaws = time.After(time.Until(thaw))
		case link == Up || link == NoAnswer && !answer:
			return nil
		case dead == nil:
			dead = time.After(silence)
		}
		select {
		case <-changed:
		case <-thaws:
		case <-ctx.Done():
		case <-dead:
			return errSilent
		}
	}
}

// CloseIdleConnections does nothing. client-go warns about a transport without it.
func (c *Client) CloseIdleConnections() {}

// RoundTrip implements http.RoundTripper.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := time.Now()
	call, err := c.of.parse(req)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	frozen, goes := c.freezes()
	if frozen && goes {
		ctx = context.WithoutCancel(ctx)
	}
	switch err := c.pass(ctx, false); {
	case err != nil:
		return nil, err
	case frozen && !goes:
		return nil, errReset
	}
	call.Client, call.Sent = c.name, sent
	f := c.of.fault(call.Request)
	if f.Lost { // the server handles it, whether or not the client waits for that
		time.AfterFunc(f.Delay, func() { _, _ = c.of.answer(call) })
	}
	sleep(ctx, f.Delay)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f.Lost:
		return nil, errReset
	case f.Err != nil && !isStatus(f.Err):
		return nil, f.Err
	}
	var resp *http.Response
	switch {
	case f.Err != nil:
		resp = respond(nil, f.Err)
	case call.Verb == "watch":
		resp = c.watch(ctx, call)
	default:
		resp = respond(c.of.answer(call))
	}
	if err := c.pass(ctx, true); err != nil {
		_ = resp.Body.Close() // that of a watch has a context
		return nil, err
	}
	return resp, nil
}

func (s *Server) fault(r Request) Fault {
	if s.Fault == nil {
		return Fault{}
	}
	return s.Fault(r)
}

func isStatus(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

func sleep(ctx context.Context, d time.Duration) {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
}
