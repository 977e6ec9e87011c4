package h1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/runner/protocol"
)

const (
	empty     = ok + "content-length: 0\r\n\r\n"
	lastEmpty = ok + "content-length: 0\r\nconnection: close\r\n\r\n"
)

func (c *conversation) expect(what string, lines ...string) {
	c.t.Helper()
	if diff := cmp.Diff(lines, c.Take()); diff != "" {
		c.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestKeepAlive(t *testing.T) {
	c := converse(t, Config{})
	for tok := uint32(1); tok < 4; tok++ {
		if !c.Ready() || c.Free() != 1 || c.Draining() {
			t.Fatal("an idle session is ready and has room for one request")
		}
		id := c.Open(append(c.Begin(), "POST /x HTTP/1.1\r\n\r\n"...), tok, []byte("body"), 0)
		if id == 0 || c.Free() != 0 || c.InFlight() != 1 || c.Open(append(c.Begin(), "GET"...), 9, nil, 0) != 0 {
			t.Fatal("without pipelining there is one request at a time")
		}
		if got := c.send(); got != "POST /x HTTP/1.1\r\n\r\nbody" {
			t.Fatalf("sent %q", got)
		}
		c.answer("HTTP/1.1 201 Created\r\na: b\r\ncontent-length: 2\r\n\r\nxy")
		c.expect("nothing is wanted", fmt.Sprint(tok, " status 201"), fmt.Sprint(tok, " completed"))
	}
	c.Close()
	c.expect("after Close", []string(nil)...)
}

func TestPipelining(t *testing.T) {
	responses := ok + "content-length: 3\r\n\r\nabc" +
		"HTTP/1.1 204 x\r\n\r\n" +
		"HTTP/1.1 100 x\r\n\r\n" + ok + "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" +
		"HTTP/1.1 304 x\r\ncontent-length: 7\r\n\r\n" +
		ok + "content-length: 7\r\n\r\n" // to HEAD
	for _, pieces := range splits(responses) {
		c := converse(t, Config{Pipeline: 5})
		for tok := range uint32(5) {
			want := protocol.WantBody
			if tok == 4 {
				want |= protocol.HeadRequest
			}
			c.request(tok, "GET /", want)
		}
		if c.Free() != 0 || c.InFlight() != 5 {
			t.Fatalf("%d free, %d in flight", c.Free(), c.InFlight())
		}
		c.send()
		for _, p := range pieces {
			c.answer(p)
		}
		c.expect("pipeline", "0 status 200", "0 data abc", "0 completed", "1 status 204", "1 completed",
			"2 status 200", "2 data abc", "2 completed", "3 status 304", "3 completed", "4 status 200", "4 completed")
		if c.Free() != 5 {
			t.Errorf("%d free", c.Free())
		}
	}
}

// TestUnprocessed has the requests that may be sent again, and those that may
// not, when a connection ends.
func TestUnprocessed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		before  int // responses that the connection has given
		lines   []string
		unsent  int // of the requests, from the last
		answer  string
		eof     bool
		close   bool
		want    string
		wantErr string
	}{
		{name: "fresh connection", lines: []string{"GET /"}, eof: true, want: "0 lost", wantErr: "RFC 9112 9.5"},
		{name: "idle connection", before: 1, lines: []string{"GET /"}, eof: true, want: "0 unprocessed"},
		{name: "each idempotent method", before: 1, lines: []string{"HEAD /", "PUT /", "DELETE /", "OPTIONS *", "TRACE /"}, eof: true,
			want: "0 unprocessed; 1 unprocessed; 2 unprocessed; 3 unprocessed; 4 unprocessed"},
		{name: "POST on an idle connection", before: 1, lines: []string{"POST /"}, eof: true, want: "0 lost", wantErr: "RFC 9112 9.5"},
		{name: "PATCH, and methods are case-sensitive", before: 1, lines: []string{"PATCH /", "get /"}, eof: true, want: "0 lost; 1 lost", wantErr: "RFC 9112 9.5"},
		{name: "POST not sent", lines: []string{"POST /"}, unsent: 1, eof: true, want: "0 unprocessed"},
		{name: "one octet came", before: 1, lines: []string{"GET /", "GET /"}, answer: "H", eof: true, want: "0 lost; 1 unprocessed", wantErr: "RFC 9112 8"},
		{name: "1xx came", before: 1, lines: []string{"GET /"}, answer: "HTTP/1.1 100 x\r\n\r\n", eof: true, want: "0 lost", wantErr: "RFC 9112 8"},
		{name: "pipeline not answered", lines: []string{"GET /", "GET /", "POST /"}, answer: empty, eof: true, want: "0 status 200; 0 completed; 1 unprocessed; 2 lost", wantErr: "RFC 9112 9.5"},
		{name: "fresh pipeline", lines: []string{"GET /", "POST /"}, eof: true, want: "0 lost; 1 lost", wantErr: "RFC 9112 9.5"},
		{name: "behind close", lines: []string{"GET /", "POST /", "GET /"}, answer: lastEmpty, want: "0 status 200; 0 completed; 1 unprocessed; 2 unprocessed"},
		{name: "behind HTTP/1.0, which has not said close", lines: []string{"GET /", "POST /", "GET /", "POST /"}, unsent: 1, answer: "HTTP/1.0 200 x\r\ncontent-length: 0\r\n\r\n",
			want: "0 status 200; 0 completed; 1 lost; 2 unprocessed; 3 unprocessed"},
		{name: "behind content up to the end", lines: []string{"GET /", "POST /", "GET /"}, answer: ok + "\r\n", eof: true, want: "0 status 200; 0 completed; 1 lost; 2 unprocessed", wantErr: "RFC 9112 9.5"},
		{name: "behind content up to the end after close", lines: []string{"GET /", "POST /"}, answer: ok + "connection: close\r\n\r\nx", eof: true, want: "0 status 200; 0 completed; 1 unprocessed"},
		{name: "behind a malformed one", before: 1, lines: []string{"GET /", "GET /"}, answer: "x", want: "0 reset; 1 lost", close: true, wantErr: "RFC 9112 4"},
		{name: "the connection is gone", before: 1, lines: []string{"GET /"}, want: "0 lost", close: true},
		{name: "the connection is gone before it was sent", lines: []string{"POST /", "POST /"}, unsent: 1, want: "0 lost; 1 unprocessed", close: true},
		{name: "answered before it was sent", before: 1, lines: []string{"POST /", "POST /"}, unsent: 2, answer: empty, want: "0 unprocessed; 1 unprocessed", wantErr: "RFC 9112 9.2"},
	} {
		c := converse(t, Config{Pipeline: 8})
		for range tt.before {
			c.request(0, "GET /", 0)
			c.send()
			c.answer(empty)
		}
		c.Take()
		for i, line := range tt.lines {
			if i == len(tt.lines)-tt.unsent {
				c.send()
			}
			c.request(uint32(i), line, 0)
		}
		if tt.unsent == 0 {
			c.send()
		}
		err := c.receive(tt.answer)
		if tt.eof && err == nil {
			err = c.Ended()
		}
		if !tt.close && c.InFlight() != 0 {
			t.Errorf("%s: %d in flight", tt.name, c.InFlight())
		}
		c.Close()
		if got := strings.Join(c.Take(), "; "); got != tt.want || section(err) != tt.wantErr {
			t.Errorf("%s: %s, want %s; error %v", tt.name, got, tt.want, err)
		}
		if len(c.Pending()) > 0 || c.Free() > 0 {
			t.Errorf("%s: something would still be sent", tt.name)
		}
	}
}

