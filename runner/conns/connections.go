package conns

import (
	"container/heap"
	"log/slog"
	"math"
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cacheline"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Config is what Connections are made from.
type Config struct {
	Net    netio.Net
	Dialer netio.Dialer
	// Recorder gets the counts and times of connections.
	Recorder *measure.Recorder
	Demand   Demand
	// Handler gets the outcomes of requests.
	Handler protocol.Handler
	// Do runs a function in the next turn, or returns false if the worker has ended. Any goroutine may call it.
	Do func(f func()) bool
	// Late returns true if the turn has become a long one.
	Late func() bool
	// SkipWait makes the next turn begin without a wait.
	SkipWait func()
	Log      *slog.Logger
}

// Demand is what the connections are for.
type Demand interface {
	// Over returns true after the last stage.
	Over() bool
	// FillsStreams returns true if each free stream gets a request at once.
	FillsStreams() bool
	// Waiting returns how many requests wait for a connection to a target.
	Waiting(target int32) int
	// DoneInTurn returns how many responses this turn has completed.
	DoneInTurn() int
}

// Connections are a worker's connections to all targets. They know neither slots nor chains nor requests: they call the
// network and the sessions, which call the handler.
type Connections struct {
	cfg Config
	net netio.Net
	rec *measure.Recorder
	// now is the time of the turn.
	now int64

	// all has the records; a connection's index is its place here. free are the records that may be used again. ended
	// become free after the turn, because events of this turn may still have their indices.
	all   []*Conn
	free  []int32
	ended []int32
	// pools are the connections by target: those of the plan, then those that are followed.
	pools []pool
	// dirty connections may have octets to send.
	dirty []int32
	// batches are the targets with a batch in this turn.
	batches []int32
	timers  timerHeap
	// awaited counts the connections without which the worker is not ready. problem is the last connection failure
	// until they are open.
	awaited int
	problem string
	// ending is why a connection ends, valid while its session is closed.
	ending failure.Cause
	// strayEvents counts events of connections without a transition: a defect.
	strayEvents int
	// Watch sees every transition; nil but in tests.
	Watch func(*Transition)
	read  []byte // of one read
	plain []byte // of one TLS record; made for the first TLS connection

	_ [56]byte // whole cache lines
}

// readSize is the size of the read buffer: a burst of responses over many streams fits.
const readSize = 256 << 10

// pool is the connections to a target.
type pool struct {
	*Target
	// protocol is that of the connection that was opened last. Empty: none was opened.
	protocol rv.Protocol
	// available connections may have a free stream. The first is used next and goes to the end: after each request, or with
	// plan.Batch at the end of the turn.
	available ring.Ring[int32]
	// batch are the connections that this turn has used, with plan.Batch. All but the last are full.
	batch []int32
	// idle connections have no socket. Requests that wait let them connect.
	idle ring.Ring[int32]
	// spare are sessions over HTTP/1.1 of connections that have closed, for the next ones: at most as many as were in use
	// at once.
	spare []*h1.Client
	// connecting is the sum of conn.connecting.
	connecting int
	// streams is how many requests the connection that was opened last can hold.
	streams int64
	// unconnected is why requests are dropped while no connection is open or connecting: the last end of a connection, or the
	// last failure to open one.
	unconnected failure.Cause
	// failures counts the failures in a row to open a connection, over all connections.
	failures int
}

// New makes connections to targets, which may be filled later.
func New(cfg Config, targets []*Target) *Connections {
	cs := &Connections{
		cfg: cfg, net: cfg.Net, rec: cfg.Recorder,
		pools: cacheline.Make[pool](len(targets)), read: make([]byte, readSize), dirty: cacheline.Make[int32](0),
		batches: cacheline.Make[int32](0),
	}
	for i, t := range targets {
		cs.pools[i] = pool{Target: t, batch: cacheline.Make[int32](0)}
	}
	return cs
}

// Begin sets the time of the turn.
func (cs *Connections) Begin(now int64) { cs.now = now }

// Record lets another recorder get the counts from now on.
func (cs *Connections) Record(into *measure.Recorder) { cs.rec = into }

// Conn is a connection to a target, over all its sockets: it connects again until it is closed for good.
type Conn struct {
	session session
	// One of h2 and h1 is the session.
	h2      *h2.Client
	h1      *h1.Client
	socket  netio.Socket
	encoder *chain.Encoder // of HTTP/2
	head    *chain.Head    // of HTTP/1.1
	// table is the state of the peer's HPACK table for our requests.
	table chain.TableState
	// tableEpoch is the session's when table was begun.
	tableEpoch uint32

	// generation changes with each socket and attempt to connect; what belongs to an earlier one is ignored.
	generation uint32
	// incarnation changes when the record is used for another connection.
	incarnation uint32
	index       int32
	target      int32
	// number of the connection in the whole test; it decides the first endpoint and address.
	number   int32
	endpoint int32
	// shift is how many endpoints, and then addresses, the connection has moved on from its first.
	shift int32
	// failures in a row: to connect, or to get a response out of the connection.
	failures int32
	state    connState
	role     role
	// wasOpen: the place has had an open connection before.
	wasOpen bool
	// awaited: the worker is not ready before the place has an open connection.
	awaited bool
	// answered: a response has come on the socket.
	answered bool
	// isAvailable, isIdle and isDirty: the queue of that name has the connection.
	isAvailable, isIdle, isDirty bool
	// sentNothing: there was nothing to send while the loop connected, so that no event shows when the socket is connected.
	sentNothing bool
	// opened counts the requests that the socket has carried.
	opened int64
	// address is what the socket is connected to.
	address string
	// since is when the connection entered its state.
	since int64
	// downSince is when the connection was made, or when it was last open.
	downSince int64
	// receivedAt is when something last came.
	receivedAt int64
	// pingedAt is when the last PING was queued.
	pingedAt int64
	// failbackAt is when the first endpoint is tried again, or was last; zero: the connection is with it.
	failbackAt int64
	// original is the connection whose first endpoint a trial tries; it has ended if its incarnation has changed.
	original            *Conn
	originalIncarnation uint32
	// timers has the instant of each timer that is set; 0: it is not set. firesAt is the first of them, and inTimers is the
	// connection's place in connections.timers, counted from 1; 0: no timer is set.
	timers   [timerKinds]int64
	firesAt  int64
	inTimers int

	_ [16]byte // whole cache lines
}

// role is what a connection counts as.
type role uint8

const (
	// surplus: it drains, because another connection has its place or the target needs fewer connections.
	surplus role = iota
	// place: it is one of the target's connections.
	place
	// failbackTrial: it tries the first endpoint of a connection that uses another one; see failback.go.
	failbackTrial
)

// add makes a connection in state idle.
func (cs *Connections) add(t, number int32, r role) *Conn {
	var c *Conn
	if n := len(cs.free); n > 0 {
		c = cs.all[cs.free[n-1]]
		cs.free = cs.free[:n-1]
	} else {
		c = &Conn{index: int32(len(cs.all))}
		cs.all = append(cs.all, c)
	}
	*c = Conn{
		generation: c.generation + 1, incarnation: c.incarnation + 1, index: c.index,
		target: t, number: number, role: r, state: idle, downSince: cs.now,
	}
	return c
}

// closeSocket closes the socket, if there is one, and makes the record's next attempt another generation.
func (cs *Connections) closeSocket(c *Conn) {
	c.socket.Close()
	c.generation++
	cs.endTimers(c)
	cs.endSession(c)
}

// closeFor sets the cause of the outcomes of requests whose connection ends. The zero cause ends its validity.
func (cs *Connections) closeFor(why failure.Cause) { cs.ending = why }

// makeSurplus lets a connection give up its place.
func (cs *Connections) makeSurplus(c *Conn) {
	cs.stopAwaiting(c)
	c.role = surplus
}

// stopAwaiting notes that the worker does not wait for the place any more: it has an open connection, or is given up.
func (cs *Connections) stopAwaiting(c *Conn) {
	if !c.awaited {
		return
	}
	c.awaited = false
	if cs.awaited--; cs.awaited == 0 {
		cs.problem = ""
	}
}

// freeEnded adds the records of connections that have ended to the free records. A record stays in ended while a queue of
// its pool has it.
func (cs *Connections) freeEnded() {
	if len(cs.ended) == 0 {
		return
	}
	still := cs.ended[:0]
	for _, i := range cs.ended {
		if c := cs.all[i]; c.isAvailable || c.isIdle {
			still = append(still, i)
			continue
		}
		cs.free = append(cs.free, i)
	}
	cs.ended = still
}

// At returns a connection.
func (cs *Connections) At(index int32) *Conn { return cs.all[index] }

// Awaited returns how many connections must open before the worker is ready.
func (cs *Connections) Awaited() int { return cs.awaited }

// Problem returns the last failure to open a connection without which the worker is not ready.
func (cs *Connections) Problem() string { return cs.problem }

// Ending returns why a connection ends, while its session gives each of its requests an outcome.
func (cs *Connections) Ending() failure.Cause { return cs.ending }

// Streams returns how many requests the connection to a target can hold that was opened last.
func (cs *Connections) Streams(target int32) int64 { return cs.pools[target].streams }

// Failures returns how many failures in a row to open a connection to a target there were.
func (cs *Connections) Failures(target int32) int { return cs.pools[target].failures }

// Unconnected returns why no connection to a target is open: the last end of a connection, or the last failure to open one.
func (cs *Connections) Unconnected(target int32) failure.Cause { return cs.pools[target].unconnected }

// AbandonAll closes the sockets after a panic, when nothing else of the state can be trusted.
func (cs *Connections) AbandonAll() {
	for _, c := range cs.all {
		if c.socket.IsOpen() {
			c.socket.Close()
			c.state = closing
		}
	}
}

// offer puts a connection with a free stream at the end of its target's queue, and reports whether it is there.
func (cs *Connections) offer(c *Conn) bool {
	if !c.isAvailable && c.capacity() > 0 {
		c.isAvailable = true
		cs.pools[c.target].available.Push(c.index)
	}
	return c.isAvailable
}

// Return gives back a connection that Take returned, and that got no request.
func (cs *Connections) Return(c *Conn) { cs.offer(c) }

// Take returns the connection for the next request: the one that this turn fills, or the next one with a free
// stream, which leaves the queue. nil: no stream is free.
func (cs *Connections) Take(target int32) *Conn {
	p := &cs.pools[target]
	if n := len(p.batch); n > 0 {
		if c := cs.all[p.batch[n-1]]; c.capacity() > 0 {
			return c
		}
	}
	for p.available.Len() > 0 {
		c := cs.all[p.available.Pop()]
		c.isAvailable = false
		if c.capacity() > 0 {
			return c
		}
	}
	return nil
}

// used makes a connection available after a request was put on it: now, or with plan.Batch at the end of the turn.
func (cs *Connections) used(c *Conn) {
	p := &cs.pools[c.target]
	if !p.Plan.Batch {
		cs.offer(c)
		return
	}
	n := len(p.batch)
	if n == 0 {
		cs.batches = append(cs.batches, c.target)
	}
	if n == 0 || p.batch[n-1] != c.index {
		p.batch = append(p.batch, c.index)
	}
}

// rotate ends the batches of a turn. The connection that was used first becomes the last of its target, and the others keep
// their places. Full connections have a place, too: the order does not depend on which response comes first.
func (cs *Connections) rotate() {
	for _, t := range cs.batches {
		p := &cs.pools[t]
		for i := len(p.batch) - 1; i >= 0; i-- {
			c := cs.all[p.batch[i]]
			switch {
			case c.isAvailable || c.state != open && c.capacity() == 0:
				continue
			case i == 0:
				p.available.Push(c.index)
			default:
				p.available.PushFront(c.index)
			}
			c.isAvailable = true
		}
		p.batch = p.batch[:0]
	}
	cs.batches = cs.batches[:0]
}

// isWornOut returns true if a connection has carried as many requests as it may.
func (cs *Connections) isWornOut(c *Conn) bool {
	most := cs.pools[c.target].Plan.Connecting.MaxRequests
	return most > 0 && c.opened >= most
}

// placesOf returns how many places a target has, and how many of them are busy, because their connections are open or wait
// for their last responses, or connecting.
func (cs *Connections) placesOf(target int32) (all, busy, connecting int) {
	for _, c := range cs.all {
		if c.target != target || c.role != place {
			continue
		}
		all++
		if c.state == open || c.state == draining {
			busy++
		}
		connecting += connectingIn[c.state]
	}
	return all, busy, connecting
}

// Down returns for how much of the time from an instant until now a connection was not open.
func (cs *Connections) Down(c *Conn, from int64) int64 {
	until := cs.now
	if c.state == open {
		until = c.since
	}
	return max(0, until-max(from, c.downSince))
}

// EndpointOf returns what a connection is to.
func (cs *Connections) EndpointOf(c *Conn) *rv.Endpoint {
	return &cs.pools[c.target].Plan.Endpoints[c.endpoint]
}

// arm sets a timer for a connection unless it is set already or d is zero.
func (cs *Connections) arm(c *Conn, kind timerKind, d time.Duration) {
	if d > 0 && c.timers[kind] == 0 {
		c.timers[kind] = cs.now + int64(d)
		cs.timers.update(c)
	}
}

// endTimers ends the timers of a connection when its socket ends. The timer of the next trial survives.
func (cs *Connections) endTimers(c *Conn) {
	c.timers = [timerKinds]int64{failbackTimer: c.timers[failbackTimer]}
	cs.timers.update(c)
}

// endAllTimers ends the timers of a connection that has ended for good.
func (cs *Connections) endAllTimers(c *Conn) {
	c.timers = [timerKinds]int64{}
	cs.timers.update(c)
}

// takeTimer returns the timer that fires first, and ends it.
func (cs *Connections) takeTimer() (*Conn, timerKind) {
	c := cs.timers[0]
	kind := slices.Index(c.timers[:], c.firesAt)
	c.timers[kind] = 0
	cs.timers.update(c)
	return c, timerKind(kind)
}

// timerHeap is a heap of the connections with a timer, the one whose timer fires first at the front. It has each
// connection once, so that short connections leave nothing behind.
type timerHeap []*Conn

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].firesAt < h[j].firesAt }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].inTimers, h[j].inTimers = i+1, j+1
}

