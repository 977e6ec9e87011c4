package peer

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// Serve answers with a handler of net/http over cleartext TCP until the test ends: HTTP/2, or HTTP/1.1.
func Serve(t testing.TB, http2 bool, handler http.Handler) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler, Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute}
	s.Protocols.SetHTTP1(!http2)
	s.Protocols.SetUnencryptedHTTP2(http2)
	go s.Serve(l) //nolint:errcheck // ends with Close
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}
