package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2"
)

// sending accepts connections, reads what comes first, and sends octets. It does not close a connection before the other side does.
func sending(t *testing.T, sends []byte) (address string) {
	t.Helper()
	return listen(t, func(c net.Conn) {
		defer c.Close() //nolint:errcheck // a test's
		_, _ = c.Write(sends)
		_, _ = io.Copy(io.Discard, c)
	})
}

// TestUnreachable: the message of a run that cannot begin has the URL, what the runner waited for, how long, and the words of the peer.
func TestUnreachable(t *testing.T) {
	waits(t)
	silent, web := sending(t, nil), newWeb(t, nil)
	bye := h2.AppendGoAway(nil, 0, http2.ErrCodeEnhanceYourCalm, "too many\x1b clients")
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"error":"invalid_scope","error_description":"scope a\u001b is not allowed"}`)
	}))
	t.Cleanup(refusing.Close)
	token := func(url string) string {
		return fmt.Sprintf(`protocol: http1, auth: {oauth2: {tokenURL: %q, clientID: nf, scopes: [a]}}, `, url)
	}
	goaway, first := sending(t, bye), sending(t, append(h2.AppendSettings(nil), bye...))
	for name, tc := range map[string]struct {
		url, more string
		want      []string
	}{
		"silent TLS": {"https://" + silent, "", []string{"a target could not be reached: target t (https://" + silent + "): ", "handshake ", "s (" + silent + ")"}},
		// Three timeouts end at the same time: of the run, of the attempt, and of the second question about the protocol. The
		// words are those of the first one; runner/conns and runner/dial test them.
		"no answer":       {"http://" + silent, "", []string{"a target could not be reached: target t (http://" + silent + "): ", "(" + silent + ")"}},
		"no SETTINGS":     {"http://" + silent, "protocol: h2c, ", []string{"a target could not be reached: target t (http://" + silent + "): ", "no SETTINGS", "s (" + silent}},
		"GOAWAY only":     {"http://" + goaway, "", []string{"target t (http://" + goaway + "): the peer sent GOAWAY: ENHANCE_YOUR_CALM: \"too many\\x1b clients\" (" + goaway + ")"}},
		"GOAWAY":          {"http://" + first, "", []string{`the peer sent GOAWAY: ENHANCE_YOUR_CALM: "too many\x1b clients" (` + first + ")"}},
		"a wrong scope":   {web.url, token(refusing.URL), []string{"a target has no authorization: target t: auth.oauth2.tokenURL " + refusing.URL + `: answered 403: "invalid_scope": "scope a\x1b is not allowed"`}},
		"no token answer": {web.url, token("http://" + silent), []string{"a target has no authorization: target t: auth.oauth2.tokenURL http://" + silent + ": no answer for "}},
	} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			manifest := fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: r}
spec:
  targets: [{name: t, url: %q, %sconnectTimeout: 2s}]
  templates: [{name: a, path: /, timeout: 1s}]
  chains: [{name: c, target: t, steps: [{template: a}]}]
  rates: [{name: r, requests: 5, requestsPerSecond: 100}]
`, tc.url, tc.more)
			var out, errors bytes.Buffer
			code := execute(t.Context(), []string{"h2surge", "run", "-q", "-f", "-"}, strings.NewReader(manifest), &out, &errors, parts())
			for _, want := range tc.want {
				if got := errors.String(); code != 5 || !strings.Contains(got, want) {
					t.Errorf("exit code %d: %s\nwant %s", code, got, want)
				}
			}
		})
	}
}
