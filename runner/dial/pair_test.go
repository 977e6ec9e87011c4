package dial

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// issuer signs the certificates of both sides.
type issuer struct{ *certtest.Pair }

func newIssuer(t *testing.T) issuer {
	return issuer{certtest.New(t, x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(1000 * time.Hour)}, nil)}
}

// issue returns a pair that is valid for some time, of now. Its name is also that of the server.
func (i issuer) issue(t *testing.T, name string, valid time.Duration) *certtest.Pair {
	return certtest.New(t, x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{"listener.test"},
		NotAfter: time.Now().Add(valid)}, i.Pair)
}

// mount is a directory as the kubelet mounts a Secret: its files are links, and one rename replaces all of them.
type mount string

func newMount(t *testing.T, p *certtest.Pair) mount {
	t.Helper()
	m := mount(t.TempDir())
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink("..data/"+name, m.file(name)); err != nil {
			t.Fatal(err)
		}
	}
	m.replace(t, p, p)
	return m
}

func (m mount) file(name string) string { return filepath.Join(string(m), name) }

// replace replaces the files by the certificate of a pair and the key of another one.
func (m mount) replace(t *testing.T, cert, key *certtest.Pair) {
	t.Helper()
	next, err := os.MkdirTemp(string(m), "..next")
	if err != nil {
		t.Fatal(err)
	}
	(&certtest.Pair{Certificate: cert.Certificate, Key: key.Key}).Write(t, next)
	link := m.file("..data_tmp")
	if err := os.Symlink(filepath.Base(next), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link, m.file("..data")); err != nil {
		t.Fatal(err)
	}
}

// sides are a client of a target and a listener, which connect to each other.
type sides struct {
	client   rv.TLS
	listener rv.ListenerTLS
}

// handshake is what both sides have of a connection.
type handshake struct {
	client, listener string // the names in the certificates, as the other side has them
	resumed          bool
	err              error // of the side that caused it
}

// connector returns what opens a connection between both sides.
func (s *sides) connector(t *testing.T) func() handshake {
	t.Helper()
	clients, err := ClientConfig(&s.client, nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ServerConfig(&s.listener, "")
	if err != nil {
		t.Fatal(err)
	}
	return func() (h handshake) {
		ours, theirs := net.Pipe()
		accepted := make(chan error)
		go func() {
			c, err := Accepted(t.Context(), theirs, server)
			if err == nil {
				h.client = c.Secure.State().PeerCertificates[0].Subject.CommonName
				c.Close()
			}
			accepted <- err
		}()
		c, err := Open(t.Context(), &Request{Protocol: rv.ProtocolH2, Timeout: time.Minute, TLS: clients[0],
			Endpoint: &rv.Endpoint{Address: "10.0.0.1:443", Authority: "listener.test"}, Network: piped{conn: ours}})
		if err == nil {
			h.listener, h.resumed = c.Secure.State().PeerCertificates[0].Subject.CommonName, c.Resumed
			c.Close()
		}
		if h.err = <-accepted; err != nil && !strings.Contains(err.Error(), "remote error") {
			h.err = err
		}
		return h
	}
}

// piped is a Network whose only connection is there already.
type piped struct {
	Network
	conn net.Conn
}

func (p piped) DialContext(context.Context, string, string) (net.Conn, error) { return p.conn, nil }

// TestRenewedPair: each side takes the certificate that the kubelet has mounted since, at a handshake.
func TestRenewedPair(t *testing.T) {
	for name, edit := range map[string]func(*sides, mount){
		"client": func(s *sides, m mount) {
			s.client.CertFile, s.client.KeyFile = m.file("tls.crt"), m.file("tls.key")
		},
		"client of a directory": func(s *sides, m mount) {
			s.client.CertFile, s.client.KeyFile, s.client.CertDirectory = "", "", string(m)
		},
		"listener": func(s *sides, m mount) {
			s.listener.CertFile, s.listener.KeyFile = m.file("tls.crt"), m.file("tls.key")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ca := newIssuer(t)
				caFile, _ := ca.Write(t, t.TempDir())
				other := newMount(t, ca.issue(t, "other", 1000*time.Hour))
				cert, key := other.file("tls.crt"), other.file("tls.key")
				one, two, three := ca.issue(t, "one", time.Hour), ca.issue(t, "two", time.Hour), ca.issue(t, "three", 5*time.Hour)
				m := newMount(t, one)
				s := sides{
					rv.TLS{MinVersion: "1.2", MaxVersion: "1.3", ALPN: []string{"h2"}, CAFile: caFile, CertFile: cert, KeyFile: key},
					rv.ListenerTLS{MinVersion: "1.2", ClientCAFile: caFile, CertFile: cert, KeyFile: key},
				}
				edit(&s, m)
				connect := s.connector(t)
				for _, step := range []struct {
					name      string
					after     time.Duration // the last step
					cert, key *certtest.Pair
					want      string // the name in the certificate
					err       string
				}{
					{name: "as at first", want: "one"},
					{name: "read not long ago", after: 29 * time.Second, cert: two, key: two, want: "one"},
					{name: "read again", after: 2 * time.Second, want: "two"},
					{name: "the key of another one", after: time.Minute, cert: three, key: two, want: "two"},
					{name: "expired meanwhile", after: 2 * time.Hour, err: "the certificate expired and cannot be read again: tls: private key"},
					{name: "complete", after: time.Minute, cert: three, key: three, want: "three"},
				} {
					if step.cert != nil {
						m.replace(t, step.cert, step.key)
					}
					time.Sleep(step.after)
					h := connect()
					got := strings.TrimSuffix(strings.TrimPrefix(h.client+h.listener, "other"), "other")
					if got != step.want || (h.err == nil) != (step.err == "") || h.err != nil && !strings.Contains(h.err.Error(), step.err) {
						t.Errorf("%s: %q, %v; want %q, %q", step.name, got, h.err, step.want, step.err)
					}
				}
			})
		})
	}
}

// TestRenewedPairAndSessions: a resumed session has the certificate of its first handshake, and is not resumed after
// that has expired.
func TestRenewedPairAndSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newIssuer(t)
		caFile, _ := ca.Write(t, t.TempDir())
		m := newMount(t, ca.issue(t, "one", time.Hour))
		cert, key := m.file("tls.crt"), m.file("tls.key")
		s := sides{
			rv.TLS{MinVersion: "1.2", MaxVersion: "1.2", ALPN: []string{"h2"}, CAFile: caFile, CertFile: cert, KeyFile: key,
				SessionResumption: true},
			rv.ListenerTLS{MinVersion: "1.2", ClientCAFile: caFile, CertFile: cert, KeyFile: key},
		}
		connect := s.connector(t)
		two := ca.issue(t, "two", 100*time.Hour)
		for _, step := range []struct {
			after time.Duration // the last step
			want  handshake
		}{
			{0, handshake{client: "one", listener: "one"}},
			{time.Minute, handshake{client: "one", listener: "one", resumed: true}},
			{time.Hour, handshake{client: "two", listener: "two"}},
		} {
			time.Sleep(step.after)
			if got := connect(); got != step.want {
				t.Errorf("%v later: %+v, want %+v", step.after, got, step.want)
			}
			m.replace(t, two, two)
		}
	})
}
