// Package certtest makes certificates for tests.
package certtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Pair is a certificate with its key.
type Pair struct {
	*x509.Certificate
	Key crypto.Signer
}

// Self returns a certificate for a name that is its own authority.
func Self(t testing.TB, name string) *Pair {
	t.Helper()
	return New(t, x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true,
		BasicConstraintsValid: true}, nil)
}

// New returns a certificate with a new key that by signs; nil: it signs itself. It is valid for an hour, unless the
// template says otherwise.
func New(t testing.TB, template x509.Certificate, by *Pair) *Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Of(t, key, template, by)
}

// Of is New with a key.
func Of(t testing.TB, key crypto.Signer, template x509.Certificate, by *Pair) *Pair {
	t.Helper()
	template.SerialNumber = big.NewInt(1)
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	if by == nil {
		by = &Pair{&template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.Certificate, key.Public(), by.Key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Pair{cert, key}
}

// TLS returns the pair for a tls.Config.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Raw}, PrivateKey: p.Key}
}

// Pool returns a pool with the certificate.
func (p *Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Certificate)
	return pool
}

// PEM returns the text of the certificate.
func (p *Pair) PEM() string { return PEM(p.Certificate) }

// PEM returns the text of a certificate.
func PEM(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// KeyPEM returns the text of the key.
func (p *Pair) KeyPEM() string {
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		panic(err) // it is of a kind without an encoding
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// Write writes tls.crt and tls.key, and returns their paths.
func (p *Pair) Write(t testing.TB, dir string) (cert, key string) {
	t.Helper()
	return p.WriteAs(t, dir, "tls")
}

// WriteAs is Write with another name than tls.
func (p *Pair) WriteAs(t testing.TB, dir, name string) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for path, text := range map[string]string{cert: p.PEM(), key: p.KeyPEM()} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
