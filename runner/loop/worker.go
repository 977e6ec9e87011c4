package loop

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/caller"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/listen"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/slots"
	"github.com/h2surge/h2surge/runner/tally"
)

// Config is what a worker is made from.
type Config struct {
	Program *chain.Program
	Rates   []rv.Rate
	// Selections are those of the plan.
	Selections []rv.Selection
	// Number is the worker's among those of its process.
	Number int
	// Share is the worker's own part: its slots, connections and variable ranges.
	Share rv.Share
	// MaxWait is how long a request waits for a free stream before it is dropped: the plan's longest timeout.
	MaxWait time.Duration
	// Deadline after the start at which the worker ends, whatever it is doing; zero: none.
	Deadline time.Duration
	// GracefulStop is how long chain instances may continue after the load; zero: they do not.
	GracefulStop time.Duration
	// RequestLimit is that of the plan, for the whole test; zero: none.
	RequestLimit int64
	// Spin makes the worker poll for events without sleeping while it has load. See idleFor.
	Spin bool
	// SleepInterval has no effect with Spin. It is the shortest time between two turns that send requests at a rate: slots
	// that are due within it are sent together, and lag shows the delay. It is also the longest nap of a closed loop. Zero:
	// each slot is sent when it is due, and there are no naps.
	SleepInterval time.Duration

	// Listeners are the URLs of the worker's listeners. Serve brings the connections to them.
	Listeners []string
	// Callers are what the listeners require of their peers. Nil, and beyond its end: nothing.
	Callers []*caller.Policy

	Net    netio.Net
	Dialer netio.Dialer
	// Pin is run first on the worker's own thread; nil: nothing is.
	Pin func() error
	Log *slog.Logger
	// Changed is called on the worker's goroutine when Phase has changed. It must be short.
	Changed func()
	// Lease limits the time in which requests are sent; nil: no limit.
	Lease *slots.Lease
	// Trial, when it is there, runs one instance of each chain in the place of the load.
	Trial *Trial
}

// Worker sends requests. All fields are owned by the goroutine that runs Run; others use Do. Its parts are values, and
// only the file that declares a part, or methods of the part, write its fields.
type Worker struct {
	cfg     Config
	program *chain.Program
	net     netio.Net
	inbox   inbox
	clock
	messages
	run       run
	slots     slots.Slots
	limit     slots.Limiter
	requests  book.Book
	flow      *flow.Flow
	once      flow.Once
	sources   *chain.Sources
	rec       tally.Recorder
	scripts   scripts
	listeners *listen.Listeners

	targets targets
	conns   *conns.Connections

	authorizations authorizations

	// giveBackAt is when memory that is not used is given back.
	giveBackAt int64
	events     [256]netio.Event
	ready      int // events of the last wait
}

// New makes a worker; Run sets it to work.
func New(cfg Config) (*Worker, error) {
	p := cfg.Program
	unslotted := cfg.GracefulStop > 0 || slices.ContainsFunc(cfg.Rates, func(r rv.Rate) bool { return r.ChainsPerSecond })
	w := &Worker{
		cfg: cfg, program: p, net: cfg.Net,
		sources:  chain.NewSources(p, &cfg.Share, cfg.Number),
		rec:      tally.New(p, cfg.Rates, cfg.Selections),
		clock:    clock{net: cfg.Net, inspects: slices.ContainsFunc(p.Steps, func(s chain.Step) bool { return s.Inspect })},
		inbox:    inbox{net: cfg.Net},
		slots:    slots.New(p, cfg.Rates, cfg.Share.Slots, flow.ValuesPerSlot(p, unslotted)),
		requests: book.New(p, len(p.Targets)+maxFollowed, cfg.MaxWait),
	}
	w.flow = w.newFlow()
	if cfg.Trial != nil {
		w.trial = newTrial(w, *cfg.Trial)
	}
	w.listeners = listen.New(listen.Config{
		Plans: p.Listeners, Callers: cfg.Callers, Net: w.net, Host: w, Recorder: w.rec.Recorder, Wall: w.wall, Log: cfg.Log,
	})
	for i, url := range cfg.Listeners {
		w.sources.SetListener(i, url)
	}
	w.once = flow.NewOnce(p, w.sources, cfg.Share.Once, book.StageSetup, book.StageTeardown)
	if cfg.Share.Once {
		w.once.Teardown.Chains = slices.Concat(w.trial.load(), w.once.Teardown.Chains)
	}
	sleep := cfg.SleepInterval
	if cfg.Spin {
		sleep = 0
	}
	w.limit = slots.NewLimiter(cfg.RequestLimit, sleep)
	w.run = run{stall: stall{limit: stallLimit(&cfg)}}
	w.targets = newTargets(p)
	w.conns = conns.New(conns.Config{
		Net: w.net, Dialer: cfg.Dialer, Recorder: w.rec.Recorder, Demand: load{&w.slots, &w.requests}, Handler: w,
		Do: w.inbox.put, Late: w.late, SkipWait: w.skipWait, Log: cfg.Log,
	}, w.targets.ofAll())
	w.messages = messages{
		clock: &w.clock, program: p, sources: w.sources, requests: &w.requests, flow: w.flow, targets: &w.targets, conns: w.conns,
		scripts: &w.scripts, rec: &w.rec, trial: w.trial, log: cfg.Log,
	}
	w.authorizations = newAuthorizations(p, &w.once.Setup)
	var err error
	w.scripts, err = newScripts(&cfg, w.trial)
	return w, err
}

