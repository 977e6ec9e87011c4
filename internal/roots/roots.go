// Package roots has the root certificates for systems without their own, such as the image, which is made from scratch.
package roots

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Use makes crypto/x509 trust the root certificates of this package if the system has none. Call it before a
// certificate is verified by the roots of the system. It parses the certificates once, in the first call: they cost 2
// ms of CPU, which only programs that verify pay.
func Use() { use() }

var use = sync.OnceFunc(func() { x509.SetFallbackRoots(pool()) })

func pool() *x509.CertPool {
	p := x509.NewCertPool()
	for root := range bundle.Roots() {
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // The test parses all of them.
		}
		p.AddCertWithConstraint(c, root.Constraint)
	}
	return p
}
