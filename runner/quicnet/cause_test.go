package quicnet_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/quicnet"
)

// TestIdleTimeout: the connection ends with a cause when nothing comes for the idle timeout of the server. quic-go
// takes one of less than 5 seconds as 5 seconds.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(s *server) { s.QUICConfig = &quic.Config{MaxIdleTimeout: time.Second} })
	err := mustDial(t, s, 1).run(t, func() bool { return false })
	if f := failure.Of(err, ""); f.Kind != rv.CauseClosed || f.Detail != "the idle timeout of QUIC has passed" {
		t.Errorf("%+v", f)
	}
}

// TestNoCommonVersion: the server answers each Initial with a Version Negotiation packet that has a version of its own
// only (RFC 8999 6).
func TestNoCommonVersion(t *testing.T) {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 2000); ; {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(versionNegotiation(b[:n], 0xfa, 0xce, 0xb0, 0x02), from)
		}
	}()
	t.Cleanup(func() {
		_ = udp.Close()
		<-ended
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = quicnet.Dial(ctx, udp.LocalAddr().String(), &quicnet.Config{TLS: &tls.Config{ServerName: "a"}, Streams: 1})
	f := failure.Of(err, "")
	if f.Kind != rv.CauseProtocol || !strings.HasPrefix(f.Detail, "the server has no common version of QUIC: ") ||
		!strings.Contains(f.Detail, "0xfaceb002") {
		t.Errorf("%+v of %v", f, err)
	}
}

// versionNegotiation returns the answer to a packet with a long header: the connection ids in the reverse order, and a
// version.
func versionNegotiation(initial []byte, version ...byte) []byte {
	const ids = 5 // the first octet and the version are before them
	to := initial[ids : ids+1+int(initial[ids])]
	rest := initial[ids+len(to):]
	from := rest[:1+int(rest[0])]
	out := append([]byte{0x80, 0, 0, 0, 0}, from...)
	return append(append(out, to...), version...)
}

// sessions is a cache that reports each session that the server gives.
type sessions struct {
	tls.ClientSessionCache
	put chan struct{}
}

func (s *sessions) Put(key string, state *tls.ClientSessionState) {
	s.ClientSessionCache.Put(key, state)
	select {
	case s.put <- struct{}{}:
	default:
	}
}

// TestResumption: a connection resumes the session of an earlier one if the configuration keeps sessions.
func TestResumption(t *testing.T) {
	for name, resumes := range map[string]bool{"sessions are kept": true, "sessions are not kept": false} {
		t.Run(name, func(t *testing.T) {
			var resumed []bool
			cache := &sessions{tls.NewLRUClientSessionCache(0), make(chan struct{}, 1)}
			s := serve(t, func(s *server) {
				s.config.VerifyConnection = func(c tls.ConnectionState) error {
					resumed = append(resumed, c.DidResume)
					return nil
				}
				if resumes {
					s.config.ClientSessionCache = cache
				}
			})
			for range 2 {
				c := mustDial(t, s, 1)
				_ = c.run(t, func() bool { return c.Ready() && c.Free() == 1 })
				c.get("/echo", "")
				if err := c.run(t, func() bool { return len(c.done) == 1 }); err != nil {
					t.Fatal(err)
				}
				if resumes {
					<-cache.put
				}
			}
			if len(resumed) != 2 || resumed[0] || resumed[1] != resumes {
				t.Errorf("resumed %v, want the second: %v", resumed, resumes)
			}
		})
	}
}
