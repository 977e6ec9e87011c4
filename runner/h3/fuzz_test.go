package h3

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/h2surge/h2surge/runner/protocol"
)

// FuzzReceive gives arbitrary octets to streams of a session, whole and in pieces. The input is read as pieces: where
// it goes to, whether it is the end, its length, and its octets. Events, errors and what is sent must be the same, and
// all requests end once.
func FuzzReceive(f *testing.F) {
	for _, r := range rules() {
		var script []byte
		for p := r.in; ; {
			rec, n := NextRecord(p)
			if n == 0 || len(rec.Data) > 255 {
				break
			}
			p = p[n:]
			to := byte(rec.Slot)
			if rec.Kind == Peer {
				to = 3 + byte(rec.Stream)
			}
			end := byte(0)
			if rec.Fin {
				end = 1
			}
			script = append(append(script, to, end, byte(len(rec.Data))), rec.Data...)
		}
		f.Add(script, uint8(1))
	}
	f.Fuzz(func(t *testing.T, script []byte, size uint8) {
		var in []byte
		for len(script) > 3 {
			n := min(int(script[2]), len(script)-3)
			r := Record{Kind: Data, Slot: uint32(script[0] % 3), Fin: script[1]&1 != 0, Data: script[3 : 3+n]}
			r.Stream = r.Slot
			if script[0]%6 >= 3 {
				r.Kind = Peer
			}
			script = script[3+n:]
			in = append(in, record(r)...)
		}
		whole, pieces := newTwin(t), newTwin(t)
		err, err2 := whole.feed(in, 0), pieces.feed(in, 1+int(size))
		if codeOf(err) != codeOf(err2) {
			t.Fatalf("whole: %v, in pieces: %v", err, err2)
		}
		events, events2 := whole.Take(), pieces.Take()
		if diff := cmp.Diff(events, events2, cmpopts.EquateEmpty()); err == nil && diff != "" {
			t.Fatalf("events (-whole +pieces):\n%s", diff)
		}
		if a, b := whole.sent(), pieces.sent(); a != b {
			t.Fatalf("sent whole %s, in pieces %s", a, b)
		}
		whole.ends(append(events, whole.closed()...))
		pieces.ends(append(events2, pieces.closed()...))
	})
}

func newTwin(t *testing.T) *conversation {
	c := converse(t, Config{MaxHeaderListSize: 1000}, 3)
	for tok := range uint32(2) {
		c.get(tok, "", protocol.WantHeaders|protocol.WantBody)
	}
	c.sent()
	return c
}

// closed returns the events of Close.
func (c *conversation) closed() []string {
	c.Close()
	return c.Take()
}

// ends wants an end of each request.
func (c *conversation) ends(events []string) {
	c.t.Helper()
	ends := map[byte]int{}
	for _, e := range events {
		if word := strings.Fields(e)[1]; word == "completed" || word == "reset" || word == "lost" || word == "unprocessed" {
			ends[e[0]]++
		}
	}
	if ends['0'] != 1 || ends['1'] != 1 || c.InFlight() != 0 {
		c.t.Fatalf("%d in flight, ends %v in %q", c.InFlight(), ends, events)
	}
}
