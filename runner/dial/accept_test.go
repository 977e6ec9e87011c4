package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// accept returns what Accepted returns for a peer that does something with its end of a connection.
func accept(t *testing.T, config *tls.Config, within time.Duration, peer func(net.Conn)) (*Connection, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go peer(c)
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return Accepted(ctx, a, config)
}

// shakes is a peer that runs a handshake, and reads the alert of the listener.
func shakes(config *tls.Config) func(net.Conn) {
	return func(c net.Conn) {
		if s := tls.Client(c, config); s.Handshake() == nil {
			_, _ = s.Read(make([]byte, 1))
		}
	}
}

func TestAccepted(t *testing.T) {
	const enough = time.Minute
	pair, other := certtest.Self(t, "caller.test"), certtest.Self(t, "other.test").TLS()
	ca, _ := pair.Write(t, t.TempDir())
	server, err := ServerConfig(&rv.ListenerTLS{MinVersion: "1.2"}, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	mutual, err := ServerConfig(&rv.ListenerTLS{MinVersion: "1.3", ClientCAFile: ca}, "listener.test")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(server.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if longest := 256 * 30 * 24 * time.Hour; time.Until(leaf.NotAfter) < longest {
		t.Errorf("the certificate of the listener expires at %v, in a test of %v", leaf.NotAfter, longest)
	}
	own := x509.NewCertPool()
	own.AddCert(leaf)
	h2 := []string{"h2"}
	for name, tt := range map[string]struct {
		config *tls.Config
		within time.Duration
		peer   func(net.Conn)
		want   string // in the error
	}{
		"cleartext":                 {nil, enough, func(net.Conn) {}, ""},
		"a peer that verifies":      {server, enough, shakes(&tls.Config{RootCAs: own, ServerName: "127.0.0.1", NextProtos: h2}), ""},
		"TLS 1.2":                   {server, enough, shakes(&tls.Config{RootCAs: own, ServerName: "127.0.0.1", NextProtos: h2, MaxVersion: tls.VersionTLS12}), ""},
		"a peer that does not know": {server, enough, shakes(&tls.Config{RootCAs: pair.Pool(), ServerName: "127.0.0.1", NextProtos: h2}), "bad certificate"},
		"no ALPN":                   {server, enough, shakes(&tls.Config{InsecureSkipVerify: true}), "h2 by ALPN"},
		"HTTP/1.1":                  {server, enough, shakes(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}), "h2 by ALPN"},
		"cleartext to TLS":          {server, enough, func(c net.Conn) { _, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") }, "first record does not look like a TLS handshake"},
		"a silent peer":             {server, time.Millisecond, func(net.Conn) {}, "timed out"},
		"a peer that hangs up":      {server, enough, func(c net.Conn) { _ = c.Close() }, "EOF"},
		"a client certificate":      {mutual, enough, shakes(&tls.Config{InsecureSkipVerify: true, NextProtos: h2, Certificates: []tls.Certificate{pair.TLS()}}), ""},
		"no client certificate":     {mutual, enough, shakes(&tls.Config{InsecureSkipVerify: true, NextProtos: h2}), "didn't provide a certificate"},
		"of another authority":      {mutual, enough, shakes(&tls.Config{InsecureSkipVerify: true, NextProtos: h2, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &other, nil }}), "unknown authority"},
		"an old version":            {mutual, enough, shakes(&tls.Config{InsecureSkipVerify: true, NextProtos: h2, MaxVersion: tls.VersionTLS12}), "unsupported versions"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := accept(t, tt.config, tt.within, tt.peer)
			if err == nil {
				defer c.Close()
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if err == nil && (c.Secure != nil) != (tt.config != nil) {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestServerConfigErrors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		in   rv.ListenerTLS
		want string
	}{
		"no such certificate": {rv.ListenerTLS{MinVersion: "1.2", CertFile: "/nowhere/tls.crt", KeyFile: "/nowhere/tls.key"}, "certFile: open /nowhere/tls.crt: no such file or directory"},
		"no such authority":   {rv.ListenerTLS{MinVersion: "1.2", ClientCAFile: "/nowhere/ca.crt"}, "clientCAFile: open /nowhere/ca.crt: no such file or directory"},
		"an empty authority":  {rv.ListenerTLS{MinVersion: "1.2", ClientCAFile: empty}, "clientCAFile: contains no certificate"},
		"a version":           {rv.ListenerTLS{MinVersion: "1.1"}, `minVersion: "1.1" is neither 1.2 nor 1.3`},
	} {
		if _, err := ServerConfig(&tt.in, "a"); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if _, err := ServerConfig(&rv.ListenerTLS{MinVersion: "1.2", CertFile: empty, KeyFile: empty}, "a"); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty certificate: %v", err)
	}
}
