package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"testing"

	"github.com/h2surge/h2surge/test/certtest"
)

// TestEndToEndPerInstance: each chain instance has a connection with a TLS handshake. Three connections at a time have
// the certificates of three clients, and come from the address of the interface lo.
func TestEndToEndPerInstance(t *testing.T) {
	waits(t)
	dir, trusted := t.TempDir(), x509.NewCertPool()
	for i := range 3 {
		name := fmt.Sprintf("nf-%d", i)
		own := certtest.Self(t, name)
		trusted.AddCert(own.Certificate)
		own.WriteAs(t, dir, name)
	}
	peer := newWeb(t, &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted})
	const manifest = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: per-instance}
spec:
  targets:
    - name: t
      url: %s
      connections: 3
      tls: {caFrom: {file: %q}, certificateDirectory: %q, sessionResumption: %v}
      connecting: {open: PerInstance, interface: lo}
  templates: [{name: a}, {name: b}]
  chains: [{name: c, target: t, steps: [{template: a}, {template: b}]}]
  rates: [{name: r, closedLoop: {concurrency: 3}, requests: 60}]
`
	for _, resumption := range []bool{false, true} {
		r := run(t, fmt.Sprintf(manifest, peer.url, peer.ca, dir, resumption), 0, "-f", "-")
		got := peer.take()
		chains := r.Chains.Started
		if r.Requests.Succeeded != 60 || chains < 30 || int64(got.connections) != chains || r.Generator.Connects != chains || r.Generator.Reconnects != 0 {
			t.Errorf("%d requests and %d chains over %d connections, %d of them to connect again; the server counted %d", r.Requests.Succeeded,
				chains, r.Generator.Connects, r.Generator.Reconnects, got.connections)
		}
		sum := 0
		for _, n := range got.names {
			sum += n
		}
		if len(got.names) != 3 || sum != 60 {
			t.Errorf("requests by certificate: %v", got.names)
		}
		if x := &r.Targets[0]; x.TLSHandshake.Count != chains || x.TLSHandshakesPerSecond <= 0 {
			t.Errorf("%d handshakes, %v/s", x.TLSHandshake.Count, x.TLSHandshakesPerSecond)
		}
		if n := r.Generator.Resumed; n > chains-3 || (n > 0) != resumption { // the first connection of each certificate is new
			t.Errorf("%d of %d connections resumed a session", n, chains)
		}
		if len(r.Failures) > 0 {
			t.Errorf("failures %v", r.Failures)
		}
	}
}
