package netio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
)

// plainPair returns a connection that a plain Net has adopted with data 7, and the other end.
func plainPair(t *testing.T) (n Net, fd int, peer net.Conn) {
	t.Helper()
	n = NewPlain(rv.Clock)
	own, peer := net.Pipe()
	fd, err := n.Adopt(&dial.Connection{FD: -1, Conn: own}, 7)
	if err != nil {
		t.Fatal(err)
	}
	return n, fd, peer
}

// wait waits for the next event.
func wait(t *testing.T, n Net) Event {
	t.Helper()
	events := make([]Event, 1)
	if k, _, err := n.Wait(events, 10*time.Second); k != 1 || err != nil || events[0].Data != 7 {
		t.Fatalf("Wait = %d, %v, %+v", k, err, events)
	}
	return events[0]
}

// TestPlainEcho sends more than the buffers take to a peer that returns it, and then ends.
func TestPlainEcho(t *testing.T) {
	n, fd, peer := plainPair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	go func() {
		defer peer.Close() //nolint:errcheck // the test is over
		_, _ = io.CopyN(peer, peer, int64(len(sent)))
	}()
	if err := n.Interest(fd, 7, true); err != nil {
		t.Fatal(err)
	}
	var got []byte
	b := make([]byte, 1<<10)
	for rest := sent; ; {
		if ev := wait(t, n); ev.Writable {
			k, st := n.Send(fd, rest)
			if rest = rest[k:]; st != OK && st != Again {
				t.Fatalf("Send = %v", st)
			}
			if len(rest) == 0 {
				_ = n.Interest(fd, 7, false)
			}
		}
		k, st := n.Read(fd, b)
		if got = append(got, b[:k]...); st == Ended {
			break
		} else if st == Closed {
			t.Fatal(n.Why())
		}
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("%d octets came back, want %d", len(got), len(sent))
	}
	n.Close(fd)
}

// TestPlainBroken: Why returns the error of a connection that is broken.
func TestPlainBroken(t *testing.T) {
	n := NewPlain(rv.Clock)
	fd, err := n.Adopt(&dial.Connection{FD: -1, Conn: broken{}}, 7)
	if err != nil {
		t.Fatal(err)
	}
	if ev := wait(t, n); !ev.Readable {
		t.Errorf("%+v", ev)
	}
	if _, st := n.Read(fd, make([]byte, 1)); st != Closed || !errors.Is(n.Why(), errBroken) {
		t.Errorf("Read = %v, Why = %v", st, n.Why())
	}
	n.Close(fd)
}

var errBroken = errors.New("broken")

// broken is a connection whose reads fail.
type broken struct{ net.Conn }

func (broken) Read([]byte) (int, error)    { return 0, errBroken }
func (broken) SetDeadline(time.Time) error { return nil }
func (broken) Close() error                { return nil }

// TestPlainWake: Wake ends a Wait, and a Wait without events ends in time.
func TestPlainWake(t *testing.T) {
	n := NewPlain(rv.Clock)
	go n.Wake()
	if k, woken, err := n.Wait(make([]Event, 1), 10*time.Second); k != 0 || !woken || err != nil {
		t.Errorf("Wait = %d, %v, %v; want woken", k, woken, err)
	}
	if k, woken, err := n.Wait(make([]Event, 1), time.Nanosecond); k != 0 || woken || err != nil {
		t.Errorf("Wait = %d, %v, %v; want nothing", k, woken, err)
	}
	if _, ok, err := n.Connect("127.0.0.1:1", true); ok || err != nil {
		t.Errorf("Connect = %v, %v; want the dialer", ok, err)
	}
}
