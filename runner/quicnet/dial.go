package quicnet

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// Config is how a connection is opened.
type Config struct {
	// TLS has the name of the server. ALPN and the version are those of HTTP/3.
	TLS *tls.Config
	// Dialer connects the UDP socket.
	Dialer net.Dialer
	// Streams bounds the requests at a time.
	Streams int
	// Early opens streams before the handshake of a resumed session is complete (RFC 9001 4.6).
	Early bool
	// KeepAlive is the time between PINGs of an idle connection; 0: none is sent.
	KeepAlive time.Duration
}

const (
	// idleTimeout ends a connection on which nothing comes, unless the peer's is shorter (RFC 9000 10.1).
	idleTimeout = 5 * time.Minute
	// peerStreams bounds the unidirectional streams of the peer: three, and some of unknown types (RFC 9114 6.2).
	peerStreams = 16
	// firstPacket is the size of the first datagrams, in octets: what each path of QUIC carries (RFC 9000 14). The default
	// of quic-go is 1280, which a path with the smallest MTU of IPv6 does not carry.
	firstPacket = 1200
)

// quietOnce stops quic-go from logging the size of the system's socket buffers.
var quietOnce = sync.OnceFunc(func() { _ = os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true") })

// Dial opens a connection within the context, and starts its lanes.
func Dial(ctx context.Context, address string, cfg *Config) (*Conn, error) {
	quietOnce()
	udp, err := cfg.Dialer.DialContext(ctx, "udp", address)
	if err != nil {
		return nil, err
	}
	socket := connected{udp.(*net.UDPConn)} //nolint:errcheck,forcetypeassert // of network udp
	secure := cfg.TLS.Clone()
	secure.NextProtos, secure.MinVersion = []string{"h3"}, tls.VersionTLS13
	transport := &quic.Transport{Conn: socket}
	limit := time.Hour // the context has the timeout
	if end, ok := ctx.Deadline(); ok {
		limit = time.Until(end)
	}
	open := transport.Dial
	if cfg.Early {
		open = transport.DialEarly
	}
	q, err := open(ctx, udp.RemoteAddr(), secure, &quic.Config{
		Versions: []quic.Version{quic.Version1, quic.Version2}, HandshakeIdleTimeout: limit, MaxIdleTimeout: idleTimeout,
		KeepAlivePeriod: cfg.KeepAlive, MaxIncomingStreams: -1, MaxIncomingUniStreams: peerStreams,
		InitialPacketSize: firstPacket,
	})
	if err != nil {
		_ = transport.Close()
		_ = udp.Close()
		return nil, cause(err)
	}
	c := newConn(q, max(1, cfg.Streams))
	go func() {
		<-q.Context().Done()
		c.end(context.Cause(q.Context()))
		_ = transport.Close()
		_ = udp.Close()
	}()
	return c, nil
}

// connected is a UDP socket that is connected to the peer, so that the system reports a port without a server, and
// looks up the route once.
type connected struct{ *net.UDPConn }

// Other sockets have no GSO (UDP_SEGMENT) in quic-go.
var _ quic.OOBCapablePacketConn = connected{}

// WriteTo implements net.PacketConn.
func (c connected) WriteTo(b []byte, _ net.Addr) (int, error) { return c.Write(b) }

// WriteMsgUDP implements quic.OOBCapablePacketConn.
func (c connected) WriteMsgUDP(b, oob []byte, _ *net.UDPAddr) (n, oobn int, err error) {
	return c.UDPConn.WriteMsgUDP(b, oob, nil)
}
