package failure_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

func TestOf(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}
	dial := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: os.NewSyscallError("connect", errno)}
	}
	const given = "server:80"
	long := strings.Repeat("x", rv.MaxFailureDetail)
	tests := []struct {
		name string
		err  error
		want failure.Cause
	}{
		{"none", nil, failure.Cause{}},
		{"refused", dial(syscall.ECONNREFUSED), failure.Cause{Kind: rv.CauseRefused, Address: "10.0.0.1:80"}},
		{"wrapped", fmt.Errorf("target a: %w", dial(syscall.ECONNREFUSED)), failure.Cause{Kind: rv.CauseRefused, Address: "10.0.0.1:80"}},
		{"no route", syscall.EHOSTUNREACH, failure.Cause{Kind: rv.CauseUnreachable, Address: given}},
		{"the system gave up", syscall.ETIMEDOUT, failure.Cause{Kind: rv.CauseConnectTimeout, Address: given}},
		{"we gave up", context.DeadlineExceeded, failure.Cause{Kind: rv.CauseConnectTimeout, Address: given}},
		{"no port", dial(syscall.EADDRNOTAVAIL), failure.Cause{Kind: rv.CauseNoPort, Address: "10.0.0.1:80"}},
		{"no descriptor", os.NewSyscallError("socket", syscall.EMFILE), failure.Cause{Kind: rv.CauseNoDescriptor, Address: given}},
		{"reset", syscall.ECONNRESET, failure.Cause{Kind: rv.CauseConnectionReset, Address: given}},
		{"closed", io.ErrUnexpectedEOF, failure.Cause{Kind: rv.CauseClosed, Address: given}},
		{"no such name", &net.DNSError{Err: "no such host", Name: "server"}, failure.Cause{Kind: rv.CauseNotResolved, Detail: "server: no such host", Address: given}},
		{"known", fmt.Errorf("TLS handshake: %w", failure.New(rv.CauseALPN, "http/1.1, not h2")), failure.Cause{Kind: rv.CauseALPN, Detail: "http/1.1, not h2", Address: given, Advice: failure.AdviceALPN}},
		{"another errno", syscall.EACCES, failure.Cause{Kind: rv.CauseUnknown, Detail: "permission denied", Address: given}},
		{"another error", errors.New(long + "y"), failure.Cause{Kind: rv.CauseUnknown, Detail: long, Address: given}},
		{"no TLS", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, failure.Cause{Kind: rv.CauseTLS, Detail: "the peer does not speak TLS: first record does not look like a TLS handshake", Address: given, Advice: failure.AdviceNoTLS}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, failure.Of(tt.err, given)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOfHandshake takes real errors of crypto/tls.
func TestOfHandshake(t *testing.T) {
	for _, tt := range []struct {
		name           string
		client, server *tls.Config
		want           failure.Cause
	}{
		{
			"the peer has no certificate", &tls.Config{ServerName: "a"}, &tls.Config{},
			failure.Cause{Kind: rv.CauseTLSAlert, Detail: "unrecognized name"},
		},
		{
			"no common version", &tls.Config{ServerName: "a", MaxVersion: tls.VersionTLS12}, &tls.Config{MinVersion: tls.VersionTLS13},
			failure.Cause{Kind: rv.CauseTLSAlert, Detail: "protocol version not supported"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close() //nolint:errcheck // a pipe
			go func() {
				_ = tls.Server(theirs, tt.server).Handshake()
				_ = theirs.Close()
			}()
			got := failure.Of(tls.Client(ours, tt.client).Handshake(), "")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestString(t *testing.T) {
	for want, c := range map[string]failure.Cause{
		"the connection was refused (127.0.0.1:80)":                 {Kind: rv.CauseRefused, Address: "127.0.0.1:80"},
		"the peer sent GOAWAY: ENHANCE_YOUR_CALM (a:1)":             {Kind: rv.CauseGoAway, Detail: "ENHANCE_YOUR_CALM", Address: "a:1"},
		"the peer broke the protocol: PROTOCOL_ERROR: PUSH_PROMISE": {Kind: rv.CauseProtocol, Detail: "PROTOCOL_ERROR: PUSH_PROMISE"},
		"new": {Kind: "new"},
		"no connection was open: the connection was refused (a:1)":        {Kind: rv.CauseNoConnection, Detail: "refused", Address: "a:1"},
		"no connection was open: TLS failed: unknown authority (a:1)":     {Kind: rv.CauseNoConnection, Detail: "tls: unknown authority", Address: "a:1"},
		"no connection was open: 1 of 2 connections to t were connecting": {Kind: rv.CauseNoConnection, Detail: "1 of 2 connections to t were connecting"},
		"the peer reset the stream: closed":                               {Kind: rv.CauseRstStream, Detail: "closed"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAdvised(t *testing.T) {
	for want, c := range map[string]failure.Cause{
		"the connection was refused (a:1)": {Kind: rv.CauseRefused, Address: "a:1"},
		"the server answered HTTP/1.1 to the HTTP/2 preface (a:1); set protocol: http1 if the server has no HTTP/2":                         {Kind: rv.CauseHTTP1, Address: "a:1"},
		"the server answered HTTP/2 to a request of HTTP/1.1 (a:1); set protocol: Auto if the server speaks HTTP/2 only":                    {Kind: rv.CauseHTTP2, Address: "a:1"},
		"no connection was open: the server answered HTTP/1.1 to the HTTP/2 preface (a:1); set protocol: http1 if the server has no HTTP/2": {Kind: rv.CauseNoConnection, Detail: "http1", Address: "a:1"},
		"TLS failed: unknown; set tls.caFrom to the CA's certificate":                                                                       {Kind: rv.CauseTLS, Detail: "unknown", Advice: failure.AdviceCA},
	} {
		if got := c.Advised(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
