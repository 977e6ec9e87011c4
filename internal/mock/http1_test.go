package mock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// raw is a connection to s on which the test writes and reads bytes.
func raw(t *testing.T, s *Server) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	return nc
}

func write(t *testing.T, nc net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(nc, text); err != nil {
		t.Fatal(err)
	}
}

func TestParseOpening(t *testing.T) {
	for in, want := range map[string]opening{
		"": openingUnknown, "P": openingUnknown, "PR": openingUnknown, "PRI * HTTP/2.0\r": openingUnknown,
		"PRI * HTTP/2.0\r\n": openingHTTP2, "PRI * HTTP/2.0\r\nx": openingHTTP2,
		"G": openingHTTP1, "PO": openingHTTP1, "PROPFIND /": openingHTTP1, "PRI * HTTP/1.1\r\n": openingHTTP1, "\x16\x03": openingHTTP1,
	} {
		if got := parseOpening([]byte(in)); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

// TestHTTP1Pieces: requests that arrive byte by byte, the content in chunks, and two at once are answered in order.
func TestHTTP1Pieces(t *testing.T) {
	onBoth(t, Options{Rules: ruleSet(t, faulty)}, func(t *testing.T, s *Server) {
		nc := raw(t, s)
		for _, b := range []byte("PUT /big HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n") {
			write(t, nc, string(b))
		}
		write(t, nc, "GET http://x/ok?q HTTP/1.1\r\nHost: x\r\n\r\nGET /none HTTP/1.1\r\nHost: x\r\n\r\n")
		in := bufio.NewReader(nc)
		for _, want := range []string{"200 abc", "200 ok 1", "404 "} {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if got := res.Status[:4] + string(body); err != nil || !strings.HasPrefix(got, want) {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			res.Body.Close()
		}
		if st := checkSum(t, s); st.Requests != 3 || st.Answered != 3 || st.BytesReceived == 0 || st.BytesSent == 0 {
			t.Errorf("%+v", st)
		}
	})
}

// TestHTTP1Unanswered: the connection stays open until the client closes it, whatever follows the request.
func TestHTTP1Unanswered(t *testing.T) {
	for name, opts := range map[string]Options{"flag": {Unanswered: 1}, "rule": {Rules: ruleSet(t, faulty)}} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, opts, func(t *testing.T, s *Server) {
				nc := raw(t, s)
				write(t, nc, "GET /silent HTTP/1.1\r\nHost: x\r\n\r\nGET /silent HTTP/1.1\r\nHost: x\r\n\r\n")
				waitFor(t, s, func(st Stats) bool { return st.Unanswered == 1 && st.OpenConnections == 1 })
				nc.Close()
				waitFor(t, s, func(st Stats) bool { return st.OpenConnections == 0 })
				if st := checkSum(t, s); st.Requests != 1 || st.Aborted != 0 || st.ConnectionErrors != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// TestHTTP1ContentCut: a client that leaves before the end of the content has aborted the request.
func TestHTTP1ContentCut(t *testing.T) {
	onBoth(t, Options{}, func(t *testing.T, s *Server) {
		nc := raw(t, s)
		write(t, nc, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
		waitFor(t, s, func(st Stats) bool { return st.Pending == 1 })
		nc.Close()
		waitFor(t, s, func(st Stats) bool { return st.Aborted == 1 && st.OpenConnections == 0 })
		if st := checkSum(t, s); st.Resources != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestHTTP1Refused(t *testing.T) {
	onBoth(t, Options{}, func(t *testing.T, s *Server) {
		s.mu.Lock()
		s.exchanges.n += maxExchanges // as if so many waited
		s.mu.Unlock()
		if got := do(t, client1(t), s, "POST", "/x", "body"); got.Status != 503 {
			t.Errorf("%+v", got)
		}
		if st := checkSum(t, s); st.Requests != 0 || st.Refused != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestHTTP1Record(t *testing.T) {
	var out bytes.Buffer
	s := start(t, Options{Record: &out}, (*Server).Serve)
	nc := raw(t, s)
	write(t, nc, "POST /a?b=%3c HTTP/1.1\r\nHost: h:1\r\nX: y\r\nContent-Length: 2\r\nX: z\r\n\r\n{}GET / HTTP/1.0\r\n\r\n")
	if _, err := io.ReadAll(nc); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	want := []Recorded{
		{
			Connection: 1, Stream: 1, Method: "POST", Path: "/a?b=%3c", Body: "{}", BodyBytes: 2,
			Headers: [][2]string{{":scheme", "http"}, {":authority", "h:1"}, {"content-length", "2"}, {"x", "y"}, {"x", "z"}},
		},
		{Connection: 1, Stream: 2, Method: "GET", Path: "/", Headers: [][2]string{{":scheme", "http"}, {":authority", ""}}},
	}
	var got []Recorded
	for d := json.NewDecoder(&out); d.More(); {
		var line Recorded
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHTTP1End: the end of the server ends idle, unanswered and delayed requests, and connections without a byte.
func TestHTTP1End(t *testing.T) {
	for name, serve := range loops {
		t.Run(name, func(t *testing.T) {
			s, stop := started(t, Options{Rules: ruleSet(t, `
rules:
- {name: ok, match: {path: /ok}, responses: [{status: 204}]}
- {name: silent, match: {path: /silent}, responses: [{unanswered: 1}]}
- {name: late, match: {path: /late}, responses: [{delay: {fixed: 1h}}]}
`)}, serve)
			var conns []net.Conn
			for _, path := range []string{"/ok", "/silent", "/late"} {
				conns = append(conns, raw(t, s))
				write(t, conns[len(conns)-1], "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
			}
			conns = append(conns, raw(t, s))
			waitFor(t, s, func(st Stats) bool {
				return st.Answered == 1 && st.Unanswered == 1 && st.Pending == 1 && st.OpenConnections == 4
			})
			stop()
			for i, nc := range conns {
				if out, err := io.ReadAll(nc); err != nil || (len(out) > 0) != (i == 0) {
					t.Errorf("connection %d: %q, %v", i, out, err)
				}
			}
			if st := checkSum(t, s); st.OpenConnections != 0 || st.Pending != 0 || st.Aborted != 1 || st.ConnectionErrors != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
