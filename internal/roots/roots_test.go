package roots

import (
	"crypto/x509"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func TestCertificates(t *testing.T) {
	n := 0
	for root := range bundle.Roots() {
		n++
		if _, err := x509.ParseCertificate(root.Certificate); err != nil {
			t.Error(err)
		}
	}
	if n < 50 {
		t.Errorf("%d root certificates", n)
	}
}
