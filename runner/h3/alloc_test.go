//go:build !race

package h3

import (
	"testing"

	"github.com/h2surge/h2surge/runner/protocol"
)

// quiet is a handler that counts.
type quiet struct{ done, octets int }

func (q *quiet) OnStatus(uint32, int)             {}
func (q *quiet) OnHeader(_ uint32, n, v []byte)   { q.octets += len(n) + len(v) }
func (q *quiet) OnTrailer(uint32, []byte, []byte) {}
func (q *quiet) OnData(_ uint32, p []byte)        { q.octets += len(p) }
func (q *quiet) OnDone(uint32, protocol.Outcome)  { q.done++ }

// TestClientDoesNotAllocate at steady state: requests with bodies, responses with fields and bodies, whole and in
// pieces.
func TestClientDoesNotAllocate(t *testing.T) {
	const batch = 50
	h := new(quiet)
	c := NewClient(Config{}, h)
	in := record(Record{Kind: Peer, Data: settings()})
	for i := range uint32(batch) {
		in = append(in, record(Record{Kind: Credit, Slot: i})...)
	}
	if err := c.Receive(in, 0); err != nil {
		t.Fatal(err)
	}
	request, body := block(":method", "POST", "x-name", "value"), make([]byte, 200)
	in = nil
	for i := range uint32(batch) {
		answer := join(headers(":status", "200", "x-name", "a value"), content("the content of a response"))
		in = append(in, record(Record{Kind: Data, Slot: i, Data: answer[:9]})...)
		in = append(in, record(Record{Kind: Data, Slot: i, Data: answer[9:], Fin: true})...)
		in = append(in, record(Record{Kind: Credit, Slot: i})...)
	}
	run := func() {
		for range batch {
			if c.Open(append(c.Begin(), request...), 1, body, protocol.WantHeaders|protocol.WantBody) == 0 {
				t.Fatal("Open returned 0")
			}
		}
		c.Wrote(len(c.Pending()))
		if err := c.Receive(in[:len(in)/2], 0); err != nil {
			t.Fatal(err)
		}
		if err := c.Receive(in[len(in)/2:], 0); err != nil {
			t.Fatal(err)
		}
	}
	run()
	done := h.done
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations for %d requests, want 0", n, batch)
	}
	if got := h.done - done; got != 101*batch {
		t.Errorf("%d responses, want %d", got, 101*batch)
	}
}