// TestNothingIsSentAfterClose: RFC 9112 9.6, a client that receives the close
// option must cease sending requests; the one that is being answered goes on.
func TestNothingIsSentAfterClose(t *testing.T) {
	c := converse(t, Config{Pipeline: 4})
	c.Open(append(c.Begin(), "PUT / HTTP/1.1\r\n\r\n"...), 0, []byte("0123456789"), 0)
	first := len(c.Pending())
	c.request(1, "GET /", 0)
	c.Wrote(first - 5)
	c.answer(ok + "connection: close\r\ncontent-length: 1\r\n\r\n")
	if got := string(c.Pending()); got != "56789" {
		t.Errorf("pending: %q, want the rest of the body alone", got)
	}
	c.answer("x")
	c.expect("behind close", "0 status 200", "0 completed", "1 unprocessed")
	if len(c.Pending()) > 0 || !c.Draining() || c.Broken() {
		t.Errorf("pending %q, draining %v, broken %v", c.Pending(), c.Draining(), c.Broken())
	}
}

func TestNoKeepAlive(t *testing.T) {
	c := converse(t, Config{NoKeepAlive: true, Pipeline: 7})
	if c.Free() != 1 || c.Draining() {
		t.Fatal("there is room for one request")
	}
	c.request(1, "GET /", 0)
	if c.Free() != 0 || !c.Draining() || c.InFlight() != 1 {
		t.Error("the first request is the last one")
	}
	c.send()
	c.answer(empty)
	c.expect("one request", "1 status 200", "1 completed")
	if c.Free() != 0 || c.InFlight() != 0 || c.Ended() != nil {
		t.Error("the connection has had its request")
	}
}

