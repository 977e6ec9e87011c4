package rules

import (
	"crypto/tls"
	"crypto/x509"
	"time"
)

// DefaultTimeout is how long a notification waits for its answer.
const DefaultTimeout = 10 * time.Second

// Sending is how notifications are sent.
type Sending struct {
	// Timeout is how long a notification waits for its answer.
	Timeout time.Duration
	// Roots verify the certificates of https URIs. Nil: those of the system.
	Roots *x509.CertPool
	// InsecureSkipVerify accepts all certificates of https URIs.
	InsecureSkipVerify bool
	// Certificate is the client certificate for https URIs. Nil: none.
	Certificate *tls.Certificate
}

// compileCallbacks reads the files of spec, which may be nil.
func (s *source) compileCallbacks(spec *Callbacks, dir string) Sending {
	out := Sending{Timeout: DefaultTimeout}
	if spec == nil {
		return out
	}
	if spec.Timeout != nil {
		out.Timeout = time.Duration(*spec.Timeout)
		if out.Timeout <= 0 || out.Timeout > MaxDelay {
			s.add("callbacks.timeout", "is not above 0s and at most %v", MaxDelay)
		}
	}
	out.InsecureSkipVerify = spec.InsecureSkipVerify
	if spec.InsecureSkipVerify && spec.CAFile != "" {
		s.add("callbacks.insecureSkipVerify", "cannot be used with caFile")
	}
	if spec.CAFile != "" {
		pem, ok := s.readText("callbacks.caFile", spec.CAFile, dir)
		out.Roots = x509.NewCertPool()
		if ok && !out.Roots.AppendCertsFromPEM([]byte(pem)) {
			s.add("callbacks.caFile", "has no certificate in PEM")
		}
	}
	s.compileCertificate(spec, dir, &out)
	return out
}

func (s *source) compileCertificate(spec *Callbacks, dir string, out *Sending) {
	if (spec.CertFile == "") != (spec.KeyFile == "") {
		s.add("callbacks", "must have both certFile and keyFile, or none of them")
		return
	}
	if spec.CertFile == "" {
		return
	}
	cert, certOK := s.readText("callbacks.certFile", spec.CertFile, dir)
	key, keyOK := s.readText("callbacks.keyFile", spec.KeyFile, dir)
	if !certOK || !keyOK {
		return
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		s.add("callbacks.certFile", "%v", err)
		return
	}
	out.Certificate = &pair
}
