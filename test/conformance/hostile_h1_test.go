package conformance

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// What a connection of HTTP/1.1 comes to. A response that breaks a rule ends it (RFC 9112 11.2), and the
// request is counted as reset; one whose connection ends first, as connectionLost.
var (
	broken     = outcome{reset: 1, abandoned: true}
	cut        = outcome{lost: 1, abandoned: true}
	reconnects = outcome{abandoned: true}
	failed     = outcome{failedChecks: 1}
)

const (
	status  = "HTTP/1.1 200 OK\r\n"
	length0 = "content-length: 0\r\n\r\n"
	chunked = status + "transfer-encoding: chunked\r\n\r\n"
	whole   = status + "content-length: 2\r\n\r\nok"
)

func TestHostileHTTP1Heads(t *testing.T) {
	runH1Rows(t, []h1row{
		says("4 no reason phrase", "HTTP/1.1 200 \r\n"+length0, tolerated),
		says("4 no space after the status", "HTTP/1.1 200\r\n"+length0, tolerated),
		says("4 a reason phrase of any octets", "HTTP/1.1 200 \t\xe9\xff\r\n"+length0, tolerated),
		says("2.3 HTTP/1.9", "HTTP/1.9 200 OK\r\n"+length0, tolerated),
		says("2.3 HTTP/2.0", "HTTP/2.0 200 OK\r\n"+length0, broken),
		says("2.3 HTTP/0.9", "<html></html>\r\n", broken),
		says("RFC 9113 3.4 SETTINGS of HTTP/2", "\x00\x00\x00\x04\x00\x00\x00\x00\x00", broken),
		says("4 another protocol", "SSH-2.0-OpenSSH_9.2\r\n", broken),
		says("4 a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", broken),
		says("4 a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", broken),
		says("4 a status below 100", "HTTP/1.1 099 X\r\n\r\n", broken),
		says("4 a status that is not a number", "HTTP/1.1 2x0 OK\r\n\r\n", broken),
		says("RFC 9110 15 status 600", "HTTP/1.1 600 X\r\n"+length0, failed),
		says("RFC 9110 15 status 999", "HTTP/1.1 999 X\r\n"+length0, failed),
		says("2.2 lines that end in LF alone", "HTTP/1.1 200 OK\ncontent-length: 0\n\n", tolerated),
		says("2.2 a bare CR in a value", status+"a: b\rc\r\n"+length0, broken),
		says("RFC 9110 5.5 NUL in a value", status+"a: b\x00c\r\n"+length0, broken),
		says("5.1 a space before the colon", status+"a : b\r\n"+length0, broken),
		says("5 a field without a name", status+": b\r\n"+length0, broken),
		says("5 a line without a colon", status+"a\r\n"+length0, broken),
		says("5 a name that is not a token", status+"a(b): c\r\n"+length0, broken),
		says("RFC 9110 5.5 a value beyond ASCII", status+"a: \xc3\xbc\xff\r\n"+length0, tolerated),
		says("5.2 a folded value", status+"a: b\r\n c\r\n"+length0, tolerated),
		says("5.2 a folded content-length", status+"content-length:\r\n 2\r\n\r\nok", tolerated),
		says("5.2 a content-length of two lines", status+"content-length: 1\r\n 2\r\n\r\nok", broken),
		says("2.2 white space before the first field", status+" a: b\r\n"+length0, broken),
		says("5.1 an empty value", status+"a:\r\n"+length0, tolerated),
		says("RFC 9110 5.4 a head of 1 MiB", status+"a: "+strings.Repeat("v", 1<<20)+"\r\n"+length0, broken),
		says("RFC 9110 5.4 100 000 fields", status+strings.Repeat("a: b\r\n", 100_000)+length0, broken),
		{name: "4 a head of single octets", want: tolerated, does: func(c *h1conn, _ *http.Request) {
			for _, b := range []byte(whole) {
				_, _ = c.Write([]byte{b})
			}
		}},
	})
}

