package h2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Run with
//
//	go test -run - -bench Client -count 10 ./runner/h2 | benchstat -
//
// ns/op is one request with its response through the session: rendering, the
// response's frames, events, the bytes handed to the socket. Two thirds of a
// millionth of a second is what the whole engine has for a request.

// counter is the cheapest Handler: what is measured is the session.
type counter struct {
	done, octets int
	status       int
}

func (c *counter) OnStatus(_ uint32, status int)          { c.status = status }
func (c *counter) OnHeader(_ uint32, name, value []byte)  { c.octets += len(name) + len(value) }
func (c *counter) OnTrailer(_ uint32, name, value []byte) { c.octets += len(name) + len(value) }
func (c *counter) OnData(_ uint32, p []byte)              { c.octets += len(p) }
func (c *counter) OnDone(_ uint32, o protocol.Outcome)    { c.done++ }

// exchange is a batch of equal requests and the bytes that answer them.
type exchange struct {
	c       *Client
	h       *counter
	request []byte // header block
	body    []byte
	want    protocol.Want
	answers []byte // of one batch
	ids     []int  // where in answers the stream ids are, in their order
	frames  int    // frames an answer
	opened  []uint32
	piece   int // octets a Receive; 0: all at once
}

const batch = 100

// newExchange makes a session whose table holds what the first answer inserts.
func newExchange(body []byte, want protocol.Want, answer func(first bool) []byte) *exchange {
	x := &exchange{h: new(counter), body: body, want: want}
	x.c = NewClient(Config{MaxConcurrentStreams: batch}, x.h)
	if err := x.c.Receive(wire(AppendSettings(nil), AppendSettingsAck(nil)), 0); err != nil {
		panic(err)
	}
	x.request = hpack.AppendIndexed(nil, 3)
	x.request = hpack.AppendLiteral(x.request, hpack.Without, 4, ":path", "/npcf-policyauthorization/v1/app-sessions/0000000001")
	x.load(answer(true), 1)
	x.run()
	x.load(answer(false), batch)
	return x
}

// load makes n equal answers the ones to give.
func (x *exchange) load(one []byte, n int) {
	x.frames = len(idsIn(one))
	x.answers = bytes.Repeat(one, n)
	x.ids = idsIn(x.answers)
	if len(x.body) > 0 {
		x.answers = AppendWindowUpdate(x.answers, 0, uint32(n*len(x.body)))
	}
	x.opened = make([]uint32, n)
}

// idsIn finds the stream ids of frames.
func idsIn(p []byte) (at []int) {
	for i := 0; i < len(p); i += FrameHeaderLen + int(ParseFrameHeader(p[i:]).Length) {
		at = append(at, i+5)
	}
	return at
}

// run makes a batch of requests and answers them.
func (x *exchange) run() {
	for i := range x.opened {
		buf := append(x.c.Begin(), x.request...)
		x.opened[i] = x.c.Open(buf, uint32(i), x.body, x.want)
	}
	x.c.Wrote(len(x.c.Pending()))
	for i, id := range x.opened {
		for _, at := range x.ids[i*x.frames : (i+1)*x.frames] {
			binary.BigEndian.PutUint32(x.answers[at:], id)
		}
	}
	for p := x.answers; len(p) > 0; {
		n := len(p)
		if x.piece > 0 {
			n = min(n, x.piece)
		}
		if err := x.c.Receive(p[:n], 0); err != nil {
			panic(err)
		}
		p = p[n:]
	}
}

// indexedGET answers as nghttpd does: all fields in the table, and a small body
// or none.
func indexedGET(body string) func(first bool) []byte {
	return func(first bool) []byte {
		block := hpack.AppendIndexed(nil, 8)
		for i, f := range [][2]string{{"server", "nghttpd nghttp2/1.52.0"}, {"cache-control", "max-age=3600"},
			{"date", "Mon, 21 Oct 2013 20:13:21 GMT"}, {"content-length", fmt.Sprint(len(body))}} {
			if first {
				block = hpack.AppendLiteral(block, hpack.Incremental, 0, f[0], f[1])
			} else {
				block = hpack.AppendIndexed(block, 65-i)
			}
		}
		p := AppendHeaders(nil, 1, body == "", true, block)
		if body != "" {
			p = AppendData(p, 1, true, []byte(body))
		}
		return p
	}
}

// created answers a POST: 201 and date from the table, location literally.
func created(huffman bool) func(first bool) []byte {
	return func(first bool) []byte {
		block := hpack.AppendLiteral(nil, hpack.Incremental, 8, ":status", "201")
		block = hpack.AppendLiteral(block, hpack.Incremental, 33, "date", "Mon, 21 Oct 2013 20:13:21 GMT")
		if !first {
			block = hpack.AppendIndexed(hpack.AppendIndexed(nil, 63), 62)
		}
		const location = "/npcf-policyauthorization/v1/app-sessions/0000000001"
		if huffman {
			block = hpack.AppendLiteral(block, hpack.Without, 46, "location", location)
		} else {
			block = hpack.AppendString(hpack.AppendLiteralPrefix(block, hpack.Without, 46, "location"), []byte(location))
		}
		return AppendHeaders(nil, 1, true, true, block)
	}
}

var exchanges = []struct {
	name   string
	body   []byte
	want   protocol.Want
	answer func(bool) []byte
}{
	{"GET-indexed", nil, 0, indexedGET("")},
	{"GET-indexed-body6", nil, 0, indexedGET("hello\n")},
	{"POST300-location-captured", make([]byte, 300), protocol.WantHeaders, created(false)},
	{"POST300-location-huffman-captured", make([]byte, 300), protocol.WantHeaders, created(true)},
	{"POST300-location-skipped", make([]byte, 300), 0, created(false)},
}

func BenchmarkClient(b *testing.B) {
	for _, e := range exchanges {
		b.Run(e.name, func(b *testing.B) {
			x := newExchange(e.body, e.want, e.answer)
			b.ReportAllocs()
			for n := b.N; n > 0; n -= batch {
				x.run()
			}
		})
	}
}
