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
		b.cs.resize(0, share.n, share.first, false)
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
	b.cs.resize(0, 2, 0, false)
	if diff := cmp.Diff([]int32{0, 1}, b.numbers()); diff != "" {
		t.Errorf("numbers after another connection took the place of the first (-want +got):\n%s", diff)
	}
}

// TestResizeKeeps: a change of the share opens and closes only as many connections as it has more or fewer, if the
// numbers of the others decide nothing.
func TestResizeKeeps(t *testing.T) {
	one := func(t *rv.Target) { t.Endpoints = t.Endpoints[:1] }
	secure := func(t *rv.Target, how rv.TLS) {
		one(t)
		t.Endpoints[0].Scheme, t.TLS = "https", &how
	}
	for _, tc := range []struct {
		name   string
		change func(*rv.Target)
		// addresses is how many addresses the host name of a URL has.
		addresses int
		n, first  int
		// dialled and closed are the connections that the change opens and closes.
		dialled, closed int
	}{
		{"other numbers", one, 1, 3, 5, 0, 0},
		{"more", one, 1, 4, 2, 1, 0},
		{"fewer", one, 1, 2, 2, 0, 1},
		{"TLS", func(t *rv.Target) { secure(t, rv.TLS{CertFile: "a.crt"}) }, 1, 3, 2, 0, 0},
		{"a name with several addresses", one, 6, 3, 2, 2, 2},
		{"several URLs", nil, 1, 3, 2, 2, 2},
		{"client certificates", func(t *rv.Target) { secure(t, rv.TLS{CertDirectory: "clients"}) }, 1, 3, 2, 2, 2},
		{"local addresses", func(t *rv.Target) { one(t); t.Connecting.LocalAddresses = []string{"::1"} }, 1, 3, 1, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, tc.change)
			b.addresses = tc.addresses
			b.cs.Open(0, 3, 0, true)
			b.dialled(nil)
			b.check(t, 3)
			b.cs.resize(0, tc.n, tc.first, false)
			b.check(t, 3-tc.closed)
			if n := len(b.attempts); n != tc.dialled {
				t.Errorf("%d are dialled, want %d", n, tc.dialled)
			}
			b.dialled(nil)
			b.check(t, tc.n)
			got := b.numbers()
			if len(got) != tc.n || got[0] != int32(tc.first) || got[tc.n-1] != int32(tc.first+tc.n-1) {
				t.Errorf("numbers %d, want %d from %d", got, tc.n, tc.first)
			}
		})
	}
}

// carry puts a request on a connection of HTTP/2.
func (b *bench) carry(c *Conn) {
	c.OpenRequest(append(c.h2.Begin(), 0x82, 0x84, 0x86), 1, nil, 0) // GET / http
	b.cs.Carried(c)
}
