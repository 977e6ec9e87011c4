package dial

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// TestCertificateDirectory: each certificate of a directory is that of a client with sessions of its own, in the order
// of the names.
func TestCertificateDirectory(t *testing.T) {
	dir := t.TempDir()
	plan := &rv.TLS{MinVersion: "1.2", MaxVersion: "1.3", InsecureSkipVerify: true, CertDirectory: dir, SessionResumption: true}
	refused := func(want string) {
		t.Helper()
		if _, err := ClientConfig(plan, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	refused("certDirectory: " + dir + " has no file *.crt")
	for i := range 3 {
		name := fmt.Sprintf("nf-%d", 2-i)
		certtest.Self(t, name).WriteAs(t, dir, name)
	}
	all, err := ClientConfig(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 {
		t.Fatalf("%d clients, want 3", len(all))
	}
	for i, c := range all {
		if got, want := sent(t, c, nil), fmt.Sprintf("nf-%d", i); got != want {
			t.Errorf("client %d is %q, want %s", i, got, want)
		}
		if i > 0 && c.ClientSessionCache == all[0].ClientSessionCache {
			t.Errorf("client %d has the sessions of another one", i)
		}
	}
	if err := os.Remove(filepath.Join(dir, "nf-1.key")); err != nil {
		t.Fatal(err)
	}
	refused("nf-1.crt: open " + filepath.Join(dir, "nf-1.key"))
}

// sent returns the name in the certificate that a client sends to a server which accepts some authorities; nil: all.
func sent(t *testing.T, c *tls.Config, authorities [][]byte) string {
	t.Helper()
	pair, err := c.GetClientCertificate(&tls.CertificateRequestInfo{AcceptableCAs: authorities, Version: tls.VersionTLS13,
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}})
	if err != nil {
		t.Fatal(err)
	}
	if len(pair.Certificate) == 0 {
		return ""
	}
	return pair.Leaf.Subject.CommonName
}

// TestOneCertificate: a client sends its certificate only to a server that accepts one of its authority.
func TestOneCertificate(t *testing.T) {
	own, other := certtest.Self(t, "own"), certtest.Self(t, "other")
	cert, key := own.Write(t, t.TempDir())
	all, err := ClientConfig(&rv.TLS{MinVersion: "1.2", MaxVersion: "1.3", InsecureSkipVerify: true, CertFile: cert, KeyFile: key}, nil)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d clients, %v; want 1", len(all), err)
	}
	for _, tt := range []struct {
		name        string
		authorities [][]byte
		want        string
	}{
		{"all authorities", nil, "own"},
		{"its own authority", [][]byte{other.RawSubject, own.RawSubject}, "own"},
		{"another authority", [][]byte{other.RawSubject}, ""},
	} {
		if got := sent(t, all[0], tt.authorities); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
