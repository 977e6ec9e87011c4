package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// Secure is a TLS client or server without I/O, for an event loop: Feed takes octets from the socket and Read returns
// plaintext; Write takes plaintext and Pending returns octets for the socket.
//
// Before that, Handshake blocks on the socket, in a goroutine of its own. Detach then ends the use of the socket.
type Secure struct {
	conn *tls.Conn
	mem  memory
}

// NewSecure wraps a connected socket. Set config.DynamicRecordSizingDisabled: small first records cost system calls,
// and only a browser gains by them.
func NewSecure(c net.Conn, config *tls.Config) *Secure {
	s := &Secure{mem: memory{Conn: c}}
	s.conn = tls.Client(&s.mem, config)
	return s
}

// newSecureServer is NewSecure for a socket that a peer has opened.
func newSecureServer(c net.Conn, config *tls.Config) *Secure {
	s := &Secure{mem: memory{Conn: c}}
	s.conn = tls.Server(&s.mem, config)
	return s
}

// Handshake runs the handshake on the socket.
func (s *Secure) Handshake(ctx context.Context) error { return s.conn.HandshakeContext(ctx) }

// State returns the result of the handshake.
func (s *Secure) State() tls.ConnectionState { return s.conn.ConnectionState() }

// Detach ends all use of the socket. The handshake may have read more records than its own: the loop calls Read once
// before the first Feed.
func (s *Secure) Detach() { s.mem.detached = true }

// Feed takes octets from the socket. They must stay unchanged until Read has returned ErrMore.
func (s *Secure) Feed(raw []byte) { s.mem.in = raw }

// ErrMore is returned by Read when the bytes fed so far are used up.
var ErrMore = errors.New("more bytes are needed")

// Read decrypts into p. It returns ErrMore when there is nothing left to decrypt, io.EOF after the
// peer's close_notify, and any other error once the connection is broken. Reading may make bytes
// to send: KeyUpdate answers and alerts.
func (s *Secure) Read(p []byte) (int, error) {
	n, err := s.conn.Read(p)
	if err != nil && errors.Is(err, errEmpty) {
		return n, ErrMore
	}
	return n, err
}

// Write encrypts p into Pending. It fails only when the connection is broken.
func (s *Secure) Write(p []byte) error {
	_, err := s.conn.Write(p)
	return err
}

// Pending returns the octets to send. They are valid until the next call that adds some. Sent takes how many of them
// the socket has accepted.
func (s *Secure) Pending() []byte { return s.mem.out[s.mem.sent:] }

// Sent drops octets that were sent.
func (s *Secure) Sent(n int) {
	s.mem.sent += n
	if s.mem.sent < len(s.mem.out) {
		return
	}
	s.mem.out, s.mem.sent = s.mem.out[:0], 0
	if cap(s.mem.out) > keepOut {
		s.mem.out = nil
	}
}

// CloseNotify adds the alert that ends the connection properly (RFC 8446 6.1) to Pending.
func (s *Secure) CloseNotify() { _ = s.conn.CloseWrite() }

// keepOut bounds the buffer an idle connection keeps.
const keepOut = 64 << 10

// memory is the net.Conn under TLS: the socket until it is detached, then two byte
// slices.
type memory struct {
	net.Conn
	detached bool
	in       []byte
	out      []byte
	sent     int
}

// Read of crypto/tls treats a temporary error as "not now" and stays usable; every other error,
// and every error of Write, is final.
func (m *memory) Read(p []byte) (int, error) {
	if !m.detached {
		return m.Conn.Read(p)
	}
	if len(m.in) == 0 {
		return 0, errEmpty
	}
	n := copy(p, m.in)
	m.in = m.in[n:]
	return n, nil
}

func (m *memory) Write(p []byte) (int, error) {
	if !m.detached {
		return m.Conn.Write(p)
	}
	if m.sent > cap(m.out)/2 { // a socket that never takes all does not make it grow without bound
		m.out = m.out[:copy(m.out, m.out[m.sent:])]
		m.sent = 0
	}
	m.out = append(m.out, p...)
	return len(p), nil
}

func (m *memory) Close() error {
	if !m.detached {
		return m.Conn.Close()
	}
	return nil
}

// crypto/tls sets a write deadline around its close_notify.
func (m *memory) SetWriteDeadline(t time.Time) error {
	if !m.detached {
		return m.Conn.SetWriteDeadline(t)
	}
	return nil
}

// empty is a temporary net.Error.
type empty struct{}

var errEmpty net.Error = empty{}

func (empty) Error() string   { return "nothing to read now" }
func (empty) Timeout() bool   { return true }
func (empty) Temporary() bool { return true }

var _ io.Reader = (*Secure)(nil)
