package h1

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/runner/protocol"
)

// serve answers as its path says.
func serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch r.URL.Path {
	case "/length":
		_, _ = w.Write(append([]byte("got "), body...))
	case "/chunked":
		w.Header().Set("Trailer", "X-Sum")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "piece %d;", i)
			w.(http.Flusher).Flush()
		}
		w.Header().Set("X-Sum", "1")
	case "/hints":
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
	case "/modified":
		w.WriteHeader(http.StatusNotModified)
	case "/close":
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "bye")
	case "/large":
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
	}
}

// settle writes and reads until nothing is in flight.
func settle(t *testing.T, c *conversation, conn net.Conn) {
	t.Helper()
	buf := make([]byte, 16<<10)
	for c.InFlight() > 0 {
		if _, err := io.WriteString(conn, c.send()); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buf)
		if err := c.Receive(buf[:n], 0); err != nil {
			t.Fatal(err)
		}
		if errors.Is(err, io.EOF) {
			_ = c.Ended()
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAgainstAServer talks to net/http's server over one connection, one request
// at a time and in a pipeline.
func TestAgainstAServer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(serve))
	defer srv.Close()
	for _, pipeline := range []int{1, 8} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := converse(t, Config{Pipeline: pipeline})
		for i, line := range []string{"GET /length", "GET /chunked", "HEAD /length", "GET /hints", "GET /modified", "GET /large", "GET /close"} {
			want := protocol.WantBody
			if strings.HasPrefix(line, "HEAD") {
				want |= protocol.HeadRequest
			}
			c.request(uint32(i), line, want)
			if pipeline == 1 {
				settle(t, c, conn)
			}
		}
		settle(t, c, conn)
		got := strings.Join(c.Take(), "\n")
		want := "0 status 200\n0 data got \n0 completed\n1 status 200\n1 data piece 0;piece 1;piece 2;\n1 completed\n" +
			"2 status 200\n2 completed\n3 status 204\n3 completed\n4 status 304\n4 completed\n" +
			"5 status 200\n5 data " + strings.Repeat("x", 1<<20) + "\n5 completed\n6 status 200\n6 data bye\n6 completed"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pipeline %d (-want +got):\n%.2000s", pipeline, diff)
		}
		if !c.Draining() || c.Free() != 0 {
			t.Error("the last response closes")
		}
		_ = conn.Close()
	}
}
