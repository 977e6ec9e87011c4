package mock

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/mock/notifier"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

const subscriptions = `
rules:
- name: subscribe
  match: {method: POST, path: /subscriptions}
  resource: {collection: subscriptions, action: create}
  notify:
  - name: created
    uri: "${json:/notifyUri}"
    headers: [{name: x-rule, value: subscribe}]
    body: '{"subscription":"${state.id}"}'
`

// receiver is a server of notifications over HTTP/2 without TLS.
func receiver(t *testing.T) (url string, received <-chan string) {
	t.Helper()
	out := make(chan string, 1000)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		out <- fmt.Sprintf("%s %s %s %s %s %s %s", r.Proto, r.Method, r.URL.Path, r.Header.Get("content-type"), r.Header.Get("x-rule"), r.Header.Get("user-agent"), body)
		w.WriteHeader(http.StatusNoContent)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, out
}

func TestNotifications(t *testing.T) {
	url, received := receiver(t)
	s := start(t, Options{Rules: ruleSet(t, subscriptions)}, (*Server).Serve)
	c := client(t)
	const n = 200
	want, got := map[string]bool{}, map[string]bool{}
	for i := range n {
		r := do(t, c, s, "POST", "/subscriptions", fmt.Sprintf(`{"notifyUri":"%s/n/%d"}`, url, i))
		want[fmt.Sprintf(`HTTP/2.0 POST /n/%d application/json subscribe h2surge-target {"subscription":"%s"}`, i, r.Location[len("/subscriptions/"):])] = true
	}
	for range n {
		got[<-received] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	do(t, c, s, "POST", "/subscriptions", `{}`)
	st := waitNotified(t, s)
	if diff := cmp.Diff([]notifier.Count{{
		NotificationName: rules.NotificationName{Rule: "subscribe", Name: "created"},
		Requested:        n + 1, Sent: n, Answered: n, Invalid: 1, LastError: `uri: "" is not an absolute http or https URI`,
	}}, st.Notifications); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Reset()
	if c := s.Stats().Notifications[0]; c.Requested != 0 || c.Answered != 0 {
		t.Errorf("after a reset: %+v", c)
	}
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var back Stats
	if err := json.Unmarshal(text, &back); err != nil || cmp.Diff(st.Notifications, back.Notifications) != "" {
		t.Errorf("%v, %s", err, text)
	}
}

// waitNotified returns the counts when no notification is pending. The receiver has sent its answers.
func waitNotified(t *testing.T, s *Server) Stats {
	t.Helper()
	for t.Context().Err() == nil {
		st := s.Stats()
		pending := uint64(0)
		for _, c := range st.Notifications {
			pending += c.Pending
		}
		if pending == 0 {
			return st
		}
	}
	return Stats{}
}

// TestNotificationsTLS: an https callback gets the client certificate, and its certificate is verified.
func TestNotificationsTLS(t *testing.T) {
	clients := make(chan string, 1)
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		clients <- fmt.Sprint(r.Proto, " ", len(r.TLS.PeerCertificates))
	}))
	receiver.EnableHTTP2 = true
	receiver.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that fail
	receiver.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}
	receiver.StartTLS()
	t.Cleanup(receiver.Close)
	key, err := x509.MarshalPKCS8PrivateKey(receiver.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		callbacks string
		want      notifier.Count
	}{
		"verified":        {"{caFile: cert.pem, certFile: cert.pem, keyFile: key.pem}", notifier.Count{Sent: 1, Answered: 1}},
		"not verified":    {"{insecureSkipVerify: true, certFile: cert.pem, keyFile: key.pem}", notifier.Count{Sent: 1, Answered: 1}},
		"unknown CA":      {"{certFile: cert.pem, keyFile: key.pem}", notifier.Count{Sent: 1, Failed: 1}},
		"no client":       {"{caFile: cert.pem}", notifier.Count{Sent: 1, Failed: 1}},
		"another timeout": {"{timeout: 1ns, caFile: cert.pem, certFile: cert.pem, keyFile: key.pem}", notifier.Count{Sent: 1, Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := rules.Load([]byte("apiVersion: h2surge.io/v1alpha1\nkind: Target\ncallbacks: "+c.callbacks+subscriptions), dir)
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, Options{Rules: set}, (*Server).Serve)
			do(t, client(t), s, "POST", "/subscriptions", fmt.Sprintf(`{"notifyUri":%q}`, receiver.URL))
			got := waitNotified(t, s).Notifications[0]
			if got.Sent != c.want.Sent || got.Answered != c.want.Answered || got.Failed != c.want.Failed {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if c.want.Answered > 0 {
				if got := <-clients; got != "HTTP/2.0 1" {
					t.Errorf("the callback got %q", got)
				}
			}
		})
	}
}
