package quicnet_test

import (
	"crypto/tls"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/h3/qpack"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/test/certtest"
)

// TestEarlyResponse is RFC 9114 4.1: the server answers before it has the whole request, for which its window is too
// small, and does not send STOP_SENDING. The client ends the request, so that the connection can have more of them than
// the server permits streams at a time.
func TestEarlyResponse(t *testing.T) {
	const window = 64 << 10
	for name, octets := range map[string]int{"more than may wait": 2 << 20, "less than a packet waits": window + 100} {
		t.Run(name, func(t *testing.T) {
			c := mustDial(t, answerEarly(t, window), 2)
			for i := range 5 {
				_ = c.run(t, func() bool { return c.Ready() && c.Free() > 0 })
				c.get("/", string(make([]byte, octets)))
				if err := c.run(t, func() bool { return len(c.done) > i }); err != nil {
					t.Fatal(err)
				}
			}
			if c.count(protocol.Completed) != 5 || c.status[4] != 413 {
				t.Errorf("outcomes %v, status %v", c.done, c.status)
			}
		})
	}
}

// answerEarly starts a server that permits two streams at a time. It answers each with 413 when it begins, and reads
// nothing of it, so that its window stays shut.
func answerEarly(t *testing.T, window uint64) *server {
	t.Helper()
	pair := certtest.Self(t, "target.example")
	config := http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair.TLS()}})
	l, err := quic.ListenAddr("127.0.0.1:0", config, &quic.Config{
		MaxIncomingStreams: 2, InitialStreamReceiveWindow: window, MaxStreamReceiveWindow: window,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, name := qpack.StaticIndex(":status", "413")
	block := qpack.AppendLiteral([]byte(qpack.Prefix), hpack.Without, name, ":status", "413")
	go func() {
		q, err := l.Accept(t.Context())
		if err != nil {
			return
		}
		control, _ := q.OpenUniStream()
		_, _ = control.Write([]byte{0, 4, 0}) // SETTINGS without any
		for {
			s, err := q.AcceptStream(t.Context())
			if err != nil {
				return
			}
			_, _ = s.Write(append([]byte{1, byte(len(block))}, block...)) // HEADERS
			_ = s.Close()
			go func() {
				_, _ = s.Peek(make([]byte, 2*window)) // waits until the client resets the stream
				_, _ = s.Read(make([]byte, 1))
			}()
		}
	}()
	return &server{address: l.Addr().String(), config: &tls.Config{RootCAs: pair.Pool(), ServerName: "target.example"}}
}
