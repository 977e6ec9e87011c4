package dial

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/octet"
)

// Alternatives knows where the origins of endpoints offer HTTP/3 by Alt-Svc (RFC 7838). It asks each origin once, and
// is safe for concurrent use.
type Alternatives struct {
	asking asking[string]
	// found has the address of the alternative of each origin. An origin that gave none is asked again.
	found sync.Map
}

// of returns the endpoint of HTTP/3 that the origin of the request's endpoint offers. Only its address differs, because
// the alternative has the authority of the origin, and must have a certificate for it (RFC 7838 2.1).
func (a *Alternatives) of(ctx context.Context, r *Request) (*rv.Endpoint, error) {
	out := *r.Endpoint
	origin := out.Address + " " + out.Base()
	address, err := a.asking.do(ctx, origin, func() (string, error) {
		if known, ok := a.found.Load(origin); ok {
			return known.(string), nil //nolint:errcheck,forcetypeassert // see below
		}
		address, err := ask(ctx, r)
		if err == nil {
			a.found.Store(origin, address)
		}
		return address, err
	})
	if err != nil {
		return nil, err
	}
	out.Address = address
	return &out, nil
}

// ask sends HEAD to an origin over HTTP/2 or HTTP/1.1, and returns the address of the first h3 in the answer.
func ask(ctx context.Context, r *Request) (string, error) {
	secure := named(r.TLS, r.Endpoint.Authority).Clone()
	secure.NextProtos, secure.ClientSessionCache = nil, nil // those of the load are of HTTP/3
	client := &http.Transport{
		TLSClientConfig: secure, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		DialContext: Plain(r),
	}
	defer client.CloseIdleConnections()
	url := r.Endpoint.Base()
	if r.Endpoint.BasePath == "" {
		url += "/"
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodHead, url, http.NoBody)
	if err != nil {
		return "", err
	}
	got, err := client.RoundTrip(q)
	if err != nil {
		return "", fmt.Errorf("HEAD %s for Alt-Svc: %w", url, err)
	}
	_ = got.Body.Close()
	fields := strings.Join(got.Header.Values("Alt-Svc"), ", ")
	authority, ok := http3Of(fields)
	if !ok {
		why := fmt.Sprintf("the target offers no h3 by Alt-Svc (RFC 7838): HEAD %s has status %d and Alt-Svc %.200q", url,
			got.StatusCode, fields)
		return "", failure.New(rv.CauseProtocol, why)
	}
	if host, port, _ := net.SplitHostPort(authority); host == "" {
		host, _, _ = net.SplitHostPort(r.Endpoint.Address)
		return net.JoinHostPort(host, port), nil
	}
	return authority, nil
}

// http3Of returns the authority of the first alternative whose protocol is h3, which is ":port" or "host:port". "clear"
// and parameters such as the lifetime have no effect: the offer holds for the load.
func http3Of(fields string) (authority string, ok bool) {
	for len(fields) > 0 {
		var entry string
		entry, fields = octet.CutUnquoted(fields, ',')
		entry, _, _ = strings.Cut(strings.TrimSpace(entry), ";") // an authority has no semicolon
		id, value, _ := strings.Cut(entry, "=")
		value = strings.ReplaceAll(strings.Trim(strings.TrimSpace(value), `"`), `\`, "")
		if _, port, err := net.SplitHostPort(value); id == "h3" && err == nil && port != "" {
			return value, true
		}
	}
	return "", false
}
