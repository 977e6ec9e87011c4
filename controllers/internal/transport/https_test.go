package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// endpoint is a runner's control endpoint, and a client for it.
func endpoint(t *testing.T, serve http.HandlerFunc) (c *httpClient, server *httptest.Server, connections *atomic.Int64) {
	t.Helper()
	server, connections = httptest.NewUnstartedServer(serve), new(atomic.Int64)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	cfg := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	cfg.ServerName, cfg.NextProtos = "example.com", nil
	dial := HTTPS(func(context.Context, types.UID) (*tls.Config, error) { return cfg, nil }, nil)
	c = dial("run", server.Listener.Addr().String()).(*httpClient)
	t.Cleanup(c.Close)
	return c, server, connections
}

func someSnapshot() *runnerv1alpha1.Snapshot {
	h := histogram.New()
	h.RecordN(1000, 5)
	return &runnerv1alpha1.Snapshot{Shard: 3, Sequence: 7, State: runnerv1alpha1.StateRunning, ResponseTime: h.Encode(), Steps: []runnerv1alpha1.StepCounters{{Outcomes: runnerv1alpha1.Outcomes{Sent: 5}, ResponseTime: h.Encode()}}}
}

func TestHTTPSMessages(t *testing.T) {
	var got []string
	c, _, connections := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		got = append(got, r.Method+" "+r.URL.Path+" "+body.String())
		switch r.URL.Path {
		case runnerv1alpha1.PathStart:
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(runnerv1alpha1.Error{Message: "another start"})
		case runnerv1alpha1.PathTeardown:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("?"))
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	ctx := t.Context()
	for _, tc := range []struct {
		call string
		err  error
		want string
	}{
		{call: "Update", err: c.Update(ctx, runnerv1alpha1.Update{Revision: 2})},
		{call: "Stop", err: c.Stop(ctx, runnerv1alpha1.Stop{Reason: "spec.stop"})},
		{call: "Start", err: c.Start(ctx, runnerv1alpha1.Start{At: 4}), want: "the runner accepted a different message: another start"},
		{call: "Teardown", err: c.Teardown(ctx, runnerv1alpha1.Teardown{}), want: "the runner answered 400 Bad Request: no reason given"},
		{call: "Ack", err: c.Ack(ctx, runnerv1alpha1.Ack{Sequence: 7})},
	} {
		if tc.want == "" != (tc.err == nil) || tc.err != nil && tc.err.Error() != tc.want || errors.Is(tc.err, ErrConflict) != (tc.call == "Start") {
			t.Errorf("%s: error %v, want %q", tc.call, tc.err, tc.want)
		}
	}
	want := []string{
		`PUT /v1alpha1/update {"revision":2}`, `PUT /v1alpha1/stop {"reason":"spec.stop","drain":false}`, `PUT /v1alpha1/start {"at":4}`,
		`PUT /v1alpha1/teardown {}`, `PUT /v1alpha1/ack {"sequence":7}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// TestHTTPSSnapshot: runners of an earlier version answer with JSON.
func TestHTTPSSnapshot(t *testing.T) {
	for _, binary := range []bool{true, false} {
		c, _, connections := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "leaseUntil=5&term=2" || r.Header.Get("Accept") != runnerv1alpha1.MediaTypeSnapshot {
				t.Errorf("query %s, header %v", r.URL.RawQuery, r.Header)
			}
			b, _ := json.Marshal(someSnapshot())
			if binary {
				w.Header().Set("Content-Type", runnerv1alpha1.MediaTypeSnapshot)
				b, _ = someSnapshot().AppendBinary(nil)
			}
			_, _ = w.Write(b)
		})
		for range 3 {
			got, err := c.Snapshot(t.Context(), Poll{Lease: runnerv1alpha1.Lease{Until: 5, Term: 2}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(someSnapshot(), got); diff != "" {
				t.Errorf("binary %v (-want +got):\n%s", binary, diff)
			}
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("binary %v: %d connections, want 1", binary, n)
		}
	}
}

// TestHTTPSBadAnswers: each is an error, and the next call does not read what is left of the answer.
func TestHTTPSBadAnswers(t *testing.T) {
	good, _ := someSnapshot().AppendBinary(nil)
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"cut":       {func(w http.ResponseWriter) { w.Header().Set("Content-Length", "9999"); _, _ = w.Write(good[:40]) }, "unexpected EOF"},
		"too large": {func(w http.ResponseWriter) { w.Header().Set("Content-Length", strconv.Itoa(maxAnswer+1)) }, "allowed: at most"},
		"no length": {func(w http.ResponseWriter) { _, _ = w.Write(good); w.(http.Flusher).Flush() }, "allowed: at most"},
		"more":      {func(w http.ResponseWriter) { _, _ = w.Write(append(bytes.Clone(good), "more"...)) }, "after the last"},
		"no answer": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		var healthy atomic.Bool
		c, _, _ := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", runnerv1alpha1.MediaTypeSnapshot)
			if healthy.Load() {
				_, _ = w.Write(good)
				return
			}
			tc.answer(w)
		})
		if _, err := c.Snapshot(t.Context(), Poll{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.want)
		}
		healthy.Store(true)
		if got, err := c.Snapshot(t.Context(), Poll{}); err != nil || got.Sequence != 7 {
			t.Errorf("%s: the next call: %+v, %v", name, got, err)
		}
	}
}

// TestHTTPSClosedByTheRunner: a connection that the runner closed while it was idle costs no call.
func TestHTTPSClosedByTheRunner(t *testing.T) {
	c, server, connections := endpoint(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for want := int64(1); want <= 3; want++ {
		if err := c.Ack(t.Context(), runnerv1alpha1.Ack{}); err != nil {
			t.Fatal(err)
		}
		if n := connections.Load(); n != want {
			t.Errorf("%d connections, want %d", n, want)
		}
		server.CloseClientConnections()
	}
}

// TestHTTPSCancelled: a call that is given up ends at once, and the next one does not get its answer.
func TestHTTPSCancelled(t *testing.T) {
	calls, proceed := make(chan func(), 1), make(chan struct{})
	c, _, _ := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		select {
		case giveUp := <-calls:
			giveUp()
			<-proceed
			w.WriteHeader(http.StatusTeapot)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	if err := c.Ack(t.Context(), runnerv1alpha1.Ack{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	calls <- func() { cancel(context.DeadlineExceeded) }
	if err := c.Ack(ctx, runnerv1alpha1.Ack{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	close(proceed)
	if err := c.Ack(t.Context(), runnerv1alpha1.Ack{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestHTTPSOneDial: a process that is stopped accepts connections and does not answer. Calls that are given up make no second one.
func TestHTTPSOneDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	c := HTTPS(func(context.Context, types.UID) (*tls.Config, error) { return &tls.Config{ServerName: "x"}, nil }, nil)("run", listener.Addr().String())
	first, cancel := context.WithCancel(t.Context())
	go func() {
		conn := <-accepted
		defer func() { _ = conn.Close() }()
		_, _ = conn.Read(make([]byte, 1)) // it is in its handshake
		cancel()
		_, _ = conn.Read(make([]byte, 1<<16)) // the rest of its hello
		_, _ = conn.Read(make([]byte, 1))     // until Close
	}()
	if err := c.Ack(first, runnerv1alpha1.Ack{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	for range 3 {
		if err := c.Ack(first, runnerv1alpha1.Ack{}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
	}
	c.Close()
	_ = listener.Close()
	if conn, more := <-accepted; more {
		t.Errorf("another connection: %v", conn.LocalAddr())
	}
}

// TestRecords: whatever the network makes of the stream, a read returns octets of one record, and nothing is lost.
func TestRecords(t *testing.T) {
	record := func(n int) []byte {
		return append([]byte{23, 3, 3, byte(n >> 8), byte(n)}, bytes.Repeat([]byte{byte(n)}, n)...)
	}
	stream := slices.Concat(record(3), record(0), record(300), record(20000), record(1), []byte{23, 3})
	for _, size := range []int{1, 7, 300, 1 << 16} {
		here, there := net.Pipe()
		go func() {
			for b := range slices.Chunk(stream, size) {
				_, _ = there.Write(b)
			}
			_ = there.Close()
		}()
		r, got := &records{Conn: here}, []byte(nil)
		ends := map[int]bool{8: true, 13: true, 318: true, 20323: true, 20329: true}
		buffer := make([]byte, 1<<16)
		for {
			n, err := r.Read(buffer)
			for end := len(got) + 1; end < len(got)+n; end++ {
				if ends[end] {
					t.Errorf("chunks of %d: a read returns octets %d to %d, of two records", size, len(got), len(got)+n)
				}
			}
			if got = append(got, buffer[:n]...); err != nil {
				if !errors.Is(err, io.EOF) || r.in != nil {
					t.Errorf("chunks of %d: error %v, buffer kept: %v", size, err, r.in != nil)
				}
				break
			}
		}
		if !bytes.Equal(got, stream) {
			t.Errorf("chunks of %d: got %d octets, want %d", size, len(got), len(stream))
		}
		_ = here.Close()
	}
}
