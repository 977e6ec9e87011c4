package conns

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/h2"
)

// numbers returns those of the connections that have a place, in order.
func (b *bench) numbers() (out []int32) {
	for _, c := range b.cs.To(0).places() {
		out = append(out, c.number)
	}
	slices.Sort(out)
	return out
}

// TestResize: the connections have the numbers of their share, also if it moves, and if the first one has the last
// record.
func TestResize(t *testing.T) {
	b := newBench(t, nil)
	b.cs.Open(0, 3, 3, true)
	b.dialled(nil)
	for _, share := range []struct{ n, first int }{{2, 2}, {3, 3}, {1, 0}, {0, 0}, {2, 4}} {
		b.cs.Resize(0, share.n, share.first, false)
		b.dialled(nil)
		b.check(t, share.n)
		want := []int32(nil)
		for i := range share.n {
			want = append(want, int32(share.first+i))
		}
		if diff := cmp.Diff(want, b.numbers()); diff != "" {
			t.Errorf("numbers of %d connections from %d (-want +got):\n%s", share.n, share.first, diff)
		}
	}

	b = newBench(t, func(t *rv.Target) { t.Protocol = rv.ProtocolH2 })
	b.cs.Open(0, 3, 0, true)
	b.dialled(nil)
	for _, p := range b.peers {
		p.out = h2.AppendSettings(nil)
	}
	b.deliver()
	c := b.cs.To(0).Take()
	b.carry(c)
	b.carry(c)
	b.cs.handle(c, responded)
	b.peers[c.index].out = h2.AppendGoAway(nil, 1<<30, http2.ErrCodeNo, "")
	b.deliver()
	if c.number != 0 || c.role != surplus {
		t.Fatalf("connection %d is %v, want 0 without a place", c.number, c.state)
	}
	b.cs.Resize(0, 2, 0, false)
	if diff := cmp.Diff([]int32{0, 1}, b.numbers()); diff != "" {
		t.Errorf("numbers after another connection took the place of the first (-want +got):\n%s", diff)
	}
}

// carry puts a request on a connection of HTTP/2.
func (b *bench) carry(c *Conn) {
	c.OpenRequest(append(c.h2.Begin(), 0x82, 0x84, 0x86), 1, nil, 0) // GET / http
	b.cs.Carried(c)
}
