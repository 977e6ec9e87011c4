package loop

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/test/certtest"
)

// tlsPeer makes records of TLS 1.3 with TLS_AES_128_GCM_SHA256, and updates its keys.
type tlsPeer struct {
	t      *testing.T
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	number uint64 // of the next record
}

func (p *tlsPeer) expand(label string, size int) []byte {
	label = "tls13 " + label
	info := append(binary.BigEndian.AppendUint16(nil, uint16(size)), byte(len(label)))
	out, err := hkdf.Expand(sha256.New, p.secret, string(append(append(info, label...), 0)), size)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// use sets the traffic secret (RFC 8446 7.3).
func (p *tlsPeer) use(secret []byte) {
	p.secret, p.number = secret, 0
	block, err := aes.NewCipher(p.expand("key", 16))
	if err != nil {
		p.t.Fatal(err)
	}
	if p.aead, err = cipher.NewGCM(block); err != nil {
		p.t.Fatal(err)
	}
	p.iv = p.expand("iv", 12)
}

// appendRecord appends an encrypted record (RFC 8446 5.2).
func (p *tlsPeer) appendRecord(dst []byte, kind byte, content []byte) []byte {
	nonce := append([]byte(nil), p.iv...)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^p.number)
	p.number++
	plain := append(append([]byte(nil), content...), kind)
	header := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(plain)+p.aead.Overhead()))
	return p.aead.Seal(append(dst, header...), nonce, plain, header)
}

// appendKeyUpdate appends a KeyUpdate that asks for one (RFC 8446 4.6.3).
func (p *tlsPeer) appendKeyUpdate(dst []byte) []byte {
	dst = p.appendRecord(dst, 22, []byte{24, 0, 0, 1, 1})
	p.use(p.expand("traffic upd", sha256.Size))
	return dst
}

// appendFlood appends a preface and SETTINGS, and then many updates of keys with PRIORITY between them, because crypto/tls allows few of them
// in a row.
func (p *tlsPeer) appendFlood(dst []byte, preface string) []byte {
	dst = p.appendRecord(dst, 23, []byte(preface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	for range 20_000 {
		dst = p.appendKeyUpdate(dst)
		dst = p.appendRecord(dst, 23, []byte("\x00\x00\x05\x02\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00"))
	}
	return dst
}

// newTLSPeer returns a connection after its handshake, and its peer. The roles of TLS have no effect after the handshake.
func newTLSPeer(t *testing.T) (*dial.Secure, *tlsPeer) {
	var log strings.Builder
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- tls.Server(theirs, &tls.Config{
			Certificates: []tls.Certificate{certtest.Self(t, "peer").TLS()}, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, KeyLogWriter: &log,
		}).Handshake()
	}()
	s := dial.NewSecure(ours, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err := s.Handshake(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.Detach()
	_, secret, _ := strings.Cut(log.String(), "SERVER_TRAFFIC_SECRET_0 ")
	fields := strings.Fields(secret)
	raw, err := hex.DecodeString(fields[1])
	if err != nil || s.State().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Fatalf("%v, cipher suite %x", err, s.State().CipherSuite)
	}
	p := &tlsPeer{t: t}
	p.use(raw)
	return s, p
}

// TestListenerOfATLSPeerThatDoesNotRead: a peer that asks for new keys again and again, and does not read the answers, is
// disconnected before these fill the memory.
func TestListenerOfATLSPeerThatDoesNotRead(t *testing.T) {
	for name, reads := range map[string]bool{"it reads": true, "it does not read": false} {
		t.Run(name, func(t *testing.T) {
			secure, peer := newTLSPeer(t)
			b := newBench(t, awaits(1), ok(time.Millisecond))
			var c *simConn
			b.onStart = append(b.onStart, func() {
				c = b.accept(0, rv.ProtocolHTTP1)
				c.raw, c.full, c.HTTP1 = true, !reads, false
				out := peer.appendFlood(nil, http2.ClientPreface)
				c.Out.Write(out)
				b.w.Serve(0, &dial.Connection{FD: noFD + c.fd, Secure: secure})
			})
			most := 0
			b.everyTurn = func() {
				most = max(most, len(secure.Pending()))
				if c != nil && c.Out.Len() == 0 {
					c.full = false // else the socket is reported as writable without an end
				}
			}
			b.run()
			if read := c.Out.Len() == 0; read != reads || most > 2*netio.MaxEncrypted {
				t.Errorf("all was read: %v, want %v; up to %d octets were pending", read, reads, most)
			}
		})
	}
}

// TestTLSTargetThatDoesNotRead: the same holds for a target, whose connection is lost with the cause.
func TestTLSTargetThatDoesNotRead(t *testing.T) {
	for name, reads := range map[string]bool{"it reads": true, "it does not read": false} {
		t.Run(name, func(t *testing.T) {
			secure, peer := newTLSPeer(t)
			b := newBench(t, gets(perSecond(10, 2*time.Second)), ok(time.Millisecond))
			b.secure = secure
			b.bad = map[int]func(*simConn){0: func(c *simConn) {
				c.raw = true
				c.Out.Write(peer.appendRecord(nil, 23, []byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"))) // SETTINGS
				b.bad = nil
			}}
			b.onStart = append(b.onStart, func() {
				c := b.conns[0]
				c.full = !reads
				c.Out.Write(peer.appendFlood(nil, ""))
			})
			most := 0
			b.everyTurn = func() {
				most = max(most, len(secure.Pending()))
				if len(b.conns) > 0 && b.conns[0].Out.Len() == 0 {
					b.conns[0].full = false // else the socket is reported as writable without an end
				}
			}
			got := b.run()
			want := map[rv.Failure]int64{}
			if !reads {
				want[rv.Failure{Of: rv.FailureConnection, Cause: rv.CauseProtocol, Detail: "no answer to KeyUpdate is read (RFC 8446 4.6.3)", Address: "t:80"}] = 1
			}
			if diff := cmp.Diff(want, causesOf(b)); diff != "" || most > 2*netio.MaxEncrypted {
				t.Errorf("up to %d octets were pending, %+v, causes (-want +got):\n%s", most, got, diff)
			}
		})
	}
}
