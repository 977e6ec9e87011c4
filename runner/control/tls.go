package control

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// LoadTLS makes the endpoint's TLS configuration of the PEM files in dir (rv.TLSCAFile and its
// siblings). They are read once: a runner's certificate is made for its run and outlives it.
func LoadTLS(dir string) (*tls.Config, error) {
	var pem [3][]byte
	for i, name := range []string{rv.TLSCAFile, rv.TLSCertFile, rv.TLSKeyFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("reading the control endpoint's certificates: %w", err)
		}
		pem[i] = b
	}
	return ServerTLS(pem[0], pem[1], pem[2])
}

// ServerTLS makes a configuration that admits only clients with a certificate of ca for the
// operator. All arguments are PEM.
func ServerTLS(ca, cert, key []byte) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s contains no certificate", rv.TLSCAFile)
	}
	leaf, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the control endpoint's key pair: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{leaf},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool,
		// Each connection shows its certificate: a ticket would outlive what it was issued on.
		SessionTicketsDisabled: true,
		VerifyConnection:       verifyOperator,
	}, nil
}

var (
	errNoCertificate = errors.New("no client certificate")
	errUsage         = errors.New("the client's certificate is not meant for clients")
	errName          = errors.New("the client's certificate is not the operator's")
)

// verifyOperator runs after the chain was verified. crypto/tls lets a certificate without any
// extended key usage pass as one for every use, and does not look at names of clients.
func verifyOperator(s tls.ConnectionState) error {
	if len(s.VerifiedChains) == 0 || len(s.PeerCertificates) == 0 {
		return errNoCertificate
	}
	leaf := s.PeerCertificates[0]
	if !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
		return errUsage
	}
	// Compared as a string, since VerifyHostname would take a wildcard for it.
	if !slices.Contains(leaf.DNSNames, rv.OperatorName) {
		return errName
	}
	return nil
}
