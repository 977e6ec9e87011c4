package dial

import (
	"crypto/tls"
	"crypto/x509"
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
	c, err := ClientConfig(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := Identities(c)
	if len(all) != 3 {
		t.Fatalf("%d clients, want 3", len(all))
	}
	for i, c := range all {
		leaf, err := x509.ParseCertificate(c.Certificates[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("nf-%d", i); leaf.Subject.CommonName != want || len(c.Certificates) != 1 {
			t.Errorf("client %d is %s, want %s", i, leaf.Subject.CommonName, want)
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

func TestOneIdentity(t *testing.T) {
	for _, c := range []*tls.Config{nil, {}, {Certificates: make([]tls.Certificate, 1)}} {
		if all := Identities(c); len(all) != 1 || all[0] != c {
			t.Errorf("got %v, want the configuration", all)
		}
	}
}
