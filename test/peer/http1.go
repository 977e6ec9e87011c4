package peer

import (
	"bytes"
	"fmt"
	"strings"
)

// parse1 reads whole HTTP/1.1 requests without a body.
func (c *Peer) parse1() {
	for {
		head, _, ok := bytes.Cut(c.In.Bytes(), []byte("\r\n\r\n"))
		if !ok {
			return
		}
		c.streams++
		r := &Request{At: c.Now(), Conn: c.Index, Stream: c.streams, Fields: map[string]string{}}
		lines := strings.Split(string(head), "\r\n")
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			r.Fields[strings.ToLower(name)] = value
		}
		first := strings.Fields(lines[0])
		r.Fields[":method"], r.Fields[":authority"], r.Fields[":path"] = first[0], r.Fields["host"], first[1]
		c.In.Next(len(head) + 4)
		c.Open[r.Stream] = r
		c.request(r)
	}
}

// answer1 writes a response, with its body behind it or later. Length is its content-length.
func (c *Peer) answer1(p Reply, length int) {
	if p.Status == 0 {
		c.Closed = true // HTTP/1.1 knows neither RST_STREAM nor GOAWAY
		return
	}
	last := ""
	if p.Announces {
		last = "connection: close\r\n"
	}
	for i := 0; i < len(p.Headers); i += 2 {
		last += p.Headers[i] + ": " + p.Headers[i+1] + "\r\n"
	}
	fmt.Fprintf(&c.Out, "HTTP/1.1 %d x\r\n%scontent-length: %d\r\n\r\n", p.Status, last, length)
	rest := func() {
		c.Out.Write(p.Body)
		c.Closed = c.Closed || p.Announces
	}
	if p.BodyAfter == 0 {
		rest()
		return
	}
	c.Later(p.BodyAfter, rest)
}