// Run works until the plan is done, the context ends, or Abort. It locks its thread and leaves
// it locked, so that a pinned thread ends with it. A panic becomes its error.
func (w *Worker) Run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.recovered(p)
		}
	}()
	runtime.LockOSThread()
	if w.cfg.Pin != nil {
		if err := w.cfg.Pin(); err != nil {
			w.cfg.Log.Warn("a worker is not pinned", "err", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { w.Do(func(w *Worker) { w.abort() }) })
	defer stop()
	w.readClock()
	w.setWall(time.Now().UnixNano(), w.net.Now())
	defer w.scripts.close()
	w.connectAll()
	for w.run.phase != Done {
		if err := w.turn(); err != nil {
			w.finish()
			return err
		}
	}
	return nil
}

// connectAll begins to open every connection of the share.
func (w *Worker) connectAll() {
	for t, n := range w.cfg.Share.Connections {
		w.conns.Open(int32(t), n, w.cfg.Share.FirstConnection[t], true)
	}
}

// connectFollowed begins to open the connections to the authorities that this turn has come across.
func (w *Worker) connectFollowed() {
	for _, i := range w.targets.followed {
		from := w.targets.all[i].Origin
		w.conns.Open(i, w.cfg.Share.Connections[from], w.cfg.Share.FirstConnection[from], false)
	}
	w.targets.endFollow()
}

// load is the demand for connections.
type load struct {
	*slots.Slots
	*book.Book
}

// readClock sets the time of the turn.
func (w *Worker) readClock() {
	w.tick(w.net.Now())
	w.conns.Begin(w.now)
	w.listeners.Begin(w.now)
	w.flow.Tick(w.now, w.wall())
}

// turn is one round of the loop.
func (w *Worker) turn() error {
	if d := w.nap(); d > 0 {
		w.rec.Nap(d)
		w.net.Nap(d)
	}
	w.requests.BeginTurn()
	n, woken, err := w.net.Wait(w.events[:], w.idleFor())
	if err != nil {
		return err
	}
	w.ready = n
	w.readClock()
	if woken {
		w.runMessages()
	}
	for i := range n {
		if ev := &w.events[i]; ev.Data < listen.FirstData {
			w.conns.Ready(ev)
		} else {
			w.listeners.Ready(ev)
		}
		if w.late() {
			w.readClock()
			w.runMessages()
		}
		if w.aborted {
			break
		}
	}
	w.waitAgain()
	// What frees streams or makes steps ready comes before the requests of the turn, and what writes after them.
	w.expire()
	w.listeners.Expire()
	w.conns.Fire()
	if w.now < w.slots.Deadline(w.cfg.Deadline) {
		w.flow.Wake(w.now)
		w.checkLease()
		w.applyChanges()
		w.generate()
	}
	w.connectFollowed()
	w.conns.Flush()
	w.listeners.Flush()
	w.endStalled()
	w.releaseMemory()
	w.advance()
	return nil
}

// releaseMemory releases the memory of a burst, once a second. No pointer to a request may be held.
func (w *Worker) releaseMemory() {
	if w.now < w.giveBackAt {
		return
	}
	w.giveBackAt = w.now + int64(time.Second)
	w.requests.Shrink()
	w.listeners.Shrink()
}

// runMessages runs what is in the inbox.
func (w *Worker) runMessages() {
	for _, f := range w.inbox.take() {
		f()
	}
}

// generate makes the requests of this turn. A stage that ends on the way hands over to the next
// in the same turn. A paused worker makes none.
func (w *Worker) generate() {
	w.limit.BeginTurn()
	w.admitLate()
	w.admitUnpaced()
	if w.slots.Paused() {
		w.slots.Pass(w.now, w)
		w.dropWaiting(w.now)
		return
	}
	for {
		w.pickUp()
		w.admitAllReady()
		w.sendWaiting()
		if !w.closedLoops() {
			return
		}
	}
}
