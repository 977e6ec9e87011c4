package h1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/runner/protocol"
)

// TestResetMakesANewSession compares a session after Reset with a new one, wherever the old connection broke off.
func TestResetMakesANewSession(t *testing.T) {
	const (
		first = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nServer: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nabcde\r\n0\r\nt: x\r\n\r\n" +
			"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
		second = "HTTP/1.1 200 OK\r\nServer: b\r\nContent-Length: 2\r\n\r\nok"
	)
	for _, cfg := range []Config{{Pipeline: 3}, {NoKeepAlive: true}} {
		for n := range len(first) + 1 {
			for _, unsent := range []bool{false, true} {
				old := converse(t, cfg)
				for old.Free() > 0 {
					old.request(1, "POST /"+strings.Repeat("x", 100*n), protocol.WantHeaders)
				}
				if !unsent {
					old.send()
					_ = old.receive(first[:n])
				}
				old.Cancel(uint32(n%4), 0)
				old.Reset()
				old.Take()
				if got, want := exchangeOnce(old, second), exchangeOnce(converse(t, cfg), second); !cmp.Equal(got, want) {
					t.Errorf("%+v, %d octets of responses: %s", cfg, n, cmp.Diff(want, got))
				}
			}
		}
	}
}

// exchangeOnce returns all that a caller sees of a request and its response.
func exchangeOnce(c *conversation, response string) []any {
	seen := []any{c.Free(), c.InFlight(), c.Draining(), c.Broken(), len(c.Pending())}
	id := c.request(7, "GET /", protocol.WantHeaders|protocol.WantBody)
	sent := c.send()
	c.answer(response)
	return append(seen, id, sent, c.Take(), c.Free(), c.Draining(), c.in.begun())
}
