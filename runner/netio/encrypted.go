package netio

import "github.com/h2surge/h2surge/runner/dial"

// This file writes what is sent over TLS, for connections to targets and for those of listeners.

const (
	// PlainSize is one TLS record's plaintext (RFC 8446 5.1): what one Read of crypto/tls returns at most.
	PlainSize = 16 << 10
	// secureAhead is how much is encrypted before the socket has taken it: three records. What is encrypted
	// cannot be taken back when its request times out.
	secureAhead = 3 * PlainSize
	// MaxEncrypted is more than WriteEncrypted encrypts before the socket has taken it. The rest are answers to KeyUpdate
	// (RFC 8446 4.6.3).
	MaxEncrypted = 2 * secureAhead
)

// Output is what a session has to send.
type Output interface {
	Pending() []byte
	Wrote(n int)
}

// WriteEncrypted encrypts what a session has, piece by piece, and sends it until the socket takes no more. The status is OK if
// nothing is left. An error is that of the TLS connection, which is broken.
func WriteEncrypted(to Net, fd int, s *dial.Secure, from Output) (sent int, st Status, err error) {
	for {
		var n int
		n, st = SendEncrypted(to, fd, s)
		sent += n
		p := from.Pending()
		if st != OK || len(p) == 0 {
			return sent, st, nil
		}
		p = p[:min(len(p), secureAhead)]
		if err = s.Write(p); err != nil {
			return sent, st, err
		}
		from.Wrote(len(p))
	}
}

// SendEncrypted sends what is encrypted until the socket takes no more. The status is OK if nothing is left.
func SendEncrypted(to Net, fd int, s *dial.Secure) (sent int, st Status) {
	for {
		p := s.Pending()
		if len(p) == 0 {
			return sent, OK
		}
		var n int
		if n, st = to.Send(fd, p); st != OK {
			return sent, st
		}
		s.Sent(n)
		sent += n
	}
}

// IsFlooded returns whether the peer asks for new keys and does not read the answers.
func IsFlooded(s *dial.Secure) bool { return len(s.Pending()) > MaxEncrypted }
