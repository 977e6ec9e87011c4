package conns

import (
	"log/slog"

	"github.com/h2surge/h2surge/internal/cacheline"
	"github.com/h2surge/h2surge/internal/failure"
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

// closeFor sets the cause of the outcomes of requests whose connection ends. The zero cause ends its validity.
func (cs *Connections) closeFor(why failure.Cause) { cs.ending = why }

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
