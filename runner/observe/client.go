package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/internal/roots"
	"github.com/h2surge/h2surge/runner/auth"
	"github.com/h2surge/h2surge/runner/dial"
)

const (
	// timeout bounds a read, from the connection to the end of the answer.
	timeout = 5 * time.Second
	// maxAnswer bounds an answer, after it was decompressed.
	maxAnswer = 1 << 20
	// maxRedirects bounds the redirects of a read.
	maxRedirects = 3
)

var (
	errTooLarge  = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	errElsewhere = errors.New("the server redirects to another host, which is not followed")
)

// client sends the requests of one server.
type client struct {
	http http.Client
	// base is the URL that precedes all paths.
	base          string
	authorization *authorization // nil: none
}

// newClient returns a client of an endpoint. The target is nil if the endpoint is not one of a target.
func newClient(c *Config, e *rv.Endpoint, t *rv.Target, secure *tls.Config) *client {
	transport := &http.Transport{
		DialContext: dial.Plain(&dial.Request{
			Endpoint: e, Resolver: c.Resolver, Network: c.Network, Policy: c.Policy, Timeout: timeout,
		}),
		// No Proxy: as with targets, nothing of the environment comes between.
		Protocols: new(http.Protocols), MaxIdleConnsPerHost: 1, IdleConnTimeout: 2 * time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}
	switch {
	case e.Scheme == "https":
		if secure == nil {
			roots.Use()
			secure = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		transport.TLSClientConfig = secure.Clone()
		transport.TLSClientConfig.NextProtos = nil
		transport.Protocols.SetHTTP1(true)
		transport.Protocols.SetHTTP2(true)
	case t != nil && t.Protocol == rv.ProtocolH2C:
		transport.Protocols.SetUnencryptedHTTP2(true)
	default:
		transport.Protocols.SetHTTP1(true)
	}
	out := &client{base: e.Scheme + "://" + e.Authority + e.BasePath}
	if t != nil && t.Auth != nil {
		out.authorization = &authorization{of: t.Auth, policy: c.Policy, life: c.Context, known: make(chan struct{})}
	}
	out.http = http.Client{Transport: &bounded{out.authorization, transport}, CheckRedirect: sameHost}
	return out
}

// Transport returns what sends requests to an endpoint of a target, with its TLS and Auth. It waits for the value of
// Auth, which is kept up to date until the context of the configuration ends.
func Transport(c *Config, e *rv.Endpoint, t *rv.Target, secure *tls.Config) http.RoundTripper {
	return newClient(c, e, t, secure).http.Transport
}

// sameHost follows redirects of a server to itself.
func sameHost(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host {
		return errElsewhere
	}
	return nil
}

// authorization is the Authorization field of the requests of a target. The first request gets it, so that only the
// runner that reads observations does.
type authorization struct {
	of     *rv.Auth
	policy *policy.Policy
	life   context.Context // of the runner
	once   sync.Once
	known  chan struct{} // closed after the first attempt

	mu    sync.Mutex // guards the fields below
	value string
	err   error
}

// get returns the value of the field.
func (a *authorization) get(ctx context.Context) (string, error) {
	a.once.Do(func() { go a.keep() })
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-a.known:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return "", fmt.Errorf("no authorization: auth.%w", a.err)
	}
	return a.value, nil
}

func (a *authorization) set(value []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.value, a.err = string(value), err
}

// keep gets the value and keeps it valid. It tries again until it has the first value.
func (a *authorization) keep() {
	for first := true; ; first = false {
		value, _, err := auth.Open(a.life, a.of, a.policy, nil, a.set)
		a.set(value, err)
		if first {
			close(a.known)
		}
		if err == nil || !wait(a.life, timeout) {
			return
		}
	}
}

// bounded adds the Authorization field to requests, and bounds the size of answers.
type bounded struct {
	authorization *authorization
	transport     *http.Transport
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "h2surge")
	if b.authorization != nil {
		value, err := b.authorization.get(r.Context())
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", value)
	}
	answer, err := b.transport.RoundTrip(r)
	if err == nil {
		answer.Body = &limited{answer.Body, maxAnswer}
	}
	return answer, err
}

// limited is a body that fails after a number of bytes.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if len(p) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// get returns the answer to a request of a path.
func (c *client) get(ctx context.Context, path, accept string) (body []byte, contentType string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, "", errors.New("the path is not that of a URL")
	}
	r.Header.Set("Accept", accept)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("the server answered %d", answer.StatusCode)
	}
	body, err = io.ReadAll(answer.Body)
	return body, answer.Header.Get("Content-Type"), err
}

// cause returns why a read failed, without URLs.
func cause(err error) string {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", timeout)
	}
	return clean(err.Error(), maxCause)
}
