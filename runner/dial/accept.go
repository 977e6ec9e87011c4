package dial

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// ServerConfig makes the TLS configuration of a listener, whose URLs have the host. It reads the files that the plan
// names.
func ServerConfig(t *rv.ListenerTLS, host string) (*tls.Config, error) {
	c := &tls.Config{NextProtos: []string{"h2"}, DynamicRecordSizingDisabled: true} //nolint:gosec // MinVersion is set below
	var err error
	if c.MinVersion, err = version(t.MinVersion); err != nil {
		return nil, fmt.Errorf("minVersion: %w", err)
	}
	if t.ClientCAFile != "" {
		if c.ClientCAs, err = authorities(t.ClientCAFile); err != nil {
			return nil, rv.InField("clientCAFile", err)
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, setCertificate(c, t, host)
}

// setCertificate sets the certificate of a listener.
func setCertificate(c *tls.Config, t *rv.ListenerTLS, host string) error {
	if t.CertFile == "" && t.KeyFile == "" {
		own, err := selfSigned(host)
		c.Certificates = []tls.Certificate{own}
		return err
	}
	pair, err := ReadPair(t.CertFile, t.KeyFile)
	if err != nil {
		return rv.InField("certFile", err)
	}
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Current() }
	return nil
}

// selfSignedFor is how long a certificate of selfSigned is valid, because a runner makes it once. No test is longer: a
// plan has at most 256 stages of 30 days, which is 21 years.
const selfSignedFor = 25 * 365 * 24 * time.Hour

// selfSigned makes a certificate for a host name or an IP address. Only a peer that does not verify certificates
// accepts it.
func selfSigned(host string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "h2surge listener"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfSignedFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Accepted returns a connection that a peer has opened. With TLS, it runs the handshake first, until the context ends.
// If it fails, it has closed c.
func Accepted(ctx context.Context, c net.Conn, config *tls.Config) (*Connection, error) {
	out := &Connection{FD: -1, Protocol: rv.ProtocolH2C, Address: c.RemoteAddr().String()}
	if config != nil {
		if err := out.secureServer(ctx, c, config); err != nil {
			_ = c.Close() // the other error is returned
			return nil, err
		}
	}
	if err := out.take(c); err != nil {
		return nil, err
	}
	return out, nil
}

// errNotH2 is of a peer that has completed the handshake without ALPN.
var errNotH2 = errors.New("the peer did not offer h2 by ALPN (RFC 9113 3.2)")

func (out *Connection) secureServer(ctx context.Context, c net.Conn, config *tls.Config) error {
	s := newSecureServer(c, config)
	err := s.Handshake(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("TLS handshake: it timed out")
	case err != nil:
		return fmt.Errorf("TLS handshake: %w", err)
	case s.State().NegotiatedProtocol != "h2":
		return errNotH2
	}
	s.Detach()
	out.Secure, out.Protocol = s, rv.ProtocolH2
	return nil
}
