package quicnet_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/quic-go/quic-go"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/protocol"
)

// TestServerClosesAfterGoAway: the server sends GOAWAY, answers all requests and closes the connection with
// H3_NO_ERROR. No request is lost.
func TestServerClosesAfterGoAway(t *testing.T) {
	const requests = 50
	accepted, finish := make(chan *quic.Conn, 1), make(chan struct{})
	s := serve(t, func(s *server) {
		s.ConnContext = func(ctx context.Context, c *quic.Conn) context.Context {
			accepted <- c
			return ctx
		}
	})
	s.handle(func(w http.ResponseWriter, _ *http.Request) {
		s.requests.Add(1)
		<-finish
		_, _ = w.Write(make([]byte, 200))
	})
	c := mustDial(t, s, requests)
	_ = c.run(t, func() bool { return c.Ready() && c.Free() == requests })
	for range requests {
		c.get("/", "")
	}
	_ = c.run(t, func() bool { c.wake(); return s.requests.Load() == requests })
	go s.Shutdown(t.Context()) //nolint:errcheck // ends with the test
	_ = c.run(t, c.Draining)
	close(finish)
	_ = c.run(t, func() bool { return len(c.done) == requests })
	go (<-accepted).CloseWithError(quic.ApplicationErrorCode(protocol.H3NoError), "") //nolint:errcheck // always nil
	err := c.run(t, func() bool { return false })
	if f := failure.Of(err, ""); f.Kind != rv.CauseClosed || c.count(protocol.Completed) != requests {
		t.Errorf("%+v, outcomes %v", f, c.done)
	}
}
