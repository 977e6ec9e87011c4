package control

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// authority is a certificate authority of a test.
type authority struct {
	t *testing.T
	*certtest.Pair
}

// leaf says what a certificate of a test is like; the zero value is nobody's.
type leaf struct {
	names   []string
	usage   []x509.ExtKeyUsage
	expired bool
}

var (
	operator = leaf{names: []string{rv.OperatorName}, usage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	runner   = leaf{names: []string{rv.RunnerName}, usage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
)

func newAuthority(t *testing.T) *authority {
	t.Helper()
	return &authority{t, certtest.New(t, x509.Certificate{
		Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)}
}

func (a *authority) issue(l leaf) *certtest.Pair {
	a.t.Helper()
	template := x509.Certificate{DNSNames: l.names, ExtKeyUsage: l.usage, KeyUsage: x509.KeyUsageDigitalSignature}
	if l.expired {
		template.NotAfter = time.Now().Add(-time.Minute)
	}
	return certtest.New(a.t, template, a.Pair)
}

func (a *authority) client(l leaf) *tls.Certificate {
	a.t.Helper()
	pair := a.issue(l).TLS()
	return &pair
}

// server returns the configuration of a runner's server.
func (a *authority) server() *tls.Config {
	a.t.Helper()
	pair := a.issue(runner)
	config, err := ServerTLS([]byte(a.PEM()), []byte(pair.PEM()), []byte(pair.KeyPEM()))
	if err != nil {
		a.t.Fatal(err)
	}
	return config
}

// serve starts a server with a runner's certificate and returns it with its address.
func (a *authority) serve(e Engine, conflict error) (*Server, string) {
	a.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		a.t.Fatal(err)
	}
	s := New(Options{Engine: e, Conflict: conflict, TLS: a.server()})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	a.t.Cleanup(func() {
		if err := s.Shutdown(a.t.Context()); err != nil && a.t.Context().Err() == nil {
			a.t.Error(err)
		}
		if err := <-served; err != nil {
			a.t.Error(err)
		}
	})
	return s, l.Addr().String()
}
