// Package network is a network in memory, for simulations in a bubble of testing/synctest. It has the hosts,
// connections and errors of TCP, a delay for each segment, and faults: loss, partitions of one or both directions,
// resets, processes that end and hosts that vanish. One seed decides all delays and losses.
//
// Not modelled: bandwidth, delays of acknowledgements, and more than one address per host. A connection that is cut is
// dead after Options.Timeout, whether it sends or not.
package network

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Options are those of a Network. The zero value delivers at once.
type Options struct {
	Seed uint64
	// Delay is the time from one host to another. Jitter is what is added to it at most.
	Delay, Jitter time.Duration
	// Loss is the share of segments that are lost, from 0 to 1. TCP sends them again.
	Loss float64
	// Window is how many octets a direction of a connection takes before they are read. Default: 64 KiB.
	Window int
	// Timeout is how long a connection survives a cut. Default: 15 minutes, as for data on Linux.
	Timeout time.Duration
}

// Network connects hosts. All methods may be called from any goroutine of the bubble.
type Network struct {
	mu    sync.Mutex // guards all fields, and those of hosts, listeners and connections
	opts  Options
	begin time.Time
	hosts map[netip.Addr]*Host
	names map[string][]netip.Addr
	cuts  []way
	conns []*conn // that are not closed at both ends
}

// way is a direction between two hosts. In a cut, the zero address means all hosts.
type way struct{ from, to netip.Addr }

// never is an instant that does not come.
const never = math.MaxInt64

// New returns a network without hosts.
func New(o Options) *Network {
	o.Window, o.Timeout = cmp.Or(o.Window, 64<<10), cmp.Or(o.Timeout, 15*time.Minute)
	return &Network{opts: o, begin: time.Now(), hosts: map[netip.Addr]*Host{}, names: map[string][]netip.Addr{}}
}

// now is in nanoseconds since New.
func (n *Network) now() int64 { return int64(time.Since(n.begin)) }

// Set changes the delay, the jitter and the loss.
func (n *Network) Set(delay, jitter time.Duration, loss float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opts.Delay, n.opts.Jitter, n.opts.Loss = delay, jitter, loss
}

// Host returns the host of an IP address. It is a new one if there is none, or if it was closed.
func (n *Network) Host(address string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := netip.MustParseAddr(address)
	if h := n.hosts[at]; h != nil && !h.closed {
		return h
	}
	h := &Host{net: n, address: at, port: firstPort}
	n.hosts[at] = h
	n.refresh()
	return h
}

// Remove removes a host. It answers nothing from now on, and its peers do not learn of it.
func (n *Network) Remove(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.hosts[netip.MustParseAddr(address)]; h != nil {
		delete(n.hosts, h.address)
		n.refresh()
		h.close()
	}
}

// Name gives addresses to a host name.
func (n *Network) Name(name string, addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = nil
	for _, a := range addresses {
		n.names[name] = append(n.names[name], netip.MustParseAddr(a))
	}
}

// Cut loses all segments from a host to another until Heal. Empty: from or to all hosts.
func (n *Network) Cut(from, to string) { n.setCut(from, to, true) }

// Heal ends a Cut. Lost segments arrive when TCP sends them again.
func (n *Network) Heal(from, to string) { n.setCut(from, to, false) }

func (n *Network) setCut(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var w way
	w.from, _ = netip.ParseAddr(from) // empty: zero
	w.to, _ = netip.ParseAddr(to)
	n.cuts = slices.DeleteFunc(n.cuts, func(c way) bool { return c == w })
	if cut {
		n.cuts = append(n.cuts, w)
	}
	n.refresh()
}

// isCut returns whether segments are lost.
func (n *Network) isCut(w way) bool {
	return n.hosts[w.from] == nil || n.hosts[w.to] == nil || slices.ContainsFunc(n.cuts, func(c way) bool {
		return (c.from == w.from || !c.from.IsValid()) && (c.to == w.to || !c.to.IsValid())
	})
}

// refresh makes cuts take effect on the connections.
func (n *Network) refresh() {
	now := n.now()
	for _, c := range n.conns {
		switch cut := n.isCut(c.out.way); {
		case cut && c.out.cutAt == never:
			c.out.cutAt = now
		case !cut && c.out.cutAt != never:
			c.release(now)
		}
	}
	for _, c := range n.conns {
		if c.deadAt > now {
			if c.deadAt = never; c.out.cutAt != never || c.in.cutAt != never {
				c.deadAt = min(c.out.cutAt, c.in.cutAt) + int64(n.opts.Timeout)
			}
		}
		c.arm(now)
	}
}

// Reset resets the connections between two hosts at both ends.
func (n *Network) Reset(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := way{netip.MustParseAddr(a), netip.MustParseAddr(b)}
	for _, c := range n.conns {
		if c.out.way == w || c.in.way == w {
			c.reset(n.now())
		}
	}
}

const (
	// retransmit is after how long TCP sends a segment again for the first time. The time doubles up to maxRetransmit.
	retransmit    = 200 * time.Millisecond
	maxRetransmit = 2 * time.Minute
)

// source returns the random numbers of a direction of a connection, on which no other one has an effect.
func (n *Network) source(from, to netip.AddrPort) *rand.Rand {
	key := func(at netip.AddrPort) uint64 {
		octets := at.Addr().As16()
		return binary.BigEndian.Uint64(octets[8:])<<16 | uint64(at.Port())
	}
	return rand.New(rand.NewPCG(n.opts.Seed^key(from), key(to))) //nolint:gosec // the seed decides all
}

// delay draws how long a segment takes, with the repetitions of lost ones.
func (n *Network) delay(source *rand.Rand) int64 {
	d := n.opts.Delay + time.Duration(source.Int64N(int64(n.opts.Jitter)+1))
	for again := retransmit; source.Float64() < n.opts.Loss && again < maxRetransmit; again *= 2 {
		d += again
	}
	return int64(d)
}

// sentAgain returns when TCP sends a segment again that was lost at an instant: the first time that is not before now.
func sentAgain(lost, now int64) int64 {
	for again := retransmit; lost < now; again = min(2*again, maxRetransmit) {
		lost += int64(again)
	}
	return lost
}
