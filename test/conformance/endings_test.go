package conformance

import (
	"net/http"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// endingRequests would take minutes if a wait came before each new connection.
const endingRequests = 250

const endingWant = "every request succeeds, each on a connection of its own, without waits between them"

// TestEndingsAreNoFailures: servers that end each connection as they announce it. Waits before connecting
// follow failures only, and these are not failures.
func TestEndingsAreNoFailures(t *testing.T) {
	segments := func(head, content string) func(*h1conn, *http.Request) {
		return func(c *h1conn, _ *http.Request) {
			c.text(head)
			time.Sleep(time.Millisecond) // so that the end is known before the response is whole
			c.text(content)
			_ = c.Close()
		}
	}
	for _, row := range []h1row{
		{name: "9.6 always connection: close, head and content in two segments", does: segments(status+"connection: close\r\ncontent-length: 2\r\n\r\n", "ok")},
		{name: "9.6 always connection: close, chunked", does: segments(status+"connection: close\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n", "0\r\n\r\n")},
		{name: "9.3 always HTTP/1.0", does: segments("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n", "ok")},
		{name: "6.3 always content up to the end of the connection", does: segments(status+"\r\n", "ok")},
	} {
		list(t, h1Rows, row.name, endingWant)
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newH1Peer(t, true, row.does)
			endings(t, p.address, rv.ProtocolHTTP1)
			p.end()
		})
	}
	for name, script := range map[string]func(*h2conn){
		"6.8 always GOAWAY before the answer": func(c *h2conn) {
			c.greet()
			if id := c.next(); id != 0 {
				_ = c.fr.WriteGoAway(id, 0, nil)
				time.Sleep(time.Millisecond)
				c.ok(id)
			}
		},
		"6.8 always GOAWAY after the answer": func(c *h2conn) {
			c.greet()
			if id := c.next(); id != 0 {
				c.ok(id)
				_ = c.fr.WriteGoAway(id, 0, nil)
			}
		},
	} {
		list(t, h2Rows, name, endingWant)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t, func(c *h2conn) {
				script(c)
				for range c.requests { // until the client closes
				}
			})
			p.hostile = 1 << 30
			p.start()
			endings(t, p.address, rv.ProtocolH2C)
			p.close()
		})
	}
}

func endings(t *testing.T, address string, protocol rv.Protocol) {
	t.Helper()
	plan := newPlan(address, protocol, endingRequests)
	plan.Targets[0].Connections = 2
	if c := &mustExecute(t, plan).Counters; c.Succeeded != endingRequests || c.Connects < endingRequests {
		t.Errorf("%+v", *c)
	}
}
