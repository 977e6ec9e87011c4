package auth

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// endpoint is a token endpoint that keeps what it was asked.
type endpoint struct {
	*httptest.Server

	mu     sync.Mutex
	status int
	answer string
	last   request
}

type request struct {
	proto, authorization string
	form                 url.Values
}

func (e *endpoint) set(status int, answer string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status, e.answer = status, answer
}

func (e *endpoint) asked() request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

func newEndpoint(t testing.TB, protocol string) *endpoint {
	e := &endpoint{status: http.StatusOK, answer: `{"access_token":"abc","token_type":"Bearer","expires_in":3600}`}
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s %v", r.Method, err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.last = request{proto: r.Proto, authorization: r.Header.Get("Authorization"), form: r.PostForm}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, e.answer)
	}))
	switch protocol {
	case "h2":
		e.EnableHTTP2 = true
		e.StartTLS()
	case "h2c":
		e.Config.Protocols = new(http.Protocols)
		e.Config.Protocols.SetUnencryptedHTTP2(true)
		e.Start()
	case "https":
		e.StartTLS()
	default:
		e.Start()
	}
	t.Cleanup(e.Close)
	return e
}

func fetch(t testing.TB, c *rv.OAuth2) (grant, error) {
	t.Helper()
	o, err := newOAuth2(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o.fetch(t.Context())
}

func TestProtocols(t *testing.T) {
	for _, tc := range []struct {
		server string
		http2  bool
		want   string
	}{{"http", false, "HTTP/1.1"}, {"h2c", true, "HTTP/2.0"}, {"h2", false, "HTTP/2.0"}, {"h2", true, "HTTP/2.0"}, {"https", true, "HTTP/1.1"}} {
		e := newEndpoint(t, tc.server)
		c := &rv.OAuth2{TokenURL: e.URL + "/oauth2/token", HTTP2: tc.http2, ClientID: "me"}
		if e.TLS != nil {
			block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw})
			c.CAFile = write(t, t.TempDir(), "ca.crt", string(block))
		}
		if g, err := fetch(t, c); err != nil || string(g.value) != "Bearer abc" || e.asked().proto != tc.want {
			t.Errorf("%s: %q by %s, %v, want %s", tc.server, g.value, e.asked().proto, err, tc.want)
		}
	}
}

