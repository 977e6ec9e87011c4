package loop

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// parse1 reads whole HTTP/1.1 requests without a body.
func (c *simConn) parse1() {
	for {
		head, _, ok := bytes.Cut(c.in.Bytes(), []byte("\r\n\r\n"))
		if !ok {
			return
		}
		c.streams++
		r := &simRequest{at: time.Duration(c.s.clock), conn: c.index, stream: c.streams, fields: map[string]string{}}
		lines := strings.Split(string(head), "\r\n")
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			r.fields[strings.ToLower(name)] = value
		}
		r.fields[":authority"], r.fields[":path"] = r.fields["host"], strings.Fields(lines[0])[1]
		c.in.Next(len(head) + 4)
		c.open[r.stream] = r
		c.request(r)
	}
}

// answer1 writes a response, with its body behind it or later.
func (c *simConn) answer1(_ *simRequest, p reply) {
	if p.status == 0 {
		c.closed = true // HTTP/1.1 knows neither RST_STREAM nor GOAWAY
		return
	}
	last := ""
	if p.announces {
		last = "connection: close\r\n"
	}
	for i := 0; i < len(p.headers); i += 2 {
		last += p.headers[i] + ": " + p.headers[i+1] + "\r\n"
	}
	fmt.Fprintf(&c.out, "HTTP/1.1 %d x\r\n%scontent-length: %d\r\n\r\n", p.status, last, len(p.body))
	rest := func() {
		c.out.Write(p.body)
		c.closed = c.closed || p.announces
	}
	if p.bodyAfter == 0 {
		rest()
		return
	}
	c.s.in(p.bodyAfter, rest)
}

// goAway ends the connection with NO_ERROR; whatever was sent is processed.
func (c *simConn) goAway() {
	_ = http2.NewFramer(&c.out, nil).WriteGoAway(1<<31-1, http2.ErrCodeNo, nil)
}
