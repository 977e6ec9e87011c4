package grpc

import (
	"bytes"
	"encoding/binary"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Counter counts the messages of a response as its octets arrive. The zero value is at the beginning of a response.
type Counter struct {
	// have is how many octets of prefix have arrived, left how many octets of the message are missing after it.
	prefix [prefixOctets]byte
	have   uint8
	left   uint32
}

// Receive takes octets of the response, and returns how many messages they complete.
func (c *Counter) Receive(p []byte) (messages int) {
	for len(p) > 0 {
		if c.have < prefixOctets {
			n := copy(c.prefix[c.have:], p)
			c.have += uint8(n)
			p = p[n:]
			if c.have < prefixOctets {
				break
			}
			c.left = binary.BigEndian.Uint32(c.prefix[1:])
		}
		n := min(uint64(c.left), uint64(len(p)))
		c.left -= uint32(n)
		p = p[n:]
		if c.left == 0 {
			c.have = 0
			messages++
		}
	}
	return messages
}

// Stream is a call in flight whose method has a stream: which messages of the response have arrived, and which of the
// request are still to be sent. Its owner uses it again for another call.
type Stream struct {
	// Received is how many messages of the response have arrived, and Last when the last one did.
	Received int64
	Last     int64

	counter Counter
	// rest is what was not sent of the body, from the message with the index next on. waits are those that are not over.
	body, rest []byte
	next       int
	waits      []rv.Wait
	// needed is how many messages of the response the waits that are over needed. due is the end of a delay; 0: none runs.
	needed, due int64
}

// Begin starts a call whose body is sent as Next says. waits must not change.
func (s *Stream) Begin(body []byte, waits []rv.Wait) {
	*s = Stream{body: s.body[:0], waits: waits}
	if len(waits) > 0 {
		s.body = append(s.body, body...)
		s.rest = s.body
	}
}

// Receive takes octets of the response, and returns how many messages they complete.
func (s *Stream) Receive(p []byte, now int64) (messages int) {
	if messages = s.counter.Receive(p); messages > 0 {
		s.Received += int64(messages)
		s.Last = now
	}
	return messages
}

// Waits returns whether a part of the request waits.
func (s *Stream) Waits() bool { return len(s.waits) > 0 }

// IsAnswered returns whether the request waits for messages of the response, and all of them have arrived.
func (s *Stream) IsAnswered() bool {
	return s.Waits() && s.waits[0].Answers > 0 && s.Received >= s.needed+s.waits[0].Answers
}

// Due returns when the delay ends that the request waits for; 0: it waits for none.
func (s *Stream) Due() int64 { return s.due }

// Next returns what can be sent now of the body of a call with waits. Nothing waits after it if end is true. It is
// valid until Begin.
func (s *Stream) Next(now int64) (p []byte, end bool) {
	n := 0
	for s.Waits() {
		w := &s.waits[0]
		for ; s.next < w.Before; s.next++ {
			size := Size(s.rest[n:])
			if size == 0 { // a script has replaced the body by one with fewer messages
				s.waits = nil
				return s.take(len(s.rest)), true
			}
			n += size
		}
		switch {
		case w.Answers > 0 && s.Received < s.needed+w.Answers:
			return s.take(n), false
		case w.Answers == 0 && s.due == 0:
			s.due = now + int64(w.Delay)
			return s.take(n), false
		case now < s.due:
			return s.take(n), false
		}
		s.needed += w.Answers
		s.due = 0
		s.waits = s.waits[1:]
	}
	return s.take(len(s.rest)), true
}

func (s *Stream) take(n int) (p []byte) {
	p, s.rest = s.rest[:n], s.rest[n:]
	return p
}

// Sent returns what was sent of the body of a call: all of it, unless it is the body of Begin and a part still waits.
func (s *Stream) Sent(body []byte) []byte {
	if !s.Waits() || !bytes.Equal(body, s.body) {
		return body
	}
	return body[:len(body)-len(s.rest)]
}
