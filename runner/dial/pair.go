package dial

import (
	"crypto/tls"
	"sync"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// readAgain is how old a pair can be at a handshake.
const readAgain = 30 * time.Second

// Pair is a certificate with its key. It reads the files again while a run lasts, because a mounted certificate is
// replaced before it expires. It is safe for concurrent use. An event loop must not use it, because it reads files.
type Pair struct {
	certFile, keyFile string

	mu   sync.Mutex       // guards the fields below
	read time.Time        // the last attempt to read the files
	err  error            // of that attempt
	pair *tls.Certificate // of the last attempt that did not fail
}

// ReadPair returns the pair of two files in PEM.
func ReadPair(certFile, keyFile string) (*Pair, error) {
	p := &Pair{certFile: certFile, keyFile: keyFile}
	if p.load(); p.err != nil {
		return nil, p.err
	}
	return p, nil
}

func (p *Pair) load() {
	p.read = time.Now()
	pair, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	if p.err = err; err == nil {
		p.pair = &pair
	}
}

// Current returns the pair for a handshake. If the files cannot be read, for example because one was replaced before
// the other, it returns the pair that it has until that expires, and then an error, so that the failure names its
// cause.
func (p *Pair) Current() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.read) >= readAgain {
		p.load()
	}
	if p.err != nil && time.Now().After(p.pair.Leaf.NotAfter) {
		return nil, failure.New(rv.CauseTLS, "the certificate expired and cannot be read again: "+p.err.Error())
	}
	return p.pair, nil
}

// forServer returns the pair for a handshake with a server, or no certificate if the server does not accept those of
// its authority.
func (p *Pair) forServer(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, err := p.Current()
	if err == nil && request.SupportsCertificate(pair) != nil {
		return new(tls.Certificate), nil
	}
	return pair, err
}
