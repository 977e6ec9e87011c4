package failure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Advice says what to change about a failure. It names fields of spec.targets[]; who shows it to a user
// of flags replaces it.
type Advice string

// All there is of it.
const (
	AdviceHTTP1      Advice = "set protocol: http1 if the server has no HTTP/2"
	AdviceHTTP2      Advice = "set protocol: Auto if the server speaks HTTP/2 only"
	AdviceALPN       Advice = "set protocol: Auto, or http1, to take what the server chooses"
	AdviceServerName Advice = "set tls.serverName to a name in the certificate"
	AdviceCA         Advice = "set tls.ca to the CA's certificate"
	AdviceExpired    Advice = "renew the certificate, or use tls.insecureSkipVerify"
	AdviceNoTLS      Advice = "use an http URL if the server has no TLS on this port"
)

// advice is for an error of connecting; empty: there is none.
func advice(kind rv.Cause, err error) Advice {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case kind == rv.CauseALPN:
		return AdviceALPN
	case errors.As(err, &name):
		return AdviceServerName
	case errors.As(err, &authority):
		return AdviceCA
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return AdviceExpired
	case errors.As(err, &record):
		return AdviceNoTLS
	}
	return ""
}

// Advised is the cause in a sentence, with the advice there is.
func (c Cause) Advised() string {
	switch {
	case c.Advice != "":
		return c.String() + "; " + string(c.Advice)
	case c.Kind == rv.CauseHTTP1:
		return c.String() + "; " + string(AdviceHTTP1)
	case c.Kind == rv.CauseHTTP2:
		return c.String() + "; " + string(AdviceHTTP2)
	}
	return c.String()
}