func TestHostileHTTP1Framing(t *testing.T) {
	runH1Rows(t, []h1row{
		says("6.3 content-length and transfer-encoding", status+"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", broken),
		says("6.3 content-length twice, the same", status+"content-length: 2\r\ncontent-length: 2\r\n\r\nok", tolerated),
		says("6.3 content-length twice, not the same", status+"content-length: 2\r\ncontent-length: 3\r\n\r\nok", broken),
		says("6.3 content-length as a list that differs", status+"content-length: 2, 3\r\n\r\nok", broken),
		says("6.3 content-length with a sign", status+"content-length: +2\r\n\r\nok", broken),
		says("6.3 negative content-length", status+"content-length: -2\r\n\r\nok", broken),
		says("6.3 hexadecimal content-length", status+"content-length: 0x2\r\n\r\nok", broken),
		says("6.3 content-length above 2^63", status+"content-length: 18446744073709551621\r\n\r\nok", broken),
		says("6.3 empty content-length", status+"content-length:\r\n\r\n", broken),
		saysAndCloses("6.3 content up to the end of the connection", status+"\r\nok", reconnects),
		saysAndCloses("6.3 no content up to the end of the connection", status+"\r\n", reconnects),
		saysAndCloses("8 less content than content-length", status+"content-length: 3\r\n\r\nok", cut),
		says("9.2 more content than content-length", whole+"more", outcome{abandoned: true}),
		says("9.2 a second response that nothing asked for", whole+whole, outcome{abandoned: true}),
		says("RFC 9110 6.4.1 204 with content-length", "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", tolerated),
		says("RFC 9110 6.4.1 204 with content", "HTTP/1.1 204 No Content\r\n\r\nx", outcome{abandoned: true}),
		says("RFC 9110 8.6 304 with content-length", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", tolerated),
		says("7.1 chunks", chunked+"2\r\nok\r\n00A\r\n0123456789\r\n0\r\n\r\n", tolerated),
		says("7.1.1 chunk extensions", chunked+"2;a=b;c=\"d;e\"\r\nok\r\n0;z\r\n\r\n", tolerated),
		says("7.1.2 a trailer section", chunked+"2\r\nok\r\n0\r\na: b\r\nc: d\r\n\r\n", tolerated),
		says("7.1.2 a bad trailer section", chunked+"2\r\nok\r\n0\r\na b\r\n\r\n", broken),
		says("7.1 a chunk size that is not a number", chunked+"x\r\nok\r\n", broken),
		says("7.1 an empty chunk size", chunked+"\r\nok\r\n", broken),
		says("7.1 a negative chunk size", chunked+"-2\r\nok\r\n", broken),
		says("7.1 a chunk size above 2^63", chunked+"FFFFFFFFFFFFFFFFF\r\nok\r\n", broken),
		says("7.1 no CRLF after a chunk", chunked+"2\r\nokay\r\n0\r\n\r\n", broken),
		says("7.1.1 a chunk extension of 1 MiB", chunked+"2;"+strings.Repeat("x", 1<<20)+"\r\nok\r\n0\r\n\r\n", broken),
		says("6.1 a coding that nothing asked for", status+"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", broken),
		says("6.1 chunked twice", status+"transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n", broken),
		says("6.1 transfer-encoding in HTTP/1.0", "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", broken),
		saysAndCloses("7.1 closes within a chunk", chunked+"5\r\nok", cut),
		saysAndCloses("7.1 closes without the last chunk", chunked+"2\r\nok\r\n", cut),
		{name: "7.1 chunks of one octet, one by one", want: tolerated, does: func(c *h1conn, _ *http.Request) {
			c.text(chunked)
			for range 200 {
				c.text("1\r\nx\r\n")
			}
			c.text("0\r\n\r\n")
		}},
		headRow("RFC 9110 9.3.2 HEAD with content-length", status+"content-length: 5\r\n\r\n", tolerated),
		headRow("RFC 9110 9.3.2 HEAD with transfer-encoding", chunked, tolerated),
		headRow("RFC 9110 9.3.2 HEAD with content", status+"content-length: 1\r\n\r\nx", outcome{abandoned: true}),
	})
}

// headRow is a row whose requests are HEAD.
func headRow(name, octets string, want outcome) h1row {
	r := says(name, octets, want)
	r.plan = func(p *rv.Plan) { p.Chains[0].Steps[0].Method = http.MethodHead }
	return r
}

func TestHostileHTTP1Interim(t *testing.T) {
	const early = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
	runH1Rows(t, []h1row{
		says("RFC 9110 15.2 interim responses before the final one", "HTTP/1.1 100 Continue\r\n\r\n"+early+"HTTP/1.1 102 Processing\r\n\r\n"+whole, tolerated),
		says("RFC 9110 15.2 10 000 interim responses", strings.Repeat(early, 10_000)+whole, broken),
		says("RFC 9110 15.2.2 101 though no upgrade was asked for", "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", broken),
		saysAndCloses("RFC 9110 15.2 closes after an interim response", early, cut),
		{name: "RFC 9110 15.2 only interim responses", want: outcome{timedOut: 1, abandoned: true}, plan: shortTimeout, does: func(c *h1conn, _ *http.Request) {
			for {
				if _, err := c.Write([]byte(early)); err != nil {
					return
				}
				time.Sleep(short / 3)
			}
		}},
	})
}

// TestHTTP1Closes has the server end the connection at each moment of a request.
func TestHTTP1Closes(t *testing.T) {
	abort := func(c *h1conn) {
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	runH1Rows(t, []h1row{
		saysAndCloses("9.5 closes without an answer", "", cut),
		saysAndCloses("9.5 closes within the status line", "HTTP/1.1 2", cut),
		saysAndCloses("9.5 closes within the head", status+"content-le", cut),
		saysAndCloses("9.5 closes after the head", status+"content-length: 2\r\n\r\n", cut),
		{name: "9.6 closes after the response, while nothing is in flight", want: reconnects, plan: func(p *rv.Plan) {
			p.Rates[0] = rv.Rate{Name: "slow", Count: 2, Period: time.Second, Requests: 3}
		}, does: func(c *h1conn, _ *http.Request) {
			c.text(whole)
			_ = c.Close()
		}},
		saysAndCloses("9.6 connection: close, and closes", status+"connection: close\r\ncontent-length: 2\r\n\r\nok", reconnects),
		{name: "9.6 connection: close, head and content in two segments", want: reconnects, does: func(c *h1conn, _ *http.Request) {
			c.text(status + "connection: close\r\ncontent-length: 2\r\n\r\n")
			time.Sleep(10 * time.Millisecond)
			c.text("ok")
			_ = c.Close()
		}},
		{name: "9.6 connection: close, and stays open", want: reconnects, does: func(c *h1conn, _ *http.Request) {
			c.text(status + "connection: close\r\ncontent-length: 2\r\n\r\nok")
			if c.request() != nil {
				c.peer.mu.Lock()
				c.peer.faults = append(c.peer.faults, "a request after connection: close")
				c.peer.mu.Unlock()
			}
		}},
		saysAndCloses("9.3 HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", reconnects),
		saysAndCloses("9.3 HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\n\r\nok", reconnects),
		says("9.3 HTTP/1.0 with keep-alive", "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok", tolerated),
		{name: "9.5 resets the connection without an answer", want: cut, does: func(c *h1conn, _ *http.Request) { abort(c) }},
		{name: "9.5 resets the connection within the content", want: cut, does: func(c *h1conn, _ *http.Request) {
			c.text(status + "content-length: 2\r\n\r\no")
			abort(c)
		}},
		{name: "9.5 closes its half without an answer", want: cut, does: func(c *h1conn, _ *http.Request) { _ = c.Conn.(*net.TCPConn).CloseWrite() }},
	})
}

// TestSlowHTTP1Servers: a request that times out ends its connection, since HTTP/1.1 cannot cancel one.
func TestSlowHTTP1Servers(t *testing.T) {
	late := outcome{timedOut: 1, abandoned: true}
	slow := func(name string, does func(c *h1conn, r *http.Request)) h1row {
		return h1row{name: name, want: late, plan: shortTimeout, does: func(c *h1conn, r *http.Request) {
			does(c, r)
			_, _ = io.Copy(io.Discard, c.in) // until the client closes
		}}
	}
	runH1Rows(t, []h1row{
		slow("no answer", func(*h1conn, *http.Request) {}),
		slow("a head that never ends", func(c *h1conn, _ *http.Request) { c.text(status + "a: b\r\n") }),
		slow("content that never ends", func(c *h1conn, _ *http.Request) { c.text(status + "content-length: 9\r\n\r\nok") }),
		slow("a chunk that never ends", func(c *h1conn, _ *http.Request) { c.text(chunked + "9\r\nok") }),
		slow("a last chunk that never comes", func(c *h1conn, _ *http.Request) { c.text(chunked + "2\r\nok\r\n") }),
		slow("a trailer section that never ends", func(c *h1conn, _ *http.Request) { c.text(chunked + "0\r\na: b\r\n") }),
		slow("content up to the end of a connection that never ends", func(c *h1conn, _ *http.Request) { c.text(status + "\r\nok") }),
		slow("one octet at a time", func(c *h1conn, _ *http.Request) {
			for _, b := range []byte(whole[:len(whole)-1]) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}),
		slow("chunks without end", func(c *h1conn, _ *http.Request) {
			c.text(chunked)
			for {
				if _, err := io.WriteString(c, "1\r\nx\r\n"); err != nil {
					return
				}
				time.Sleep(short / 10)
			}
		}),
	})
}

// TestHTTP1Uploads: the server answers before it has the request, or instead of it.
func TestHTTP1Uploads(t *testing.T) {
	once := func(p *rv.Plan) {
		upload(p)
		p.Rates[0].Requests = 1
	}
	runH1Rows(t, []h1row{
		{name: "9.3 takes a body slowly", want: tolerated, plan: once, does: func(c *h1conn, r *http.Request) {
			for range 20 {
				_, _ = io.CopyN(io.Discard, r.Body, uploadSize/20)
				time.Sleep(time.Millisecond)
			}
			c.text(whole)
		}},
		{name: "9.3 answers within the body, and takes it all", want: tolerated, plan: upload, does: func(c *h1conn, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 100)
			c.text(whole)
			_, _ = io.Copy(io.Discard, r.Body)
		}},
	})
}
