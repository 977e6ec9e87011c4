// Package failure says why connecting failed or a connection ended: it turns errors of the system, TLS and
// the protocols into causes that can be counted and shown.
package failure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Cause is why a connection could not be opened, or why it ended. The zero value: it did not fail.
type Cause struct {
	Kind rv.Cause
	// Detail is the code, alert or rule in words. It has no ports or other numbers that differ from one
	// failure to the next, so that equal failures can be counted together.
	Detail string
	// Address is the address of the target; empty: not known.
	Address string
	// Advice says what to change; empty: nothing is known.
	Advice Advice
}

// Failed says that there is a cause.
func (c Cause) Failed() bool { return c.Kind != "" }

// String returns a sentence such as "the connection was refused (127.0.0.1:80)".
func (c Cause) String() string {
	s, detail := words(c.Kind), c.Detail
	if inner, ok := c.Inner(); ok {
		detail = inner.String()
	}
	if detail != "" {
		s += ": " + detail
	}
	if c.Address != "" {
		s += " (" + c.Address + ")"
	}
	return s
}

// Inner returns the cause that the detail of a cause has: why no connection was open.
func (c Cause) Inner() (inner Cause, ok bool) {
	if c.Kind != rv.CauseNoConnection && c.Kind != rv.CauseGaveUpWaiting {
		return Cause{}, false
	}
	kind, detail, _ := strings.Cut(c.Detail, ": ")
	_, ok = said[rv.Cause(kind)]
	return Cause{Kind: rv.Cause(kind), Detail: detail}, ok
}

// Lasts reports whether a target that has failed for this cause will probably fail again: it answered, with another
// protocol or with a certificate that is not valid.
func Lasts(k rv.Cause) bool {
	return k == rv.CauseHTTP1 || k == rv.CauseHTTP2 || k == rv.CauseALPN || k == rv.CauseTLS
}

// Words returns a failure's cause as String does.
func Words(f rv.Failure) string {
	return Cause{Kind: f.Cause, Detail: f.Detail, Address: f.Address}.String()
}

// Error is an error whose cause is known already.
type Error struct{ Cause Cause }

func (e *Error) Error() string { return e.Cause.String() }

// New returns an error with a cause.
func New(kind rv.Cause, detail string) error { return &Error{Cause{Kind: kind, Detail: detail}} }

// Of returns the cause of an error of dialling, TLS or a socket. The address is the one that was connected to,
// or the endpoint's when the error names none.
func Of(err error, address string) Cause {
	if err == nil {
		return Cause{}
	}
	c := Cause{Address: address}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Addr != nil {
		c.Address = op.Addr.String()
	}
	if known := (*Error)(nil); errors.As(err, &known) && known.Cause.Address != "" {
		c.Address = known.Cause.Address
	}
	c.Kind, c.Detail = kind(err)
	c.Advice = advice(c.Kind, err)
	if len(c.Detail) > rv.MaxFailureDetail {
		c.Detail = c.Detail[:rv.MaxFailureDetail]
	}
	return c
}

func kind(err error) (rv.Cause, string) {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known.Cause.Kind, known.Cause.Detail
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return ofErrno(errno)
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return rv.CauseNotResolved, dns.Name + ": " + dns.Err
	}
	if k, detail := ofTLS(err); k != "" {
		return k, detail
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return rv.CauseConnectTimeout, ""
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return rv.CauseClosed, ""
	}
	return rv.CauseUnknown, err.Error()
}

// ofErrno returns the cause of an error of a system call.
func ofErrno(errno syscall.Errno) (rv.Cause, string) {
	switch errno {
	case syscall.ECONNREFUSED:
		return rv.CauseRefused, ""
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		return rv.CauseUnreachable, ""
	case syscall.ETIMEDOUT:
		return rv.CauseConnectTimeout, ""
	case syscall.EADDRNOTAVAIL, syscall.EADDRINUSE:
		return rv.CauseNoPort, ""
	case syscall.EMFILE, syscall.ENFILE:
		return rv.CauseNoDescriptor, ""
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return rv.CauseConnectionReset, ""
	}
	return rv.CauseUnknown, errno.Error()
}

// ofTLS returns the cause of an error of crypto/tls, or "".
func ofTLS(err error) (rv.Cause, string) {
	// crypto/tls wraps alerts, the peer's and its own, in an OpError.
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" {
		return rv.CauseTLSAlert, strings.TrimPrefix(op.Err.Error(), "tls: ")
	} else if op != nil && op.Op == "local error" {
		return rv.CauseTLS, strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		return rv.CauseTLS, untrusted.Err.Error()
	}
	if other := (x509.HostnameError{}); errors.As(err, &other) {
		return rv.CauseTLS, other.Error()
	}
	if header := (tls.RecordHeaderError{}); errors.As(err, &header) {
		return rv.CauseTLS, "the peer does not speak TLS: " + header.Msg
	}
	return "", ""
}
