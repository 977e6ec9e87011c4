package auth

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/internal/roots"
	"github.com/h2surge/h2surge/runner/dial"
)

const (
	maxAnswer            = 64 << 10
	defaultRefreshBefore = 30 * time.Second
)

// oauth2 is a client of a token endpoint (RFC 6749 3.2).
type oauth2 struct {
	config *rv.OAuth2
	http   *http.Client
}

func newOAuth2(c *rv.OAuth2, addresses *policy.Policy) (*oauth2, error) {
	u, err := checkOAuth2(c)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{
		DialContext: dialAllowed(addresses, c.Address),
		// No Proxy: as with targets, nothing of the environment comes between. Requests are minutes apart: a
		// connection kept would only go stale.
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxAnswer,
		Protocols:              new(http.Protocols),
	}
	if u.Scheme == "https" {
		t.Protocols.SetHTTP1(true)
		t.Protocols.SetHTTP2(true)
		if t.TLSClientConfig, err = tlsConfig(c); err != nil {
			return nil, err
		}
	} else {
		t.Protocols.SetHTTP1(!c.HTTP2)
		t.Protocols.SetUnencryptedHTTP2(c.HTTP2)
	}
	// A redirect would take the secret elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &oauth2{config: c, http: &http.Client{Transport: t, CheckRedirect: stay}}, nil
}

// dialAllowed returns a dial function that asks the policy about each address after the name was resolved. If address
// is set, the function connects to it in place of the host and port of the URL. A unix socket has no rule in a policy.
func dialAllowed(addresses *policy.Policy, address string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, hostPort string) (net.Conn, error) {
		if path, is := strings.CutPrefix(address, "unix:"); is {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
		hostPort = cmp.Or(address, hostPort)
		host, _, err := net.SplitHostPort(hostPort)
		if err != nil {
			return nil, err
		}
		d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if rule := addresses.Address(host, at.Addr()); rule != "" {
				return &failure.Error{Cause: failure.Cause{Kind: rv.CauseDenied, Detail: rule, Address: address}}
			}
			return nil
		}}
		return d.DialContext(ctx, network, hostPort)
	}
}

// tlsConfig leaves ALPN to the transport.
func tlsConfig(c *rv.OAuth2) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName,
		InsecureSkipVerify: c.InsecureSkipVerify}
	if c.CertFile != "" {
		pair, err := dial.ReadPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("oauth2.certFile %s, keyFile %s: %w", c.CertFile, c.KeyFile, err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return pair.Current()
		}
	}
	if c.CAFile == "" {
		roots.Use()
		return config, nil
	}
	pem, err := read(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("oauth2.caFile: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("oauth2.caFile %s: contains no certificate", c.CAFile)
	}
	return config, nil
}

// ownFields are those that the other options make.
var ownFields = []string{"grant_type", "scope", "client_id", "client_secret"}

func checkOAuth2(c *rv.OAuth2) (*url.URL, error) {
	u, err := url.Parse(c.TokenURL)
	if err != nil {
		return nil, errors.New("oauth2.tokenURL is not a URL") // which the error would repeat
	}
	switch {
	case u.User != nil:
		return nil, errors.New("oauth2.tokenURL has user information, but a plan must not contain secrets")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("oauth2.tokenURL %q is not an absolute http or https URL", c.TokenURL)
	case strings.Contains(c.TokenURL, "#"):
		return nil, fmt.Errorf("oauth2.tokenURL %q has a fragment (RFC 6749 3.2)", c.TokenURL)
	case c.ClientSecretFile != "" && c.ClientID == "":
		return nil, errors.New("oauth2.clientSecretFile needs clientID")
	case c.RefreshBefore < 0:
		return nil, fmt.Errorf("oauth2.refreshBefore %s is negative", c.RefreshBefore)
	}
	for i, s := range c.Scopes {
		if s == "" || strings.ContainsFunc(s, notOfScope) {
			return nil, fmt.Errorf("oauth2.scopes[%d] %q is not a scope (RFC 6749 3.3)", i, s)
		}
	}
	for name := range c.Parameters {
		if name == "" || slices.Contains(ownFields, name) {
			return nil, fmt.Errorf("oauth2.parameters: %q cannot be a parameter", name)
		}
	}
	return u, nil
}

func notOfScope(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// fetch asks for a token. The secret's file is read each time: it may change.
func (o *oauth2) fetch(ctx context.Context) (grant, error) {
	secret := ""
	if o.config.ClientSecretFile != "" {
		var err error
		if secret, err = readText("oauth2.clientSecretFile", o.config.ClientSecretFile); err != nil {
			return grant{}, err
		}
		if secret == "" {
			return grant{}, fmt.Errorf("oauth2.clientSecretFile %s is empty", o.config.ClientSecretFile)
		}
	}
	hidden := o.forms(secret)
	status, body, err := o.post(ctx, secret)
	if known := (*failure.Error)(nil); errors.As(err, &known) {
		return grant{}, fmt.Errorf("oauth2.tokenURL %s: %w", o.config.TokenURL, known)
	}
	if err != nil {
		return grant{}, temporary{fmt.Errorf("oauth2.tokenURL %s: %w", o.config.TokenURL, hidden.strip(err))}
	}
	g, err := o.parse(status, body, hidden)
	if err == nil {
		return g, nil
	}
	err = fmt.Errorf("oauth2.tokenURL %s: %w", o.config.TokenURL, err)
	if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		err = temporary{err}
	}
	return grant{}, err
}

// post sends RFC 6749 4.4.2, with the client's credentials as 2.3.1 has them.
func (o *oauth2) post(ctx context.Context, secret string) (status int, body []byte, err error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(o.config.Scopes) > 0 {
		form.Set("scope", strings.Join(o.config.Scopes, " "))
	}
	for name, value := range o.config.Parameters {
		form.Set(name, value)
	}
	inHeader := secret != "" && !o.config.SecretInBody
	if !inHeader && o.config.ClientID != "" {
		form.Set("client_id", o.config.ClientID)
	}
	if !inHeader && secret != "" {
		form.Set("client_secret", secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.config.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "h2surge")
	if inHeader {
		r.SetBasicAuth(url.QueryEscape(o.config.ClientID), url.QueryEscape(secret))
	}
	response, err := o.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return response.StatusCode, body, err
}
