package h1

import (
	"strings"
	"testing"

	"github.com/h2surge/h2surge/runner/protocol"
)

// nginxResponse is what nginx 1.26 answers for its index page.
var nginxResponse = []byte("HTTP/1.1 200 OK\r\n" +
	"Server: nginx/1.26.3\r\n" +
	"Date: Mon, 01 Jun 2026 12:00:00 GMT\r\n" +
	"Content-Type: text/html\r\n" +
	"Content-Length: 615\r\n" +
	"Last-Modified: Wed, 05 Feb 2025 11:06:32 GMT\r\n" +
	"Connection: keep-alive\r\n" +
	"ETag: \"67a34638-267\"\r\n" +
	"Accept-Ranges: bytes\r\n" +
	"\r\n" + strings.Repeat("x", 615))

var getRequest = []byte("GET /index.html HTTP/1.1\r\nhost: 127.0.0.1:8080\r\nuser-agent: h2surge\r\n\r\n")

// counter is the cheapest Handler.
type counter struct{ status, fields, data, done int }

func (h *counter) OnStatus(uint32, int)                { h.status++ }
func (h *counter) OnHeader(uint32, []byte, []byte)     { h.fields++ }
func (h *counter) OnTrailer(uint32, []byte, []byte)    { h.fields++ }
func (h *counter) OnData(_ uint32, p []byte)           { h.data += len(p) }
func (h *counter) OnDone(_ uint32, o protocol.Outcome) { h.done += 1 - int(o.Kind) }

// exchange is one request and its response.
func exchange(tb testing.TB, c *Client, response []byte, want protocol.Want) {
	c.Open(append(c.Begin(), getRequest...), 1, nil, want)
	c.Wrote(len(c.Pending()))
	if err := c.Receive(response, 0); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkExchange measures a request sent and its response read, without
// I/O. "alike" are heads that are the same each time, "differing" are not.
func BenchmarkExchange(b *testing.B) {
	other := []byte(strings.Replace(string(nginxResponse), "12:00:00", "12:00:01", 1))
	chunked := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n267\r\n" + strings.Repeat("x", 0x267) + "\r\n0\r\n\r\n")
	for _, bb := range []struct {
		name string
		a, b []byte
		want protocol.Want
	}{
		{"alike", nginxResponse, nginxResponse, 0},
		{"differing", nginxResponse, other, 0},
		{"headers", nginxResponse, other, protocol.WantHeaders},
		{"chunked", chunked, chunked, 0},
	} {
		b.Run(bb.name, func(b *testing.B) {
			h := new(counter)
			c := NewClient(Config{}, h)
			b.ReportAllocs()
			for i := 0; i < b.N; i += 2 {
				exchange(b, c, bb.a, bb.want)
				exchange(b, c, bb.b, bb.want)
			}
			if h.done < b.N {
				b.Fatal("not all completed")
			}
		})
	}
}

// BenchmarkParseHead measures the parser alone.
func BenchmarkParseHead(b *testing.B) {
	var h head
	for b.Loop() {
		if n, err := parseHead(nginxResponse, &h); n == 0 || err != nil {
			b.Fatal(err)
		}
	}
}
