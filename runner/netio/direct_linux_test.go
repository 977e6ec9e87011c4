package netio

import (
	"net"
	"path/filepath"
	"testing"
	"time"
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
			events := make([]Event, 1)
			if k, _, err := n.Wait(events, 10*time.Second); k != 1 || err != nil || events[0].Data != 7 {
				t.Fatalf("Wait = %d, %v, %+v", k, err, events)
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
	for _, address := range []string{"localhost:80", "[fe80::1%lo]:80", "unix:@abstract", "unix:/" + string(make([]byte, 108))} {
		if _, ok, err := n.Connect(address, true); ok || err != nil {
			t.Errorf("Connect(%q) = %v, %v; want the dialer", address, ok, err)
		}
	}
}
