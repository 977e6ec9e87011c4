package cli

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/h2surge/h2surge/test/certtest"
)

// web is a server that is not ours: net/http, over TLS or not.
type web struct {
	url string
	ca  string // file

	mu      sync.Mutex
	counted counts
}

type counts struct {
	requests    map[string]int // by protocol
	paths       map[string]int
	names       map[string]int // common names of clients' certificates
	connections int
}

func newCounts() counts {
	return counts{requests: map[string]int{}, paths: map[string]int{}, names: map[string]int{}}
}

// take returns what has been counted since the last time.
func (s *web) take() counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.counted
	s.counted = newCounts()
	return out
}

func (s *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted.requests[r.Proto]++
	s.counted.paths[r.URL.Path]++
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		s.counted.names[r.TLS.PeerCertificates[0].Subject.CommonName]++
	}
	_, _ = io.WriteString(w, "hello")
}

func (s *web) connected(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.mu.Lock()
		s.counted.connections++
		s.mu.Unlock()
	}
}

// newWeb starts one; config is nil for cleartext. It speaks HTTP/2 over TLS.
func newWeb(t *testing.T, config *tls.Config) *web {
	t.Helper()
	s := &web{counted: newCounts()}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = s.connected
	if config == nil {
		server.Start()
	} else {
		server.EnableHTTP2, server.TLS = true, config
		server.StartTLS()
		s.ca = file(t, "ca.pem", certtest.PEM(server.Certificate()))
	}
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func TestEndToEndOverTLS(t *testing.T) {
	for _, tc := range []struct {
		name     string
		args     []string
		protocol string
	}{
		{"what ALPN chooses", []string{"-c", "3", "-m", "8"}, "HTTP/2.0"},
		{"what is wanted most", []string{"-c", "3", "--alpn", "h2"}, "HTTP/2.0"},
		{"HTTP/1.1 by ALPN", []string{"-c", "3", "--alpn", "http/1.1"}, "HTTP/1.1"},
		{"HTTP/1.1", []string{"-c", "3", "--h1", "-m", "4"}, "HTTP/1.1"},
		{"small windows and tables", []string{"-c", "3", "-w", "3", "-W", "16", "--header-table-size", "0", "--encoder-header-table-size", "0"}, "HTTP/2.0"},
		{"another name for the same server", []string{"-c", "3", "--sni", "example.com"}, "HTTP/2.0"},
		{"one suite, one group", []string{"-c", "3", "--groups", "P-256", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"}, "HTTP/2.0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			peer := newWeb(t, &tls.Config{MinVersion: tls.VersionTLS12})
			r := run(t, "", 0, append(tc.args, "-n", "500", "--cacert", peer.ca, peer.url+"/x")...)
			if got := peer.take(); r.Requests.Succeeded != 500 || got.requests[tc.protocol] != 500 || got.connections != 3 {
				t.Errorf("%+v; the server counted %+v", r.Requests, got)
			}
		})
	}
}

func TestEndToEndVerifies(t *testing.T) {
	waits(t)
	for name, field := range map[string]string{
		"an unknown authority": "{}",
		"another name":         "{caFrom: {file: CA}, serverName: other.example}",
	} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			peer := newWeb(t, &tls.Config{MinVersion: tls.VersionTLS12})
			if r := run(t, "", 0, "-n", "10", "--insecure", peer.url); r.Requests.Succeeded != 10 {
				t.Errorf("%+v", r.Requests)
			}
			manifest := fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: verified}
spec:
  targets: [{name: t, url: %q, connectTimeout: 3s, tls: %s}]
  templates: [{name: get}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: r, closedLoop: {}, requests: 10}]