func (h *timerHeap) Push(c any) {
	*h = append(*h, c.(*Conn))
	(*h)[len(*h)-1].inTimers = len(*h)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	c.inTimers = 0
	return c
}

// update gives a connection whose timers have changed its place in the heap.
func (h *timerHeap) update(c *Conn) {
	before := c.firesAt
	c.firesAt = 0
	for _, at := range c.timers {
		if at != 0 && (c.firesAt == 0 || at < c.firesAt) {
			c.firesAt = at
		}
	}
	switch {
	case c.firesAt == before:
	case c.firesAt == 0:
		heap.Remove(h, c.inTimers-1)
	case before == 0:
		heap.Push(h, c)
	default:
		heap.Fix(h, c.inTimers-1)
	}
}

// never is an instant that does not come.
const never = math.MaxInt64

// Next returns when Fire must be called, or a time that does not come.
func (cs *Connections) Next() int64 { return cs.timers.next() }

// next returns when the first timer fires, or never.
func (h timerHeap) next() int64 {
	if len(h) == 0 {
		return never
	}
	return h[0].firesAt
}

// choices is how many endpoints a connection may use.
func (cs *Connections) choices(c *Conn) int32 {
	t := cs.pools[c.target].Plan
	if t.Connecting.NoFailover {
		return 1
	}
	return int32(len(t.Endpoints))
}