func TestCancel(t *testing.T) {
	c := converse(t, Config{Pipeline: 3})
	c.request(1, "GET /", 0)
	id := c.request(2, "GET /", 0)
	c.request(3, "GET /", 0)
	c.send()
	c.answer(ok + "content-length: 2\r\n\r\na")
	if c.Cancel(id+7, 0) || c.Broken() {
		t.Error("an unknown request was cancelled")
	}
	if !c.Cancel(id, 0) || c.Cancel(id, 0) || !c.Broken() || !c.Draining() || c.Free() != 0 || c.InFlight() != 2 {
		t.Error("a cancelled request breaks the connection")
	}
	c.answer("b" + empty + "\x00 whatever")
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	c.Close()
	c.expect("the others", "1 status 200", "1 lost", "3 lost")
	c.Close()
	if err := c.receive("x"); err == nil || c.InFlight() != 0 || len(c.Take()) > 0 {
		t.Error("a closed session does something")
	}
}

func TestCancelledAlone(t *testing.T) {
	c := converse(t, Config{})
	id := c.request(1, "GET /", 0)
	c.Cancel(id, 0)
	if c.InFlight() != 0 || len(c.Pending()) != 0 {
		t.Error("nothing is in flight, nothing to be sent")
	}
	c.Close()
	c.expect("cancelled", []string(nil)...)
}

func TestShutdown(t *testing.T) {
	c := converse(t, Config{Pipeline: 2})
	c.request(1, "GET /", 0)
	c.Shutdown()
	if c.Free() != 0 || c.Draining() {
		t.Error("Shutdown ends opening, and is not the peer's doing")
	}
	c.send()
	c.answer(empty)
	c.expect("in flight at Shutdown", "1 status 200", "1 completed")
}

func TestIdleConnectionEnds(t *testing.T) {
	c := converse(t, Config{})
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	c = converse(t, Config{})
	c.request(1, "GET /", 0)
	c.send()
	c.answer(empty)
	c.Take()
	if err := c.receive("HTTP/1.1 408 Request Timeout\r\n"); section(err) != "RFC 9112 9.2" || !c.Broken() || c.Free() != 0 {
		t.Errorf("a response that no one asked for: %v", err)
	}
	c.expect("no request", []string(nil)...)
}

// TestHeadBound: MaxHeaderBytes is exact, however the head is cut.
func TestHeadBound(t *testing.T) {
	for _, trailer := range []bool{false, true} {
		for _, over := range []int{0, 1} {
			prefix, start := "", ok
			if trailer {
				prefix, start = ok+"transfer-encoding: chunked\r\n\r\n0\r\n", ""
			}
			const most = 300
			fill := most + over - len(start) - len("a: \r\n\r\n")
			in := start + "a: " + strings.Repeat("x", fill) + "\r\n\r\n"
			for _, pieces := range splits(in) {
				c := converse(t, Config{MaxHeaderBytes: most})
				c.request(1, "HEAD /", 0)
				if !trailer {
					c.queue.at(0).want = protocol.HeadRequest
				}
				c.send()
				c.answer(prefix)
				var err error
				for _, p := range pieces {
					if err = c.receive(p); err != nil {
						break
					}
				}
				if got := section(err) == errTooLong.Section; got != (over > 0) || err == nil && c.InFlight() > 0 {
					t.Errorf("trailer %v, %d octets over, %d pieces: %v", trailer, over, len(pieces), err)
				}
				if cap(c.in.carry) > 4*most {
					t.Errorf("%d octets carried", cap(c.in.carry))
				}
			}
		}
	}
}

