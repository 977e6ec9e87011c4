package runner

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/test/certtest"
)

// newHTTP3Peer is a peer over HTTP/3; the file holds its certificate. verify gets each handshake; nil: it is not
// needed.
func newHTTP3Peer(t *testing.T, h http.Handler, verify func(tls.ConnectionState) error) (address, caFile string) {
	t.Helper()
	pair := certtest.Self(t, "target.example")
	caFile, _ = pair.Write(t, t.TempDir())
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http3.Server{Handler: h, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair.TLS()}, ClientAuth: tls.RequestClientCert, VerifyConnection: verify,
	}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(udp)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		_ = udp.Close()
		<-ended
	})
	return udp.LocalAddr().String(), caFile
}

func http3Plan(address, ca string, rates ...rv.Rate) *rv.Plan {
	plan := securePlan(address, rv.TLS{CAFile: ca, ServerName: "target.example", MinVersion: "1.3", MaxVersion: "1.3",
		ALPN: []string{"h3"}}, rates...)
	plan.Targets[0].Protocol = rv.ProtocolH3
	return plan
}

// TestRunOverHTTP3: the runner counts what the peer counts, in closed loops and at a rate, with 1 and more workers. It
// sends its certificate.
func TestRunOverHTTP3(t *testing.T) {
	own := certtest.Self(t, "runner.test")
	cert, key := own.Write(t, t.TempDir())
	verify := func(c tls.ConnectionState) error {
		if len(c.PeerCertificates) != 1 || !own.Equal(c.PeerCertificates[0]) {
			t.Errorf("the peer got %d certificates, want that of the runner", len(c.PeerCertificates))
		}
		return nil
	}
	for _, workers := range []int{1, 2} {
		p := &lifecycle{alive: map[string]bool{}, bodies: map[string]int{}}
		address, ca := newHTTP3Peer(t, p, verify)
		plan := http3Plan(address, ca, rv.Rate{Name: "fast", ClosedLoop: true, Requests: 1500},
			rv.Rate{Name: "rate", Count: 500, Period: time.Second, Requests: 250})
		plan.Targets[0].TLS.CertFile, plan.Targets[0].TLS.KeyFile = cert, key
		s, err := Run(t.Context(), plan, split.Whole(plan), Options{Workers: workers}, nil)
		if err != nil {
			t.Fatal(err)
		}
		law(t, s)
		if s.Counters.Succeeded != 1750 || p.requests.Load() != 1750 {
			t.Errorf("%d workers: %+v, the peer counted %d", workers, s.Counters, p.requests.Load())
		}
		if s.Counters.BytesSent < 1750*20 || s.Counters.BytesReceived < 1750*20 {
			t.Errorf("%d octets sent, %d received", s.Counters.BytesSent, s.Counters.BytesReceived)
		}
	}
}

// TestResumptionOverHTTP3: each connection is one TLS handshake of the snapshot. Those after the first resume its
// session if the plan asks for that. The last connection has less than its maximum of requests at the end, so none is
// opened then.
func TestResumptionOverHTTP3(t *testing.T) {
	for _, resumption := range []bool{false, true} {
		p := &lifecycle{alive: map[string]bool{}, bodies: map[string]int{}}
		var handshakes, resumed atomic.Int64
		address, ca := newHTTP3Peer(t, p, func(c tls.ConnectionState) error {
			handshakes.Add(1)
			if c.DidResume {
				resumed.Add(1)
			}
			return nil
		})
		plan := http3Plan(address, ca, rv.Rate{Name: "all", ClosedLoop: true, Requests: 285})
		target := &plan.Targets[0]
		target.TLS.SessionResumption, target.Connections, target.Connecting.MaxRequests = resumption, 1, 30
		s, err := Run(t.Context(), plan, split.Whole(plan), Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		law(t, s)
		opened := handshakes.Load()
		if s.Counters.Succeeded != 285 || opened != 10 || (resumed.Load() > 0) != resumption || resumed.Load() >= opened {
			t.Errorf("%+v; the peer counted %d handshakes, %d of them resumed a session", s.Counters, opened, resumed.Load())
		}
		if s.Counters.Resumed != resumed.Load() || s.Counters.EarlyData != 0 {
			t.Errorf("%d resumed, %d with early data; the peer counted %d and 0", s.Counters.Resumed, s.Counters.EarlyData, resumed.Load())
		}
		if x := &s.Targets[0].TLSHandshake; x.Count != opened {
			t.Errorf("%d TLS handshakes, the peer counted %d", x.Count, opened)
		}
	}
}
