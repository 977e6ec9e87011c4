package mock

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// TestHTTP3: the built-in behaviour over HTTP/3, and its counts.
func TestHTTP3(t *testing.T) {
	s := start(t, Options{Listen: "127.0.0.1:0", ListenHTTP3: "127.0.0.1:0"}, (*Server).Serve)
	transport := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // its certificate is its own
	base := "https://" + s.HTTP3Addr().String()
	ask := func(method, path, body string) (status int, location, content string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		w, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close() //nolint:errcheck // read whole
		b, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.StatusCode, w.Header.Get("Location"), string(b)
	}
	if status, _, content := ask("GET", "/", ""); status != 200 || content != defaultBody {
		t.Errorf("GET: %d %q", status, content)
	}
	status, at, _ := ask("POST", "/things", "{}")
	if status != 201 || !strings.HasPrefix(at, "/things/") {
		t.Fatalf("POST: %d %q", status, at)
	}
	if status, _, _ := ask("DELETE", at, ""); status != 204 {
		t.Errorf("DELETE: %d", status)
	}
	if status, _, _ := ask("GET", at, ""); status != 404 {
		t.Errorf("GET after DELETE: %d", status)
	}
	st := s.Stats()
	if st.Requests != 4 || st.Answered != 4 || st.Connections != 1 || st.OpenConnections != 1 || st.ByStatus["404"] != 1 {
		t.Errorf("counts %+v", st)
	}
	_ = transport.Close()
}

// TestHTTP3Unanswered: a request without an answer ends with its client.
func TestHTTP3Unanswered(t *testing.T) {
	s := start(t, Options{Listen: "127.0.0.1:0", ListenHTTP3: "127.0.0.1:0", Unanswered: 1}, (*Server).Serve)
	transport := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // its certificate is its own
	defer transport.Close()                                                               //nolint:errcheck // the test is over
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.HTTP3Addr().String()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer cancel()
		waitFor(t, s, func(st Stats) bool { return st.Unanswered == 1 })
	}()
	w, err := transport.RoundTrip(r)
	if err == nil {
		_ = w.Body.Close()
		t.Errorf("status %d", w.StatusCode)
	}
	cancel()
	if st := s.Stats(); st.Requests != 1 || st.Unanswered != 1 || st.Answered != 0 {
		t.Errorf("counts %+v", st)
	}
}

// TestHTTP3Faults: a reset ends the stream, and a close the connection.
func TestHTTP3Faults(t *testing.T) {
	for fault, want := range map[string]uint64{"reset": 2, "close": 1} {
		t.Run(fault, func(t *testing.T) {
			s := start(t, Options{
				Listen: "127.0.0.1:0", ListenHTTP3: "127.0.0.1:0",
				Rules: ruleSet(t, "rules: [{name: a, match: {path: /}, responses: [{"+fault+": 1}]}]"),
			}, (*Server).Serve)
			secure := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}} //nolint:gosec // its certificate is its own
			conn, err := quic.DialAddr(t.Context(), s.HTTP3Addr().String(), secure, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.CloseWithError(0, "") //nolint:errcheck // always nil
			client := new(http3.Transport).NewClientConn(conn)
			for range 2 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.HTTP3Addr().String()+"/", nil)
				if err != nil {
					t.Fatal(err)
				}
				if w, err := client.RoundTrip(r); err == nil {
					_ = w.Body.Close()
					t.Errorf("status %d", w.StatusCode)
				}
			}
			if st := s.Stats(); st.Requests != want || st.Connections != 1 {
				t.Errorf("%d requests on %d connections, want %d on 1", st.Requests, st.Connections, want)
			}
		})
	}
}
