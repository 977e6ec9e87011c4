package mock

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/h2surge/h2surge/internal/mock/rules"
)

// http3Server serves HTTP/3 with quic-go. It passes each request to a session of its own, as http1 does for a
// connection.
type http3Server struct {
	srv    *Server
	socket net.PacketConn
	web    *http3.Server
	// asks has the goroutines that wait for answers.
	asks *http1
}

// listenHTTP3 listens on a UDP address, with a certificate that no authority has signed.
func (s *Server) listenHTTP3(address string) (*http3Server, error) {
	certificate, err := ownCertificate()
	if err != nil {
		return nil, err
	}
	h := &http3Server{srv: s}
	if h.socket, err = net.ListenPacket("udp", address); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	streams := int64(s.opts.MaxConcurrentStreams)
	h.web = &http3.Server{
		Handler: h, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ConnContext: h.accepted,
		MaxHeaderBytes: 64 << 10, QUICConfig: &quic.Config{MaxIncomingStreams: streams, Allow0RTT: true},
	}
	return h, nil
}

// ownCertificate makes a certificate for this machine, which is valid for a year.
func ownCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "h2surge target"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// start serves until stop is called.
func (h *http3Server) start(asks *http1) (stop func()) {
	h.asks = asks
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.web.Serve(h.socket) // ends with Shutdown
	}()
	return func() {
		linger, cancel := context.WithTimeout(context.Background(), lingerTime)
		defer cancel()
		_ = h.web.Shutdown(linger) // Close ends the requests that are left
		_ = h.web.Close()
		_ = h.socket.Close()
		<-done
	}
}

type http3Key struct{}

// http3Conn is a connection and its number.
type http3Conn struct {
	*quic.Conn
	number uint64
}

// accepted counts a connection, and at its end its octets.
func (h *http3Server) accepted(ctx context.Context, q *quic.Conn) context.Context {
	s := h.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted++
	s.count.accepted++
	s.open++
	context.AfterFunc(q.Context(), func() {
		octets := q.ConnectionStats()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		s.count.received += octets.BytesReceived
		s.count.sent += octets.BytesSent
	})
	return context.WithValue(ctx, http3Key{}, http3Conn{q, s.accepted})
}

// ServeHTTP implements http.Handler.
func (h *http3Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.Context().Value(http3Key{}).(http3Conn) //nolint:errcheck,forcetypeassert // see accepted
	c := &session{srv: h.srv, table: staticState, onOutput: func() {}, number: q.number}
	c.http1 = &http1Conn{session: c, answers: make(chan http1Answer, 1)}
	switch a := h.asks.ask(c.http1, r); a.fate {
	case rules.Answered:
		a.write(w)
	case rules.Unanswered:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case rules.Close:
		_ = q.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeInternalError), "") // always nil
		panic(http.ErrAbortHandler)
	default:
		panic(http.ErrAbortHandler) // the stream is reset
	}
}
