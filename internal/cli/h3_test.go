package cli

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/quic-go/quic-go/http3"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/test/certtest"
	"github.com/h2surge/h2surge/test/markdown"
)

// newHTTP3Web is newWeb over HTTP/3. It does not count connections.
func newHTTP3Web(t *testing.T) *web {
	t.Helper()
	pair := certtest.Self(t, "localhost")
	s := &web{counted: newCounts()}
	s.ca, _ = pair.Write(t, t.TempDir())
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http3.Server{Handler: s, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(udp)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		_ = udp.Close()
		<-ended
	})
	s.url = "https://" + udp.LocalAddr().String()
	return s
}

func TestEndToEndOverHTTP3(t *testing.T) {
	peer := newHTTP3Web(t)
	for _, args := range [][]string{
		{"--cacert", peer.ca, "--sni", "localhost", "-n", "500", "-c", "3", "-m", "8"},
		{"-k", "-n", "500", "-c", "3", "-d", "body"},
		{"-k", "-n", "500", "-c", "1", "-m", "100", "--connection-choice", "Batch"},
		{"-k", "--rps", "500", "-D", "1s", "-c", "2"},
	} {
		r := run(t, "", 0, append(args, "--h3", peer.url+"/x")...)
		if got := peer.take(); r.Requests.Succeeded != 500 || got.requests["HTTP/3.0"] != 500 {
			t.Errorf("%v: %+v; the server counted %+v", args, r.Requests, got)
		}
		if len(r.Protocols) != 1 || r.Protocols[0].Protocol != rv.ProtocolH3 || r.Protocols[0].URL != peer.url {
			t.Errorf("protocols %+v", r.Protocols)
		}
	}
}

// TestTryOverHTTP3 shows the request and the response with their version.
func TestTryOverHTTP3(t *testing.T) {
	peer := newHTTP3Web(t)
	manifest := file(t, "loadtest.yaml", fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: t}
spec:
  targets: [{name: t, url: "%s", protocol: h3, tls: {insecureSkipVerify: true}}]
  templates: [{name: a, method: POST, path: /x, body: abc}]
  chains: [{name: c, target: t, steps: [{name: a, template: a}]}]
  rates: [{name: r, requests: 1, closedLoop: {}}]
`, peer.url))
	var shown, errs bytes.Buffer
	if code := execute(t.Context(), []string{"h2surge", "try", manifest}, strings.NewReader(""), &shown, &errs, parts()); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	out := shown.String()
	for _, want := range []string{"POST " + peer.url + "/x HTTP/3", "HTTP/3 200", "content-length: 3"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// runDocsHTTP3 runs a LoadTest of a page against the target of h2surge over HTTP/3.
func runDocsHTTP3(t *testing.T, b markdown.Block) {
	peer := serve(t, mock.Options{ListenHTTP3: "127.0.0.1:0"})
	trust := strings.NewReplacer("protocol: h3", "protocol: h3\n      tls: {insecureSkipVerify: true}")
	r := runLess(t, b, trust, "", "--target-url", "https://"+peer.HTTP3Addr().String())
	if got, want := peer.Stats().Requests, uint64(r.WarmUp.Sent+r.Requests.Sent); got != want {
		t.Errorf("the target counted %d requests, the report has %d", got, want)
	}
}
