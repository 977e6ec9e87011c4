package netio

import (
	"cmp"
	"errors"
	"io"
	"syscall"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/dial"
)

// Socket is a connected socket, in cleartext or over TLS. The zero value has none: it is closed.
type Socket struct {
	net Net // nil: closed
	// Secure is nil in cleartext, and with QUIC.
	Secure *dial.Secure
	// streams is the connection of QUIC; nil: it is a socket.
	streams dial.Streams
	fd      int
	data    int32
	// awaitsWritable: the Net reports when the socket takes octets.
	awaitsWritable bool
	// broken is the error that sending got; nil: none.
	broken error
}

const (
	// plainSize is one TLS record's plaintext (RFC 8446 5.1): what one Read of crypto/tls returns at most.
	plainSize = 16 << 10
	// secureAhead is how much is encrypted before the socket has taken it: three records. What is encrypted
	// cannot be taken back when its request times out.
	secureAhead = 3 * plainSize
	// MaxEncrypted is more than Write encrypts before the socket has taken it. The rest are answers to KeyUpdate
	// (RFC 8446 4.6.3).
	MaxEncrypted = 2 * secureAhead
)

// Open returns the socket of a connection. Its events have the data. If it fails, it has closed the connection.
func Open(n Net, c *dial.Connection, data int32) (Socket, error) {
	secure, streams := c.Secure, c.Streams
	fd, err := n.Adopt(c, data)
	if err != nil {
		return Socket{}, err
	}
	return Socket{net: n, Secure: secure, streams: streams, fd: fd, data: data}, nil
}

// IsSecure returns whether the socket is encrypted.
func (s *Socket) IsSecure() bool { return s.Secure != nil || s.streams != nil }

// Octets returns how many octets the network has sent and received since the last call with QUIC, whose records differ
// from that. For other sockets, it returns what Write and Read returned.
func (s *Socket) Octets(wrote, read int) (sent, received int64) {
	if s.streams != nil {
		return s.streams.Octets()
	}
	return int64(wrote), int64(read)
}

// IsOpen returns whether there is a socket.
func (s *Socket) IsOpen() bool { return s.net != nil }

// Close closes the socket if it is open.
func (s *Socket) Close() {
	if s.net != nil {
		s.net.Close(s.fd)
	}
	*s = Socket{}
}

// Read reads octets, over TLS encrypted ones. After sending has failed, it returns what came before, and then Closed.
func (s *Socket) Read(b []byte) (n int, st Status) {
	if n, st = s.net.Read(s.fd, b); st == Ended && s.broken != nil {
		st = Closed
	}
	return
}

// Why returns the error behind the last Closed of Read.
func (s *Socket) Why() error { return cmp.Or(s.broken, s.net.Why()) }

// Input is a session that takes what a socket has received.
type Input interface {
	Receive(p []byte, now int64) error
}

// Take passes octets that were read to a session. Over TLS it decrypts them, in a buffer that it makes for the first
// TLS socket. The status is Ended after close_notify, and Closed if TLS is broken; with OK, the error is that of the
// session. Octets that TLS sends, such as the alert that says why, count as sent.
func (s *Socket) Take(raw []byte, plain *[]byte, to Input, now int64) (sent int, st Status, err error) {
	secure := s.Secure
	if secure == nil {
		return 0, OK, to.Receive(raw, now)
	}
	if *plain == nil {
		*plain = make([]byte, plainSize)
	}
	secure.Feed(raw)
	for {
		n, broken := secure.Read(*plain)
		if n > 0 {
			if err := to.Receive((*plain)[:n], now); err != nil || !s.IsOpen() {
				return sent, OK, err
			}
		}
		if s.isFlooded() {
			n, _ := s.Flush()
			sent += n
			if s.isFlooded() {
				return sent, Closed, errFlooded
			}
		}
		switch {
		case broken == nil:
		case errors.Is(broken, dial.ErrMore):
			return sent, OK, nil
		default:
			n, _ := s.Flush()
			if errors.Is(broken, io.EOF) {
				return sent + n, Ended, nil
			}
			return sent + n, Closed, broken
		}
	}
}

// isFlooded returns whether the peer asks for new keys and does not read the answers.
func (s *Socket) isFlooded() bool { return len(s.Secure.Pending()) > MaxEncrypted }

var errFlooded = failure.New(rv.CauseProtocol, "no answer to KeyUpdate is read (RFC 8446 4.6.3)")

// Output is what a session has to send.
type Output interface {
	Pending() []byte
	Wrote(n int)
}

// Write sends what a session has until the socket takes no more, and counts what the socket has taken. The status is OK
// if nothing is left. After an error, nothing can be sent.
func (s *Socket) Write(from Output) (sent int, st Status, err error) {
	if s.Secure == nil {
		sent, st = s.writePlain(from)
	} else {
		sent, st, err = s.writeSecure(from)
	}
	if st == Closed {
		s.keepWhy()
	}
	return sent, st, cmp.Or(err, s.AwaitWritable(st == Again))
}

func (s *Socket) writePlain(from Output) (sent int, st Status) {
	for {
		p := from.Pending()
		if len(p) == 0 {
			return sent, OK
		}
		n, st := s.net.Send(s.fd, p)
		if st != OK {
			return sent, st
		}
		from.Wrote(n)
		sent += n
	}
}

// writeSecure encrypts piece by piece.
func (s *Socket) writeSecure(from Output) (sent int, st Status, err error) {
	for {
		n, st := s.Flush()
		sent += n
		p := from.Pending()
		if st != OK || len(p) == 0 {
			return sent, st, nil
		}
		p = p[:min(len(p), secureAhead)]
		if err := s.Secure.Write(p); err != nil {
			return sent, st, err
		}
		from.Wrote(len(p))
	}
}

// keepWhy keeps the error of sending for Read, because the kernel reports it once, and then a clean end. It does not
// keep EPIPE: the peer has ended the connection before, or the error was reported already.
func (s *Socket) keepWhy() {
	if why := s.net.Why(); s.broken == nil && !errors.Is(why, syscall.EPIPE) {
		s.broken = why
	}
}

// Flush sends what is encrypted until the socket takes no more. The status is OK if nothing is left.
func (s *Socket) Flush() (sent int, st Status) {
	for {
		p := s.Secure.Pending()
		if len(p) == 0 {
			return sent, OK
		}
		n, st := s.net.Send(s.fd, p)
		if st != OK {
			return sent, st
		}
		s.Secure.Sent(n)
		sent += n
	}
}

// CloseNotify sends the alert that ends TLS (RFC 8446 6.1), as far as the socket takes it.
func (s *Socket) CloseNotify() (sent int) {
	if s.Secure != nil {
		s.Secure.CloseNotify()
		sent, _ = s.Flush()
	}
	return sent
}

// AwaitsWritable returns whether the Net reports when the socket takes octets. Write then need not be called before,
// unless QUIC has a record to send that is not a request.
func (s *Socket) AwaitsWritable() bool { return s.awaitsWritable }

// AwaitWritable lets the Net report when the socket takes octets, or stops that.
func (s *Socket) AwaitWritable(want bool) error {
	if s.awaitsWritable == want {
		return nil
	}
	s.awaitsWritable = want
	return s.net.Interest(s.fd, s.data, want)
}
