package conns

import (
	"cmp"
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/cacheline"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Pool is the connections to a target.
type Pool struct {
	*Target
	// target is the index of the pool.
	target int32
	// all has the records of the pool; those in free may be used again.
	all  []*Conn
	free []*Conn
	// protocol is that of the connection that was opened last. Empty: none was opened.
	protocol rv.Protocol
	// addresses is how many addresses the host name had when the dialer last connected; 0: there is no host name.
	addresses int
	// available connections may have a free stream. The first is used next and goes to the end: after each request, or
	// with Plan.Batch at the end of the turn.
	available ring.Ring[*Conn]
	// batch are the connections that this turn has used, with Plan.Batch. All but the last are full.
	batch []*Conn
	// owned are the connections of chain instances, by instance, with Plan.Connecting.PerInstance.
	owned []*Conn
	// idle connections have no socket. Requests that wait let them connect.
	idle ring.Ring[*Conn]
	// spare are clients over HTTP/1.1 of connections that have closed, for the next ones: at most as many as were in use
	// at once.
	spare []*h1.Client
	// connecting is the sum of Conn.connecting.
	connecting int
	// newest is the connection that was opened last, and streams is how many requests it can hold, or could.
	newest  *Conn
	streams int64
	// unconnected is why requests are dropped while no connection is open or connecting: the last end of a connection, or
	// the last failure to open one.
	unconnected failure.Cause
	// failures counts the failures in a row to open a connection, over all connections.
	failures int
}

func newPools(targets []Target) []Pool {
	pools := cacheline.Make[Pool](len(targets))
	for i := range targets {
		pools[i] = Pool{Target: &targets[i], target: int32(i), batch: cacheline.Make[*Conn](0)}
	}
	return pools
}

// Offer puts a connection with a free stream at the end of the queue, and returns whether it is there. A connection
// that Take has returned, and that got no request, must be offered again.
func (p *Pool) Offer(c *Conn) bool {
	if !c.isAvailable && c.Free() > 0 {
		c.isAvailable = true
		p.available.Push(c)
	}
	return c.isAvailable
}

// Take returns the connection for the next request: the one that this turn fills, or the next one with a free
// stream, which leaves the queue. nil: no stream is free.
func (p *Pool) Take() *Conn {
	if n := len(p.batch); n > 0 {
		if c := p.batch[n-1]; c.Free() > 0 {
			return c
		}
	}
	for p.available.Len() > 0 {
		c := p.available.Pop()
		c.isAvailable = false
		if c.Free() > 0 {
			return c
		}
	}
	return nil
}

// used makes a connection available after a request was put on it: now, or with Plan.Batch at the end of the turn. It
// returns true if the turn begins a batch with it.
func (p *Pool) used(c *Conn) (begins bool) {
	if !p.Plan.Batch {
		p.Offer(c)
		return false
	}
	n := len(p.batch)
	if n == 0 || p.batch[n-1] != c {
		p.batch = append(p.batch, c)
	}
	return n == 0
}

// rotate ends the batch of a turn. The connection that was used first becomes the last one, and the others keep
// their places. Full connections have a place, too: the order does not depend on which response comes first.
func (p *Pool) rotate() {
	for i := len(p.batch) - 1; i >= 0; i-- {
		c := p.batch[i]
		switch {
		case c.isAvailable || c.state != open && c.Free() == 0:
			continue
		case i == 0:
			p.available.Push(c)
		default:
			p.available.PushFront(c)
		}
		c.isAvailable = true
	}
	p.batch = p.batch[:0]
}

// addIdle puts an idle connection at the end of the queue.
func (p *Pool) addIdle(c *Conn) {
	if !c.isIdle {
		c.isIdle = true
		p.idle.Push(c)
	}
}

// nextIdle returns the idle connection that waits longest, which leaves the queue; nil: there is none.
func (p *Pool) nextIdle() *Conn {
	for p.idle.Len() > 0 {
		c := p.idle.Pop()
		if c.isIdle = false; c.state == idle {
			return c
		}
	}
	return nil
}

// missing returns how many more connections a number of waiting requests needs, beyond those that are connecting.
func (p *Pool) missing(waiting int) int {
	per := max(1, p.Plan.MaxConcurrentStreams)
	if p.Plan.Connecting.PerInstance {
		per = 1
	} else if cmp.Or(p.protocol, p.Plan.Protocol) == rv.ProtocolHTTP1 {
		per = max(1, p.Plan.HTTP1.Pipeline)
	}
	return (waiting+per-1)/per - p.connecting
}

// begin gives a connected socket the session of its protocol.
func (p *Pool) begin(c *Conn, how rv.Protocol, h protocol.Handler) {
	p.protocol = how
	switch how {
	case rv.ProtocolH3:
		c.h3 = h3.NewClient(p.http3, h)
		c.client, c.encoder = c.h3, p.encoders[c.endpoint]
	case rv.ProtocolHTTP1:
		p.beginHTTP1(c, h)
	default:
		c.h2 = h2.NewClient(p.http2, h)
		c.client, c.encoder = c.h2, p.encoders[c.endpoint]
	}
}

func (p *Pool) beginHTTP1(c *Conn, h protocol.Handler) {
	p.connecting -= connectingIn[c.state] // it takes requests from now on
	if n := len(p.spare); n > 0 {
		c.h1, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		c.h1 = h1.NewClient(p.http1, h)
	}
	c.client, c.head = c.h1, p.heads[c.endpoint]
}

// end frees the session of a connection that has closed.
func (p *Pool) end(c *Conn) {
	p.disown(c)
	if c.h1 != nil {
		c.h1.Reset()
		p.spare = append(p.spare, c.h1)
	}
	c.session = session{}
}

// places returns the connections that have a place.
func (p *Pool) places() (out []*Conn) {
	for _, c := range p.all {
		if c.role == place {
			out = append(out, c)
		}
	}
	return out
}

// usesNumbers returns whether a connection's number decides which URL, address of a host name, client certificate or
// local address it has.
func (p *Pool) usesNumbers() bool {
	tls, local := p.Plan.TLS, p.Plan.Connecting.LocalAddresses
	return len(p.Plan.Endpoints) > 1 || p.addresses > 1 || len(local) > 0 || tls != nil && tls.CertDirectory != ""
}

// countStreams sets streams while the newest connection is open. One of HTTP/3 has the first streams when it opens, and
// then more as the transport opens them.
func (p *Pool) countStreams() {
	switch c := p.newest; {
	case p.Plan.Connecting.PerInstance:
		p.streams = 1 // most instances have one request in flight
	case c.h3 != nil:
		p.streams = int64(c.h3.MostStreams())
	default:
		p.streams = int64(c.Free())
	}
}

// Streams returns how many requests the connection can hold that was opened last.
func (p *Pool) Streams() int64 { return p.streams }

// Failures returns how many failures in a row to open a connection there were.
func (p *Pool) Failures() int { return p.failures }

// Unconnected returns why no connection is open: the last end of a connection, or the last failure to open one.
func (p *Pool) Unconnected() failure.Cause { return p.unconnected }

// disconnected stores why a connection was lost or could not be opened. It becomes the cause of requests that are
// dropped because no connection is open.
func (p *Pool) disconnected(why failure.Cause) {
	detail := string(why.Kind)
	if why.Detail != "" {
		detail += ": " + why.Detail
	}
	p.unconnected = failure.Cause{Kind: rv.CauseNoConnection, Detail: detail, Address: why.Address,
		Advice: failure.AdviceFor(why)}
}

// Cause returns why no connection took a request in time: all were busy, all were connecting, or the last failure.
func (p *Pool) Cause() failure.Cause {
	places, connecting := p.places(), 0
	for _, c := range places {
		if c.state == open || c.state == draining { // busy with requests, or waits for its last responses
			return failure.Cause{Kind: rv.CauseNoStream, Detail: p.Plan.Name}
		}
		connecting += connectingIn[c.state]
	}
	if p.unconnected.Failed() && (p.failures > 0 || connecting < len(places)) {
		return p.unconnected
	}
	return failure.Cause{
		Kind: rv.CauseNoConnection, Detail: fmt.Sprintf("%d of %d connections to %s were connecting", connecting, len(places),
			p.Plan.Name),
	}
}
