package compile

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// alpnH3 is the protocol that a client of HTTP/3 offers (RFC 9114 3.1).
const alpnH3 = "h3"

// http3 reports what a target with protocol h3 cannot have.
func (c *checker) http3(at *field.Path, t *v1alpha1.Target) {
	if t.HTTP1 != nil {
		c.fail(at.Child("http1"), "is not allowed with protocol h3")
	}
	if h := t.HTTP2; h != nil && (v1alpha1.HTTP2{PingInterval: h.PingInterval}) != *h {
		c.fail(at.Child("http2"), "is of HTTP/2; allowed with protocol h3: pingInterval")
	}
	if s := t.TLS; s != nil {
		if s.MaxVersion < v1alpha1.TLS13 {
			c.fail(at.Child("tls", "maxVersion"), "must be 1.3 with protocol h3: QUIC needs TLS 1.3 (RFC 9001 4.2)")
		}
		if len(s.CipherSuites) > 0 {
			c.fail(at.Child("tls", "cipherSuites"), "is not allowed with protocol h3: TLS 1.3 has fixed cipher suites")
		}
		if t.FollowAltSvc && len(s.ALPN) > 0 {
			c.fail(at.Child("tls", "alpn"), "is not allowed with followAltSvc: the load is HTTP/3")
		}
	}
	if strings.HasPrefix(t.ConnectTo, "unix:") {
		c.fail(at.Child("connectTo"), "must not be a unix socket with protocol h3, which uses UDP")
	}
}

// altSvc makes the target one of HTTP/3 whose address is found by Alt-Svc.
func (c *checker) altSvc(at *field.Path, t *v1alpha1.Target, out *runnerv1alpha1.Target) {
	path := at.Child("followAltSvc")
	switch {
	case len(out.Endpoints) > 0 && out.Endpoints[0].Scheme != "https":
		c.fail(path, "needs an https url: alternative services have a certificate of the target (RFC 7838 2.1)")
	case t.Protocol != v1alpha1.ProtocolAuto && t.Protocol != v1alpha1.ProtocolH2:
		c.fail(path, "needs protocol Auto or h2")
	case t.ConnectTo != "":
		c.fail(path, "cannot be used with connectTo: Alt-Svc has the address")
	case t.Connecting != nil && t.Connecting.Open != v1alpha1.OpenAtStart:
		c.fail(path, "needs connecting.open AtStart: a runner asks for Alt-Svc as it opens connections before the load")
	default:
		out.Protocol, out.AltSvc = runnerv1alpha1.ProtocolH3, true
	}
}
