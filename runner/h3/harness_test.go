package h3

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/h3/qpack"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/protocol/protocoltest"
)

// conversation is a session and what its handler has seen.
type conversation struct {
	*Client
	protocoltest.Recorder
	t *testing.T
}

// converse returns a session with a number of credits, on streams of their numbers. The peer's SETTINGS have come on
// stream 0 of the peer.
func converse(t *testing.T, cfg Config, slots int) *conversation {
	t.Helper()
	c := &conversation{t: t}
	c.Client = NewClient(cfg, &c.Recorder)
	in := record(Record{Kind: Peer, Data: settings()})
	for i := range slots {
		in = append(in, record(Record{Kind: Credit, Slot: uint32(i), Stream: uint32(i)})...)
	}
	if err := c.Receive(in, 0); err != nil || !c.Ready() || c.Free() != min(slots, c.cfg.MaxConcurrentStreams) {
		t.Fatalf("ready %t, free %d, error %v", c.Ready(), c.Free(), err)
	}
	if got := c.sent(); !strings.HasPrefix(got, "CONTROL 00 04 ") {
		t.Fatalf("sent %s", got)
	}
	return c
}

// get opens a GET with a token.
func (c *conversation) get(tok uint32, body string, want protocol.Want) (id uint32) {
	c.t.Helper()
	id = c.Open(append(c.Begin(), block(":method", "GET")...), tok, []byte(body), want)
	if id == 0 {
		c.t.Fatal("Open returned 0")
	}
	return id
}

// sent returns what is pending in words, and takes it.
func (c *conversation) sent() string {
	c.t.Helper()
	var out []string
	for len(c.Pending()) > 0 {
		r, n := NextRecord(c.Pending())
		if n == 0 {
			c.t.Fatalf("a cut record: % x", c.Pending())
		}
		c.Wrote(n)
		switch r.Kind {
		case Control:
			out = append(out, fmt.Sprintf("CONTROL % x", r.Data))
		case Request:
			out = append(out, fmt.Sprintf("REQUEST %d/%d %t % x", r.Slot, r.Stream, r.Fin, r.Data))
		case Cancel:
			out = append(out, fmt.Sprintf("CANCEL %d/%d %s", r.Slot, r.Stream, protocol.CodeName(http2.ErrCode(r.Code))))
		case Close:
			out = append(out, "CLOSE "+protocol.CodeName(http2.ErrCode(r.Code)))
		default:
			c.t.Fatalf("sent a record of kind %d", r.Kind)
		}
	}
	return strings.Join(out, "; ")
}

func record(r Record) []byte { return AppendRecord(nil, &r) }

// on returns octets of the response in a slot, whose stream has the same number. With end, they are the last ones.
func on(slot uint32, end bool, frames ...[]byte) []byte {
	return record(Record{Kind: Data, Slot: slot, Stream: slot, Fin: end, Data: join(frames...)})
}

// peer returns octets of a unidirectional stream.
func peer(number uint32, frames ...[]byte) []byte {
	return record(Record{Kind: Peer, Stream: number, Data: join(frames...)})
}

func join(p ...[]byte) (out []byte) {
	for _, p := range p {
		out = append(out, p...)
	}
	return out
}

func frameOf(kind uint64, payload string) []byte {
	return append(appendVarint(appendVarint(nil, kind), uint64(len(payload))), payload...)
}

// block returns a header block of names and values.
func block(fields ...string) []byte {
	b := []byte(qpack.Prefix)
	for i := 0; i < len(fields); i += 2 {
		full, name := qpack.StaticIndex(fields[i], fields[i+1])
		if full > 0 {
			b = qpack.AppendIndexed(b, full)
			continue
		}
		b = qpack.AppendLiteral(b, hpack.Without, name, fields[i], fields[i+1])
	}
	return b
}

func headers(fields ...string) []byte { return frameOf(frameHeaders, string(block(fields...))) }

func content(s string) []byte { return frameOf(frameData, s) }

// settings returns the begin of a control stream.
func settings() []byte { return append([]byte{streamControl}, frameOf(frameSettings, "")...) }