// TestAsTarget: the runner connects to the address of the target that has the URL of the token endpoint, and checks its certificate as that
// of the target. The certificate of the test is for example.com.
func TestAsTarget(t *testing.T) {
	e := newEndpoint(t, "h2")
	address := e.Listener.Addr().String()
	ca := write(t, t.TempDir(), "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw})))
	for name, tc := range map[string]struct {
		config rv.OAuth2
		ok     bool
	}{
		"another name":        {rv.OAuth2{Address: address, CAFile: ca}, false},
		"serverName":          {rv.OAuth2{Address: address, CAFile: ca, ServerName: "example.com"}, true},
		"wrong serverName":    {rv.OAuth2{Address: address, CAFile: ca, ServerName: "nrf.example"}, false},
		"insecureSkipVerify":  {rv.OAuth2{Address: address, InsecureSkipVerify: true}, true},
		"no authority for it": {rv.OAuth2{Address: address, ServerName: "example.com"}, false},
		"no address to go to": {rv.OAuth2{InsecureSkipVerify: true}, false},
		"socket that is none": {rv.OAuth2{Address: "unix:/none", InsecureSkipVerify: true}, false},
	} {
		tc.config.TokenURL, tc.config.ClientID = "https://nrf.invalid/oauth2/token", "me"
		if g, err := fetch(t, &tc.config); (err == nil) != tc.ok || tc.ok && string(g.value) != "Bearer abc" {
			t.Errorf("%s: %q, %v", name, g.value, err)
		}
	}
}

func TestRequest(t *testing.T) {
	secretFile := write(t, t.TempDir(), "secret", "p w/ü:\n")
	form := func(more ...string) url.Values {
		v := url.Values{"grant_type": {"client_credentials"}}
		for i := 0; i < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return v
	}
	nrf := map[string]string{"nfInstanceId": "4947a69a-f61b-4bc1-b9da-47c9c5d14b64", "nfType": "AMF", "targetNfType": "UDM"}
	for _, tc := range []struct {
		name   string
		c      rv.OAuth2
		header string
		form   url.Values
	}{
		{name: "client_secret_basic", c: rv.OAuth2{ClientID: "a:b", ClientSecretFile: secretFile, Scopes: []string{"x", "y"}},
			header: "Basic YSUzQWI6cCt3JTJGJUMzJUJDJTNB", form: form("scope", "x y")}, // a%3Ab:p+w%2F%C3%BC%3A
		{name: "client_secret_post", c: rv.OAuth2{ClientID: "a:b", ClientSecretFile: secretFile, SecretInBody: true}, form: form("client_id", "a:b", "client_secret", "p w/ü:")},
		{name: "no secret", c: rv.OAuth2{ClientID: "a"}, form: form("client_id", "a")},
		{name: "NRF", c: rv.OAuth2{Scopes: []string{"nudm-sdm"}, Parameters: nrf},
			form: form("scope", "nudm-sdm", "nfInstanceId", nrf["nfInstanceId"], "nfType", "AMF", "targetNfType", "UDM")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEndpoint(t, "http")
			tc.c.TokenURL = e.URL
			if _, err := fetch(t, &tc.c); err != nil {
				t.Fatal(err)
			}
			got := e.asked()
			if got.authorization != tc.header {
				t.Errorf("authorization %q, want %q", got.authorization, tc.header)
			}
			if diff := cmp.Diff(tc.form, got.form); diff != "" {
				t.Errorf("form (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	secretFile := write(t, t.TempDir(), "secret", "hush/hush")
	const hour = time.Hour
	for _, tc := range []struct {
		name, answer string
		status       int
		before       time.Duration
		// lifetime and refresh of the grant; or words of the error, and whether it may pass.
		lifetime, refresh time.Duration
		err               string
		temporary         bool
	}{
		{name: "RFC 6749 5.1", answer: `{"access_token":"abc","token_type":"bearer","expires_in":3600,"x":1}`, lifetime: hour, refresh: hour - 30*time.Second},
		{name: "refreshBefore", answer: `{"access_token":"abc","token_type":"Bearer","expires_in":3600}`, before: 5 * time.Minute, lifetime: hour, refresh: 55 * time.Minute},
		{name: "half of the lifetime", answer: `{"access_token":"abc","token_type":"Bearer","expires_in":20}`, lifetime: 20 * time.Second, refresh: 10 * time.Second},
		{name: "no lifetime", answer: `{"access_token":"abc","token_type":"Bearer"}`, lifetime: 5 * time.Minute, refresh: 270 * time.Second},
		{name: "lifetime null", answer: `{"access_token":"abc","token_type":"Bearer","expires_in":null}`, lifetime: 5 * time.Minute, refresh: 270 * time.Second},
		{name: "lifetime in quotes", answer: `{"access_token":"abc","token_type":"Bearer","expires_in":"3600"}`, lifetime: hour, refresh: hour - 30*time.Second},
		{name: "lifetime for ever", answer: `{"access_token":"abc","expires_in":1e300}`, lifetime: longestLifetime, refresh: longestLifetime - 30*time.Second},
		{name: "lifetime zero", answer: `{"access_token":"hush","token_type":"Bearer","expires_in":0}`, err: "expires_in is not a number of seconds of at least 1"},
		{name: "lifetime NaN", answer: `{"access_token":"hush","token_type":"Bearer","expires_in":"NaN"}`, err: "expires_in is not"},
		{name: "lifetime an object", answer: `{"access_token":"hush","token_type":"Bearer","expires_in":{"a":"hush"}}`, err: "expires_in is not"},
		{name: "other type", answer: `{"access_token":"hush","token_type":"mac"}`, err: `token_type "mac" is not Bearer`},
		{name: "no token", answer: `{"token_type":"Bearer"}`, err: "no access_token"},
		{name: "bad token", answer: `{"access_token":"hush\r\nx: y","token_type":"Bearer"}`, err: "access_token: the token contains a character"},
		{name: "token is a number", answer: `{"access_token":7,"token_type":"Bearer"}`, err: "not JSON as RFC 6749 5.1"},
		{name: "not JSON", answer: `access_token=hush`, err: "not JSON as RFC 6749 5.1"},
		{name: "error with 200", answer: `{"error":"invalid_scope"}`, err: `without a token: "invalid_scope"`},
		{name: "too long", answer: strings.Repeat("hush", 20000), err: "more than 65536 bytes", temporary: true},
		{name: "RFC 6749 5.2", status: 400, answer: `{"error":"invalid_scope","error_description":"no such scope"}`, err: `answered 400: "invalid_scope": "no such scope"`},
		{name: "problem of an NRF", status: 403, answer: `{"title":"Forbidden","cause":"REQUESTER_NF_NOT_ALLOWED","detail":"a\nb"}`, err: `answered 403: "Forbidden": "REQUESTER_NF_NOT_ALLOWED": "a\nb"`},
		{name: "the secret comes back", status: 400, answer: `{"error":"invalid_client","error_description":"hush/hush is wrong"}`, err: `"invalid_client": (not shown`},
		{name: "the secret comes back as sent", status: 400, answer: `{"error":"invalid_client","error_description":"bWU6aHVzaCUyRmh1c2g= is wrong"}`, err: `"invalid_client": (not shown`},
		{name: "long words", status: 400, answer: `{"error_description":"` + strings.Repeat("long ", 20000/10) + `"}`, err: `long ..."`},
		{name: "a page", status: 401, answer: "<html>hush", err: "answered 401"},
		{name: "unavailable", status: 503, answer: "hush", err: "answered 503", temporary: true},
		{name: "too many", status: 429, err: "answered 429", temporary: true},
		{name: "redirect", status: 307, err: "answered 307, and redirects"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEndpoint(t, "http")
			e.set(max(tc.status, http.StatusOK), tc.answer)
			g, err := fetch(t, &rv.OAuth2{TokenURL: e.URL, ClientID: "me", ClientSecretFile: secretFile, RefreshBefore: tc.before})
			if tc.err == "" {
				want := grant{value: []byte("Bearer abc"), lifetime: tc.lifetime, refresh: tc.refresh}
				if diff := cmp.Diff(want, g, cmp.AllowUnexported(grant{})); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "hush") || len(err.Error()) > 500 {
				t.Fatalf("%v, want an error with %q", err, tc.err)
			}
			if errors.As(err, &temporary{}) != tc.temporary {
				t.Errorf("%v: may pass: %v", err, !tc.temporary)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	e := newEndpoint(t, "http")
	e.Close()
	_, err := fetch(t, &rv.OAuth2{TokenURL: e.URL, ClientID: "me"})
	if !errors.As(err, &temporary{}) || strings.Count(err.Error(), e.URL) != 1 {
		t.Errorf("%v", err)
	}
	hidden := (&oauth2{config: &rv.OAuth2{ClientID: "me"}}).forms("hush")
	if err := hidden.strip(errors.New(`malformed HTTP response "hush"`)); strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}

func TestBadConfig(t *testing.T) {
	const ok = "http://nrf/oauth2/token"
	dir := t.TempDir()
	empty := write(t, dir, "empty", "\n")
	for _, tc := range []struct {
		c   rv.OAuth2
		err string
	}{
		{rv.OAuth2{}, "oauth2.tokenURL"},
		{rv.OAuth2{TokenURL: "/token"}, "not an absolute http or https URL"},
		{rv.OAuth2{TokenURL: "ftp://nrf/token"}, "not an absolute http or https URL"},
		{rv.OAuth2{TokenURL: "http://:80/token"}, "not an absolute http or https URL"},
		{rv.OAuth2{TokenURL: "http://me:hush@nrf/token"}, "user information"},
		{rv.OAuth2{TokenURL: "http://me:hush@nrf:x/token"}, "is not a URL"},
		{rv.OAuth2{TokenURL: ok + "#a"}, "RFC 6749 3.2"},
		{rv.OAuth2{TokenURL: ok, ClientSecretFile: "x"}, "needs clientID"},
		{rv.OAuth2{TokenURL: ok, ClientID: "a", ClientSecretFile: dir + "/none"}, "oauth2.clientSecretFile"},
		{rv.OAuth2{TokenURL: ok, ClientID: "a", ClientSecretFile: empty}, "is empty"},
		{rv.OAuth2{TokenURL: ok, RefreshBefore: -1}, "oauth2.refreshBefore"},
		{rv.OAuth2{TokenURL: ok, Scopes: []string{"a", "b c"}}, "oauth2.scopes[1]"},
		{rv.OAuth2{TokenURL: ok, Parameters: map[string]string{"scope": "a"}}, `oauth2.parameters: "scope"`},
		{rv.OAuth2{TokenURL: "https://nrf/token", CAFile: dir + "/none"}, "oauth2.caFile"},
		{rv.OAuth2{TokenURL: "https://nrf/token", CAFile: empty}, "contains no certificate"},
	} {
		expect(t, &rv.Auth{OAuth2: &tc.c}, "", tc.err)
	}
}

// TestRefresh is the whole of it against a server over a connection: the clock is the bubble's, which
// stands still while a connection is open.
func TestRefresh(t *testing.T) {
	for _, protocol := range []string{"http", "h2c"} {
		e := newEndpoint(t, protocol)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := &script{began: time.Now()}
			c := &rv.Auth{OAuth2: &rv.OAuth2{TokenURL: e.URL, HTTP2: protocol == "h2c", ClientID: "me"}}
			value, done, err := Open(ctx, c, nil, nil, func(value []byte, err error) {
				s.update(value, err)
				cancel()
			})
			if err != nil || string(value) != "Bearer abc" {
				t.Fatalf("%q, %v", value, err)
			}
			e.set(http.StatusOK, `{"access_token":"def","token_type":"Bearer","expires_in":3600}`)
			<-done
			if got, want := strings.Join(s.log, ", "), "59m30s Bearer def"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
