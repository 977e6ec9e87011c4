package quicnet

import (
	"crypto/tls"
	"errors"
	"fmt"
	"syscall"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/protocol"
)

// noApplicationProtocol is the alert of a server that does not speak HTTP/3 (RFC 7301 3.2).
const noApplicationProtocol = 120

// cause returns an error with the cause that the report shows.
func cause(err error) error {
	var application *quic.ApplicationError
	var transport *quic.TransportError
	var version *quic.VersionNegotiationError
	var idle *quic.IdleTimeoutError
	var handshake *quic.HandshakeTimeoutError
	var reset *quic.StatelessResetError
	var number syscall.Errno
	switch {
	case errors.As(err, &application):
		return ofApplication(application)
	case errors.As(err, &transport):
		return ofTransport(transport, err)
	case errors.As(err, &version):
		return failure.New(rv.CauseProtocol, fmt.Sprintf("the server has no common version of QUIC: %v", version.Theirs))
	case errors.As(err, &idle):
		return failure.New(rv.CauseClosed, "the idle timeout of QUIC has passed")
	case errors.As(err, &handshake):
		return failure.New(rv.CauseConnectTimeout, "")
	case errors.As(err, &reset):
		return failure.New(rv.CauseConnectionReset, "")
	case errors.As(err, &number):
		return number // the address is that of the connection
	}
	return err
}

func ofApplication(e *quic.ApplicationError) error {
	code := http2.ErrCode(min(e.ErrorCode, 1<<32-1))
	if code == protocol.H3NoError {
		return failure.New(rv.CauseClosed, "")
	}
	detail := protocol.CodeName(code)
	if e.ErrorMessage != "" {
		detail += fmt.Sprintf(": %.64q", e.ErrorMessage)
	}
	return failure.New(rv.CauseGoAway, detail)
}

func ofTransport(e *quic.TransportError, err error) error {
	switch alert := tls.AlertError(e.ErrorCode & 0xff); {
	case e.ErrorCode == quic.ConnectionRefused:
		return failure.New(rv.CauseRefused, "")
	case e.ErrorCode.IsCryptoError() && alert == noApplicationProtocol:
		return failure.New(rv.CauseALPN, "the server does not choose h3 (RFC 9114 3.1)")
	case e.ErrorCode.IsCryptoError() && e.Remote:
		return failure.New(rv.CauseTLSAlert, alert.Error())
	case e.ErrorCode.IsCryptoError():
		if all := e.Unwrap(); all[len(all)-1] != nil {
			return fmt.Errorf("TLS handshake: %w", all[len(all)-1])
		}
		return failure.New(rv.CauseTLS, alert.Error())
	case e.ErrorCode == quic.NoError:
		return failure.New(rv.CauseClosed, "")
	}
	return failure.New(rv.CauseProtocol, err.Error())
}