`, peer.url, strings.ReplaceAll(field, "CA", peer.ca))
			var out, errors bytes.Buffer
			code := execute(t.Context(), []string{"h2surge", "run", "-f", "-"}, strings.NewReader(manifest), &out, &errors, parts())
			if code != 5 || !strings.Contains(errors.String(), "x509") {
				t.Errorf("exit code %d, %s", code, errors.String())
			}
			if got := peer.take(); got.requests["HTTP/2.0"] != 10 {
				t.Errorf("a server that was not trusted got requests: %v", got.requests)
			}
		})
	}
}

func TestEndToEndOneRequestAConnection(t *testing.T) {
	peer := newWeb(t, nil)
	r := run(t, "", 0, "-n", "200", "-c", "5", "--h1", "--no-keepalive", peer.url)
	// Those that stand ready when the last request has been sent carry none.
	if got := peer.take(); r.Requests.Succeeded != 200 || got.requests["HTTP/1.1"] != 200 || got.connections < 200 || got.connections > 205 {
		t.Errorf("%+v; the server counted %+v", r.Requests, got)
	}
}

func TestEndToEndURLsInTurn(t *testing.T) {
	peer := newWeb(t, nil)
	urls := file(t, "urls", peer.url+"/a\n\n"+peer.url+"/b\r\n/c\n")
	for _, args := range [][]string{{"-i", urls}, {peer.url + "/a", "/b", peer.url + "/c"}} {
		r := run(t, "", 0, append([]string{"-n", "300", "-c", "4", "--h1"}, args...)...)
		got := peer.take().paths
		if r.Requests.Succeeded != 300 || got["/a"] != 100 || got["/b"] != 100 || got["/c"] != 100 {
			t.Errorf("%v: %+v; the server counted %v", args, r.Requests, got)
		}
		if len(r.Steps) != 3 || r.Steps[1].Sent != 100 {
			t.Errorf("%+v", r.Steps)
		}
	}
}

func TestEndToEndElsewhere(t *testing.T) {
	peer := newWeb(t, &tls.Config{MinVersion: tls.VersionTLS12})
	address := strings.TrimPrefix(peer.url, "https://")
	r := run(t, "", 0, "-n", "20", "-c", "4", "--cacert", peer.ca, "--connect-to", address, "--local-address", "127.0.0.1", "-r", "2", "--connection-rate-period", "20ms", "https://example.com/x")
	if got := peer.take(); r.Requests.Succeeded != 20 || got.paths["/x"] != 20 {
		t.Errorf("%+v; the server counted %+v", r.Requests, got)
	}
}

// TestEndToEndRamp: the ramp may take longer than one connection's timeout.
func TestEndToEndRamp(t *testing.T) {
	waits(t)
	peer := newWeb(t, nil)
	manifest := fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: ramp}
spec:
  targets:
    - {name: t, url: %q, protocol: http1, connections: 4, connectTimeout: 3s, connecting: {ramp: {connections: 1, period: 1050ms}}}
  templates: [{name: get}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: r, closedLoop: {}, requests: 10}]
`, peer.url)
	r := run(t, manifest, 0, "-f", "-")
	if got := peer.take(); r.Requests.Succeeded != 10 || got.connections != 4 {
		t.Errorf("%+v; the server counted %+v", r.Requests, got)
	}
}

// TestEndToEndMutualTLS: certificates out of objects in the manifest, and out of files; and no
// secret stays behind.
func TestEndToEndMutualTLS(t *testing.T) {
	own := certtest.Self(t, "runner")
	cert, key := own.PEM(), own.KeyPEM()
	peer := newWeb(t, &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: own.Pool()})
	ca, err := os.ReadFile(peer.ca)
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	manifest := fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: mutual}
spec:
  targets:
    - name: t
      url: %s
      connections: 2
      tls: {caFrom: {configMapKeyRef: {name: authority, key: ca.crt}}, certificate: {secretRef: {name: client}}}
  templates: [{name: get}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: r, closedLoop: {}, requests: 50}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: authority}
data:
  ca.crt: %q
---
apiVersion: v1
kind: Secret
metadata: {name: client}
type: kubernetes.io/tls
stringData:
  tls.crt: %q
  tls.key: %q
`, peer.url, ca, cert, key)
	r := run(t, manifest, 0, "-f", "-")
	if got := peer.take(); r.Requests.Succeeded != 50 || got.names["runner"] != 50 {
		t.Errorf("%+v; the server counted %+v", r.Requests, got)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	both := file(t, "client.pem", cert+key)
	r = run(t, "", 0, "-n", "50", "--cacert", peer.ca, "--cert", both, peer.url)
	if got := peer.take(); r.Requests.Succeeded != 50 || got.names["runner"] != 50 {
		t.Errorf("%+v; the server counted %+v", r.Requests, got)
	}
}

func TestReferencesThatAreNotThere(t *testing.T) {
	const head = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: mutual}
spec:
  targets:
    - {name: t, url: "https://a", tls: {caFrom: {configMapKeyRef: {name: authority, key: ca.crt}}, certificate: {secretRef: {name: client}}}}
  templates: [{name: get}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: r, closedLoop: {}, requests: 50}]
---
apiVersion: v1
kind: Secret
`
	for name, tc := range map[string]struct{ secret, want string }{
		"another namespace": {"metadata: {name: client, namespace: there}\n",
			`spec.targets[0].tls.caFrom.configMapKeyRef: there is no ConfigMap "authority" of namespace "default" in the manifest; add it as a document, or name files instead
spec.targets[0].tls.certificate.secretRef: there is no Secret "client" of namespace "default" in the manifest; add it as a document, or name files instead
`},
		"no key": {"metadata: {name: client}\ndata: {tls.crt: YQ==}\n",
			`spec.targets[0].tls.caFrom.configMapKeyRef: there is no ConfigMap "authority" of namespace "default" in the manifest; add it as a document, or name files instead
spec.targets[0].tls.certificate.secretRef: Secret "client" has no key "tls.key"
`},
	} {
		at := file(t, "m.yaml", head+tc.secret)
		got := h2surge(t, nil, nil, "run", "-f", at)
		if got.errors = strings.ReplaceAll(got.errors, at+":6: ", ""); got.code != 1 || got.errors != tc.want {
			t.Errorf("%s: exit code %d\n%swant\n%s", name, got.code, got.errors, tc.want)
		}
	}
}