// connectedNow handles the first octet that moved over a connection made by connectNow.
func (cs *Connections) connectedNow(c *Conn) {
	if !c.sentNothing {
		took := (cs.net.Now() - c.since) / 1000
		cs.timesOf(c).Connect.Record(took)
		cs.timesOf(c).TCPConnect.Record(took)
	}
	cs.countConnect(c)
	cs.handle(c, connected)
}

func (cs *Connections) countConnect(c *Conn) {
	cs.rec.Connects++
	if c.wasOpen {
		cs.rec.Reconnects++
	}
}

// countDialed counts a connection of the dialer and the times of its phases.
func (cs *Connections) countDialed(c *Conn, d *dial.Connection) {
	cs.countConnect(c)
	t, p := cs.timesOf(c), &d.Phases
	t.Connect.Record(d.Took.Microseconds())
	if p.Named {
		t.NameResolution.Record(p.NameResolution.Microseconds())
	}
	t.TCPConnect.Record(p.TCPConnect.Microseconds())
	if c.socket.Secure != nil {
		t.TLSHandshake.Record(p.TLSHandshake.Microseconds())
	}
}

// timesOf returns where the times of a connection are recorded.
func (cs *Connections) timesOf(c *Conn) *measure.Target {
	return &cs.rec.Targets[cs.pools[c.target].Origin]
}
