package netio

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestConnectReaches: a Net connects to each kind of address that needs no look-up.
func TestConnectReaches(t *testing.T) {
	n, release, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, tt := range []struct {
		network, address string
		prefix           string
	}{
		{network: "tcp4", address: "127.0.0.2:0"},
		{network: "tcp6", address: "[::1]:0"},
		{network: "unix", address: filepath.Join(t.TempDir(), "s"), prefix: "unix:"},
	} {
		t.Run(tt.network, func(t *testing.T) {
			l, err := net.Listen(tt.network, tt.address)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close() //nolint:errcheck // the test is over
			c, ok, err := n.Connect(tt.prefix+l.Addr().String(), true)
			if !ok || err != nil {
				t.Fatalf("Connect = %v, %v", ok, err)
			}
			fd, err := n.Adopt(c, 7)
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close(fd)
			peer, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := peer.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			_ = peer.Close()
			if events := awaitEvents(t, n); len(events) != 1 || events[0].Data != 7 {
				t.Fatalf("events %+v, want one of 7", events)
			}
			b := make([]byte, 16)
			if k, st := n.Read(fd, b); string(b[:k]) != "hello" || st != OK {
				t.Errorf("Read = %q, %v", b[:k], st)
			}
		})
	}
}

// TestConnectLeavesToTheDialer: these addresses need a look-up, or are rare.
func TestConnectLeavesToTheDialer(t *testing.T) {
	n, release, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	long := "unix:/" + string(make([]byte, 108))
	for _, address := range []string{"localhost:80", "[fe80::1%lo]:80", "unix:@abstract", long} {
		if _, ok, err := n.Connect(address, true); ok || err != nil {
			t.Errorf("Connect(%q) = %v, %v; want the dialer", address, ok, err)
		}
	}
}

// TestConnectRefused: the error of a connect is not lost if the socket is written to before it is read.
func TestConnectRefused(t *testing.T) {
	n, release, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	// The socket is bound and not listening, so that no other gets its port.
	closed, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(closed) //nolint:errcheck // the test is over
	if err := unix.Bind(closed, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(closed)
	if err != nil {
		t.Fatal(err)
	}
	c, ok, err := n.Connect(fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port), false)
	if !ok || err != nil {
		t.Fatalf("Connect = %v, %v", ok, err)
	}
	s, err := Open(n, c, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	awaitEvents(t, n)
	out := pending("0123456789")
	if _, st, _ := s.Write(&out); st != Closed {
		t.Errorf("Write = %v, want Closed", st)
	}
	if _, st := s.Read(make([]byte, 16)); st != Closed || !errors.Is(s.Why(), unix.ECONNREFUSED) {
		t.Errorf("Read = %v, %v; want Closed, %v", st, s.Why(), unix.ECONNREFUSED)
	}
}
