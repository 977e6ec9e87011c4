package dial

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/h2surge/h2surge/test/certtest"
)

// connected returns a detached client and the server's end, over a real socket.
func connected(t *testing.T, version uint16) (*Secure, net.Conn, *tls.Conn) {
	t.Helper()
	cert := certtest.Self(t, "peer.test")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	type result struct {
		c   *tls.Conn
		err error
	}
	accepted := make(chan result, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			accepted <- result{nil, err}
			return
		}
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert.TLS()}, NextProtos: []string{"h2"}, MinVersion: version, MaxVersion: version})
		accepted <- result{s, s.Handshake()}
	}()
	socket, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := NewSecure(socket, &tls.Config{RootCAs: cert.Pool(), ServerName: "peer.test", NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true})
	if err := s.Handshake(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := <-accepted
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { _ = socket.Close(); _ = r.c.Close() })
	s.Detach()
	return s, socket, r.c
}

func TestSecureMovesBytesBothWays(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			s, socket, server := connected(t, version)
			if st := s.State(); st.Version != version || st.NegotiatedProtocol != "h2" {
				t.Fatalf("%s, protocol %q", tls.VersionName(st.Version), st.NegotiatedProtocol)
			}
			want := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
			go server.Write(want) //nolint:errcheck // the client counts
			got := receive(t, s, socket, len(want))
			if !bytes.Equal(want, got) {
				t.Fatal("what the server sent came out otherwise")
			}
			if err := s.Write(want); err != nil {
				t.Fatal(err)
			}
			echo := make(chan []byte)
			go func() {
				b := make([]byte, len(want))
				_, _ = io.ReadFull(server, b)
				echo <- b
			}()
			send(t, s, socket)
			if !bytes.Equal(want, <-echo) {
				t.Fatal("what the client sent came out otherwise")
			}
		})
	}
}

// receive plays the loop: it reads raw bytes in odd pieces and decrypts them.
func receive(t *testing.T, s *Secure, socket net.Conn, n int) []byte {
	t.Helper()
	var got []byte
	plain := make([]byte, 64<<10)
	raw := make([]byte, 777)
	for {
		for {
			k, err := s.Read(plain)
			got = append(got, plain[:k]...)
			if errors.Is(err, ErrMore) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(got) >= n {
			return got
		}
		k, err := socket.Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		s.Feed(raw[:k])
	}
}

func send(t *testing.T, s *Secure, socket net.Conn) {
	t.Helper()
	for len(s.Pending()) > 0 {
		n, err := socket.Write(s.Pending()[:min(1000, len(s.Pending()))])
		if err != nil {
			t.Fatal(err)
		}
		s.Sent(n)
	}
}

// TestSecureBufferIsCompacted: a socket that never takes all does not make the buffer grow.
func TestSecureBufferIsCompacted(t *testing.T) {
	s, _, _ := connected(t, tls.VersionTLS13)
	for range 1000 {
		if err := s.Write(make([]byte, 10_000)); err != nil {
			t.Fatal(err)
		}
		s.Sent(len(s.Pending()) - 1)
	}
	if n := cap(s.mem.out); n > 100_000 {
		t.Errorf("a buffer of %d octets for pieces of 10000", n)
	}
}

func TestSecureEnds(t *testing.T) {
	s, socket, server := connected(t, tls.VersionTLS13)
	go func() { _ = server.CloseWrite() }()
	plain, raw := make([]byte, 1024), make([]byte, 4096)
	for {
		_, err := s.Read(plain)
		if errors.Is(err, io.EOF) {
			break
		}
		if !errors.Is(err, ErrMore) {
			t.Fatalf("Read = %v, want io.EOF after close_notify", err)
		}
		n, err := socket.Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		s.Feed(raw[:n])
	}
	s.CloseNotify()
	if len(s.Pending()) == 0 {
		t.Error("no close_notify to send")
	}
}

func TestSecureRefusesGarbage(t *testing.T) {
	s, _, _ := connected(t, tls.VersionTLS13)
	s.Feed([]byte("this is not a TLS record"))
	var b [64]byte
	if _, err := s.Read(b[:]); err == nil || errors.Is(err, ErrMore) {
		t.Errorf("Read of garbage = %v", err)
	}
	if len(s.Pending()) == 0 {
		t.Error("no alert to send")
	}
}
