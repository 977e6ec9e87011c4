package control

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// authority is a certificate authority of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
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
	a := &authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = sign(t, template, template, a.key, a.key)
	return a
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue returns the PEM of a certificate and of its key.
func (a *authority) issue(l leaf) (cert, key []byte) {
	a.t.Helper()
	k := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: l.names, ExtKeyUsage: l.usage,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if l.expired {
		template.NotAfter = time.Now().Add(-time.Minute)
	}
	c := sign(a.t, template, a.cert, k, a.key)
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func (a *authority) client(l leaf) *tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.issue(l))
	if err != nil {
		a.t.Fatal(err)
	}
	return &pair
}

// serve starts a server with a runner's certificate and returns it with its address.
func (a *authority) serve(e Engine, conflict error) (*Server, string) {
	a.t.Helper()
	cert, key := a.issue(runner)
	config, err := ServerTLS(a.pem(), cert, key)
	if err != nil {
		a.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		a.t.Fatal(err)
	}
	s := New(Options{Engine: e, Conflict: conflict, TLS: config})
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

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sign(t *testing.T, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
