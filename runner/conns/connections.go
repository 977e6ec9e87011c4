package conns

import (
	"log/slog"
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/cacheline"
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
	lifecycle
	// pools are the connections by target: those of the plan, then those that are followed.
	pools []Pool
	// batches are the pools with a batch in this turn.
	batches []*Pool
	// leaving are the connections of chain instances that have ended.
	leaving []*Conn
	// perInstance: a target has Connecting.PerInstance.
	perInstance bool
	read        []byte // of one read

	_ [8]byte // whole cache lines
}

// readSize is the size of the read buffer: a burst of responses over many streams fits.
const readSize = 256 << 10

// New makes connections to targets. It has places for those that are followed later, too.
func New(cfg Config, targets *Targets) *Connections {
	return &Connections{
		perInstance: slices.ContainsFunc(targets.all, func(t Target) bool { return t.Plan.Connecting.PerInstance }),
		lifecycle:   lifecycle{cfg: cfg, counts: counts{cfg.Recorder}, dirty: cacheline.Make[*Conn](0)},
		pools:       newPools(targets.all[:cap(targets.all)]), batches: cacheline.Make[*Pool](0),
		read: make([]byte, readSize),
	}
}

// To returns the connections to a target.
func (cs *Connections) To(target int32) *Pool { return &cs.pools[target] }

// At returns a connection.
func (cs *Connections) At(index int32) *Conn { return cs.all[index] }

// OpenNew makes the connections of a share to the targets that have none yet, and begins to open them. Only those to
// targets of the plan are awaited.
func (cs *Connections) OpenNew(ts *Targets, s *rv.Share) {
	for ; ts.opened < len(ts.all); ts.opened++ {
		from := ts.all[ts.opened].Origin
		cs.Open(int32(ts.opened), s.Connections[from], s.FirstConnection[from], ts.opened < len(ts.program.Targets))
	}
}

// Open makes n connections to a target, numbered from first, and begins to open them as fast as the target's ramp
// allows: connection k of the whole test is due in the period k / RampCount. If awaited, the worker is not ready before
// they are open. A target whose connections are opened on demand is not awaited.
func (cs *Connections) Open(target int32, n, first int, awaited bool) {
	p := cs.To(target)
	how := &p.Plan.Connecting
	for k := first; k < first+n; k++ {
		c := cs.add(p, int32(k), place, cs.now)
		if how.OnDemand {
			p.addIdle(c)
			cs.cfg.SkipWait() // the worker may be ready without any event
			continue
		}
		if awaited {
			cs.await(c)
		}
		if awaited && how.RampCount > 0 && k >= how.RampCount {
			cs.arm(c, wantTimer, time.Duration(k/how.RampCount)*how.RampPeriod)
			continue
		}
		cs.handle(c, wanted)
	}
}

// Resize gives the targets that OpenNew has opened the connections of another share. If awaited, the worker is not
// ready before those to targets of the plan are open.
func (cs *Connections) Resize(ts *Targets, s *rv.Share, awaited bool) {
	for t := range ts.opened {
		from := ts.all[t].Origin
		cs.resize(int32(t), s.Connections[from], s.FirstConnection[from], awaited && t < len(ts.program.Targets))
	}
}

// resize lets the connections to a target be n, numbered from first. Connections with other numbers get the missing
// ones if that changes nothing about them. Otherwise it opens the missing ones and removes the others.
func (cs *Connections) resize(target int32, n, first int, awaited bool) {
	p := cs.To(target)
	have := make([]bool, n)
	var others []*Conn
	for _, c := range p.places() {
		if i := int(c.number) - first; i >= 0 && i < n {
			have[i] = true
		} else {
			others = append(others, c)
		}
	}
	for i := range n {
		switch {
		case have[i]:
		case len(others) > 0 && !p.usesNumbers():
			others[0].number = int32(first + i)
			others = others[1:]
		default:
			cs.Open(target, 1, first+i, awaited)
		}
	}
	for _, c := range others {
		cs.remove(c)
	}
}

// ConnectFor connects idle connections for the requests that wait: as many as their streams need beyond those that
// are connecting already. A closed loop needs all connections.
func (cs *Connections) ConnectFor(target int32) {
	p := cs.To(target)
	need := p.idle.Len()
	if need > 0 && !cs.cfg.Demand.FillsStreams() {
		need = p.missing(cs.cfg.Demand.Waiting(target))
	}
	for ; need > 0; need-- {
		c := p.nextIdle()
		if c == nil {
			return
		}
		cs.handle(c, wanted)
	}
}

// Carried notes that a request was put on a connection. The last one retires the connection; while the loop still
// connects, this waits for the response.
func (cs *Connections) Carried(c *Conn) {
	c.opened++
	if c.inFlight() == 1 {
		c.silentSince = cs.now + min(c.silentSince, 0)
	}
	cs.markDirty(c)
	switch {
	case !c.isWornOut():
		if c.pool.used(c) {
			cs.batches = append(cs.batches, c.pool)
		}
	case c.state == open:
		cs.handle(c, retired)
	default:
		c.client.Shutdown()
	}
}

// Slow describes the first connection without which the worker is not ready, and that has waited in its state for half
// of connectTimeout; "": there is none. It says what hangs before the attempt has failed.
func (cs *Connections) Slow() string {
	for _, c := range cs.all {
		if c.awaited {
			if slow := c.slow(cs.now); slow != "" {
				return slow
			}
		}
	}
	return ""
}

// CloseAll ends every connection. Requests in flight stay so.
func (cs *Connections) CloseAll() {
	for _, c := range cs.all {
		if c.socket.IsOpen() {
			cs.shutdown(c)
		}
		if c.state != closing {
			cs.handle(c, removed)
		}
	}
}

// AbandonAll closes the sockets after a panic, when nothing else of the state can be trusted.
func (cs *Connections) AbandonAll() {
	for _, c := range cs.all {
		if c.socket.IsOpen() {
			c.socket.Close()
			c.state = closing
		}
	}
}
