package collect

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Client speaks to one runner. Its methods may be called one at a time.
type Client interface {
	Update(context.Context, runnerv1alpha1.Update) error
	Start(context.Context, runnerv1alpha1.Start) error
	Stop(context.Context, runnerv1alpha1.Stop) error
	Teardown(context.Context, runnerv1alpha1.Teardown) error
	Ack(context.Context, runnerv1alpha1.Ack) error
	Snapshot(context.Context, Poll) (*runnerv1alpha1.Snapshot, error)
	// Close gives the connection up.
	Close()
}

// Poll says what a request for a snapshot asks for.
type Poll struct {
	// Lease renews the lease of the runner; zero: it does not.
	Lease runnerv1alpha1.Lease
	// Totals leaves out the response times of steps.
	Totals bool
}

func (p Poll) query() string {
	q := url.Values{}
	if p.Lease.Until != 0 {
		q.Set(runnerv1alpha1.QueryLeaseUntil, strconv.FormatInt(p.Lease.Until, 10))
		q.Set(runnerv1alpha1.QueryTerm, strconv.FormatInt(p.Lease.Term, 10))
	}
	if p.Totals {
		q.Set(runnerv1alpha1.QueryDetail, runnerv1alpha1.DetailTotals)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Dial makes a client for the runner of a run at an address. It does not connect yet.
type Dial func(run types.UID, address string) Client

// ErrConflict says that the runner has accepted something else before (409).
var ErrConflict = errors.New("the runner accepted a different message")

// maxAnswer bounds what is read of a runner: 256 steps with a histogram each are some 10 MB.
const maxAnswer = 64 << 20

// HTTPS is the Dial of production: HTTP over mutual TLS. tlsFor returns the configuration that
// verifies the runners of a run.
func HTTPS(tlsFor func(context.Context, types.UID) (*tls.Config, error)) Dial {
	return func(run types.UID, address string) Client {
		return &httpClient{base: "https://" + address, transport: &http.Transport{
			DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				cfg, err := tlsFor(ctx, run)
				if err != nil {
					return nil, err
				}
				return dialTLS(ctx, network, addr, cfg)
			},
			MaxConnsPerHost:    1,
			IdleConnTimeout:    time.Minute,
			DisableCompression: true,
			// There is a connection for each runner.
			ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10,
		}}
	}
}

const (
	// connectTimeout is short, because the kernel repeats a lost SYN later and later: a runner must get its orders soon after the network
	// is whole again.
	connectTimeout = time.Second
	// handshakeTimeout is long, because a stopped process takes connections and answers none of them: they would pile up until it
	// continues.
	handshakeTimeout = 10 * time.Second
)

func dialTLS(ctx context.Context, network, addr string, cfg *tls.Config) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

type httpClient struct {
	base      string
	transport *http.Transport
}

func (c *httpClient) Update(ctx context.Context, m runnerv1alpha1.Update) error {
	return c.put(ctx, runnerv1alpha1.PathUpdate, m)
}

func (c *httpClient) Start(ctx context.Context, m runnerv1alpha1.Start) error {
	return c.put(ctx, runnerv1alpha1.PathStart, m)
}

func (c *httpClient) Stop(ctx context.Context, m runnerv1alpha1.Stop) error {
	return c.put(ctx, runnerv1alpha1.PathStop, m)
}

func (c *httpClient) Teardown(ctx context.Context, m runnerv1alpha1.Teardown) error {
	return c.put(ctx, runnerv1alpha1.PathTeardown, m)
}

func (c *httpClient) Ack(ctx context.Context, m runnerv1alpha1.Ack) error {
	return c.put(ctx, runnerv1alpha1.PathAck, m)
}

func (c *httpClient) Snapshot(ctx context.Context, p Poll) (*runnerv1alpha1.Snapshot, error) {
	out := &runnerv1alpha1.Snapshot{}
	return out, c.get(ctx, runnerv1alpha1.PathSnapshot+p.query(), out)
}

func (c *httpClient) Close() { c.transport.CloseIdleConnections() }

func (c *httpClient) get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, nil, into)
}

func (c *httpClient) put(ctx context.Context, path string, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	return c.do(ctx, http.MethodPut, path, body, nil)
}

// bodies are buffers for answers.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled bounds the buffers that are kept.
const maxPooled = 1 << 20

// do decodes the answer into a value; nil: it is not needed.
func (c *httpClient) do(ctx context.Context, method, path string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end, or is given up
	answer := bodies.Get().(*bytes.Buffer)
	defer func() {
		if answer.Cap() <= maxPooled {
			bodies.Put(answer)
		}
	}()
	answer.Reset()
	if _, err := answer.ReadFrom(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return fmt.Errorf("reading the runner's answer: %w", err)
	}
	if err := refusal(resp, answer.Bytes()); err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(answer.Bytes(), into); err != nil {
		return fmt.Errorf("decoding a %T: %w", into, err)
	}
	return nil
}

func refusal(resp *http.Response, answer []byte) error {
	if resp.StatusCode < 300 {
		return nil
	}
	var told runnerv1alpha1.Error
	if err := json.Unmarshal(answer, &told); err != nil || told.Message == "" {
		told.Message = "no reason given"
	}
	if resp.StatusCode == http.StatusConflict {
		return fmt.Errorf("%w: %s", ErrConflict, told.Message)
	}
	return fmt.Errorf("the runner answered %s: %s", resp.Status, told.Message)
}