// TestCarryIsReleased: a large head that came in pieces leaves nothing behind.
func TestCarryIsReleased(t *testing.T) {
	c := converse(t, Config{})
	c.request(1, "GET /", 0)
	c.send()
	c.answer(ok + "a: " + strings.Repeat("x", 30000))
	if len(c.in.carry) < 30000 {
		t.Fatal("a cut head is carried")
	}
	c.answer("\r\ncontent-length: 0\r\n\r\n")
	c.expect("a large head", "1 status 200", "1 completed")
	if cap(c.in.carry) > carryKept || cap(c.in.memo) > memoMost {
		t.Errorf("%d and %d octets kept", cap(c.in.carry), cap(c.in.memo))
	}
}

// TestOutBufferIsReleased: a large body leaves nothing behind for good.
func TestOutBufferIsReleased(t *testing.T) {
	c := converse(t, Config{})
	turn := func(body []byte) {
		c.Open(append(c.Begin(), "PUT / HTTP/1.1\r\n\r\n"...), 1, body, 0)
		for len(c.Pending()) > 0 {
			c.Wrote((len(c.Pending()) + 1) / 2)
		}
		c.answer(empty)
	}
	turn(make([]byte, 1<<20))
	for range 100 {
		turn(nil)
	}
	if cap(c.out.Buf) > protocol.OutKept {
		t.Errorf("%d octets kept", cap(c.out.Buf))
	}
}

// TestHeadsAlike: what is remembered of a head is used for the same head alone.
func TestHeadsAlike(t *testing.T) {
	c := converse(t, Config{})
	for i, in := range []string{
		ok + "content-length: 1\r\n\r\na",
		ok + "content-length: 1\r\n\r\nb",
		ok + "content-length: 2\r\n\r\nbc",
		ok + "content-length: 2\r\nx: y\r\n\r\nde",
		ok + "Content-Length: 2\r\nX: y\r\n\r\nfg",
		ok + "Content-Length: 2\r\nX: y\r\n\r\nhi",
		"HTTP/1.1 304 OK\r\ncontent-length: 2\r\n\r\n",
		ok + "content-length: 2\r\nconnection: close\r\n\r\njk",
	} {
		c.request(1, "GET /", protocol.WantBody|protocol.WantHeaders)
		c.send()
		c.answer(in)
		_, body, _ := strings.Cut(in, "\r\n\r\n")
		lines := strings.Join(c.Take(), "; ")
		if !strings.Contains(lines, "; 1 completed") || body != "" && !strings.Contains(lines, "data "+body+";") {
			t.Errorf("response %d: %s", i, lines)
		}
		if strings.Contains(strings.ToLower(in), "x: y") != strings.Contains(lines, "1 x: y") {
			t.Errorf("response %d: %s", i, lines)
		}
	}
	if !c.Draining() {
		t.Error("the last response closes")
	}
}

func TestErrorText(t *testing.T) {
	if got := errFold.Error(); got != "http1: the first field line begins with white space (RFC 9112 2.2)" {
		t.Error(got)
	}
}

// TestHTTP2Answer: what a server of HTTP/2 answers to a request of HTTP/1.1 is named, and other wrong answers are not.
func TestHTTP2Answer(t *testing.T) {
	for in, want := range map[string]string{
		"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03":                     AnsweredHTTP2, // SETTINGS
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64":     AnsweredHTTP2,
		"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": AnsweredHTTP2, // GOAWAY
		"\x00\x00\x08\x07\x00\x00\x00\x00\x01\x00\x00\x00\x00":             errStatusLine.Reason,
		"\x15\x03\x01\x00\x02\x02\x46\x00\x00":                             errStatusLine.Reason,
	} {
		if got := noStatusLine([]byte(in)); got.Reason != want {
			t.Errorf("%q: %v, want %q", in, got, want)
		}
		h := new(head)
		if _, err := h.statusLine([]byte(in)); err == nil || err.Reason != want {
			t.Errorf("status line %q: %v, want %q", in, err, want)
		}
	}
}
