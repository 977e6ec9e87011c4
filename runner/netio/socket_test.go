package netio

import (
	"errors"
	"syscall"
	"testing"

	"github.com/h2surge/h2surge/runner/dial"
)

// narrow is a Net whose socket takes some octets and is then full or closed.
type narrow struct {
	Net
	takes  int
	then   Status
	broken error // of Interest
	why    error // of the last Send that was closed
	// interest counts the calls of Interest. closed: Close was called.
	interest int
	closed   bool
}

func (*narrow) Adopt(*dial.Connection, int32) (int, error) { return 3, nil }
func (n *narrow) Close(int)                                { n.closed = true }

func (n *narrow) Interest(int, int32, bool) error {
	n.interest++
	return n.broken
}

func (n *narrow) Send(_ int, b []byte) (int, Status) {
	k := min(n.takes, len(b))
	if n.takes -= k; k == 0 {
		return 0, n.then
	}
	return k, OK
}

// Read ends: Send has taken the error of the socket.
func (*narrow) Read(int, []byte) (int, Status) { return 0, Ended }

func (n *narrow) Why() error { return n.why }

// pending is an Output.
type pending []byte

func (p *pending) Pending() []byte { return *p }
func (p *pending) Wrote(n int)     { *p = (*p)[n:] }

func TestSocketWrite(t *testing.T) {
	errWatch := errors.New("not watched")
	for _, tt := range []struct {
		name   string
		net    narrow
		sent   int
		status Status
		awaits bool
		err    error
	}{
		{name: "all", net: narrow{takes: 100}, sent: 10, status: OK},
		{name: "full", net: narrow{takes: 4, then: Again}, sent: 4, status: Again, awaits: true},
		{name: "closed", net: narrow{takes: 4, then: Closed}, sent: 4, status: Closed},
		{name: "not watched", net: narrow{then: Again, broken: errWatch}, status: Again, awaits: true, err: errWatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := tt.net
			s, err := Open(&n, &dial.Connection{}, 7)
			if err != nil || !s.IsOpen() {
				t.Fatal(err)
			}
			out := pending("0123456789")
			sent, st, err := s.Write(&out)
			if sent != tt.sent || st != tt.status || !errors.Is(err, tt.err) || len(out) != 10-tt.sent || s.AwaitsWritable() != tt.awaits {
				t.Errorf("Write = %d, %v, %v; %d octets are left, waits %v", sent, st, err, len(out), s.AwaitsWritable())
			}
			n.takes, n.broken = 100, nil
			if _, st, err := s.Write(&out); tt.awaits && (st != OK || err != nil || s.AwaitsWritable() || n.interest != 2) {
				t.Errorf("then Write = %v, %v; %d calls of Interest", st, err, n.interest)
			}
			s.Close()
			if s.Close(); s.IsOpen() || !n.closed {
				t.Error("the socket is open")
			}
		})
	}
}

// TestSocketReadAfterWrite: a socket reports its error once. If Write got it, Read reports it again, and not a clean end.
// EPIPE is not an error of the socket: the peer has ended the connection before, or the error was reported already.
func TestSocketReadAfterWrite(t *testing.T) {
	for _, tt := range []struct {
		name   string
		writes []error
		status Status
		why    error
	}{
		{name: "no write", status: Ended},
		{name: "reset", writes: []error{syscall.ECONNRESET}, status: Closed, why: syscall.ECONNRESET},
		{name: "refused, then written again", writes: []error{syscall.ECONNREFUSED, syscall.EPIPE}, status: Closed, why: syscall.ECONNREFUSED},
		{name: "ended by the peer", writes: []error{syscall.EPIPE}, status: Ended},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &narrow{then: Closed}
			s, err := Open(n, &dial.Connection{}, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, n.why = range tt.writes {
				out := pending("0123456789")
				if _, st, _ := s.Write(&out); st != Closed {
					t.Fatalf("Write = %v", st)
				}
			}
			n.why = nil
			if _, st := s.Read(nil); st != tt.status || st == Closed && !errors.Is(s.Why(), tt.why) {
				t.Errorf("Read = %v, %v; want %v, %v", st, s.Why(), tt.status, tt.why)
			}
		})
	}
}
