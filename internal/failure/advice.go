package failure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Advice says what to change about a failure. It names fields of spec.targets[]; the command line replaces
// it for a user of flags.
type Advice string

// All advice.
const (
	AdviceHTTP1      Advice = "set protocol: http1 if the server has no HTTP/2"
	AdviceHTTP2      Advice = "set protocol: Auto if the server speaks HTTP/2 only"
	AdviceALPN       Advice = "set protocol: Auto, or http1, to take what the server chooses"
	AdviceServerName Advice = "set tls.serverName to a name in the certificate"
	AdviceCA         Advice = "set tls.caFrom to the CA's certificate"
	AdviceExpired    Advice = "renew the certificate, or use tls.insecureSkipVerify"
	AdviceNoTLS      Advice = "use an http URL if the server has no TLS on this port"
)

// advice returns the advice for an error of connecting, or "".
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

// AdviceFor returns the advice of a cause, or else the advice of its kind, or "".
func AdviceFor(c Cause) Advice {
	inner, isInner := c.Inner()
	switch {
	case c.Advice != "":
		return c.Advice
	case isInner:
		return AdviceFor(inner)
	case c.Kind == rv.CauseHTTP1:
		return AdviceHTTP1
	case c.Kind == rv.CauseHTTP2:
		return AdviceHTTP2
	}
	return ""
}

// Advised returns the cause and its advice in one sentence.
func (c Cause) Advised() string {
	if advice := AdviceFor(c); advice != "" {
		return c.String() + "; " + string(advice)
	}
	return c.String()
}
