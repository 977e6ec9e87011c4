package loop

import (
	"log/slog"
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
	"github.com/h2surge/h2surge/runner/trial"
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
	// Earlier is a worker that has completed setup, and whose place this one takes before the start; nil: there is none.
	Earlier *Worker
	// MaxWait is how long a request waits for a free stream before it is dropped: the plan's longest timeout.
	MaxWait time.Duration
	// Deadline after the start at which the worker ends, whatever it is doing; zero: none.
	Deadline time.Duration
	// GracefulStop is how long chain instances may continue after the load; zero: they do not.
	GracefulStop time.Duration
	// RequestLimit is that of the plan, for the whole test; zero: none.
	RequestLimit int64
	// Spin makes the worker poll for events without sleeping while it has load. See waitFor.
	Spin bool
	// SleepInterval has no effect with Spin. It is the shortest time between two turns that send requests at a rate: slots
	// that are due within it are sent together, and lag shows the delay. It is also the longest nap of a closed loop.
	// Zero: each slot is sent when it is due, and there are no naps.
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
	Trial *trial.Config
}

// New makes a worker; Run sets it to work.
func New(cfg Config) (*Worker, error) {
	p := cfg.Program
	unslotted := cfg.GracefulStop > 0 || slices.ContainsFunc(cfg.Rates, func(r rv.Rate) bool { return r.ChainsPerSecond })
	w := &Worker{
		cfg: cfg, net: cfg.Net,
		sources:  chain.NewSources(p, &cfg.Share, cfg.Number),
		rec:      tally.New(p, cfg.Rates, cfg.Selections),
		clock:    clock{net: cfg.Net, inspects: slices.ContainsFunc(p.Steps, func(s chain.Step) bool { return s.Inspect })},
		inbox:    inbox{net: cfg.Net},
		slots:    slots.New(p, cfg.Rates, cfg.Share.Slots, flow.ValuesPerSlot(p, unslotted)),
		requests: book.New(p, len(p.Targets)+conns.MaxFollowed, cfg.MaxWait),
		targets:  conns.NewTargets(p),
	}
	for i, url := range cfg.Listeners {
		w.sources.SetListener(i, url)
	}
	w.flow = flow.New(flow.Config{
		Program: p, Sources: w.sources, Share: &w.cfg.Share, Chains: w.slots.Chains(),
		Targets: len(p.Targets) + conns.MaxFollowed, Host: &w.instances,
		Unsent: func(a chain.Activation, skipped bool, why string) { w.outcomes.trial.Unsent(a, skipped, why) },
	})
	var err error
	w.listeners, err = listen.New(listen.Config{
		Plans: p.Listeners, Callers: cfg.Callers, Seed: p.Seed + uint64(cfg.Share.Shard)<<32 + uint64(cfg.Number)<<16,
		Net: w.net, Host: &w.outcomes, Recorder: w.rec.Recorder, Wall: w.clock.wall,
		Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	w.conns = conns.New(conns.Config{
		Net: w.net, Dialer: cfg.Dialer, Recorder: w.rec.Recorder, Demand: load{&w.slots, &w.requests}, Handler: &w.outcomes,
		Do: w.inbox.put, Late: w.clock.late, SkipWait: w.clock.skipWait, Log: cfg.Log,
	}, &w.targets)
	w.outcomes = outcomes{slots: &w.slots, messages: messages{
		clock: &w.clock, program: p, sources: w.sources, requests: &w.requests, flow: w.flow, targets: &w.targets,
		conns:   w.conns,
		scripts: &w.scripts, rec: &w.rec, log: cfg.Log,
		calls: calls{clock: &w.clock, requests: &w.requests, conns: w.conns},
	}}
	w.outcomes.trial = trial.New(cfg.Trial, w.clock.time, &w.requests, w.flow)
	w.instances = instances{cfg: &w.cfg, outcomes: &w.outcomes, listeners: w.listeners, once: flow.NewOnce(p, w.sources,
		cfg.Share.Once, book.StageSetup, book.StageTeardown)}
	if cfg.Earlier != nil {
		w.instances.once.Continue(&cfg.Earlier.instances.once)
		w.cfg.Earlier = nil // its memory is not needed any more
	}
	if once := &w.instances.once; cfg.Trial != nil && cfg.Share.Once {
		once.Teardown.Chains = slices.Concat(cfg.Trial.Chains, once.Teardown.Chains)
	}
	w.authorizations = newAuthorizations(p, &w.instances.once.Setup)
	sleep := cfg.SleepInterval
	if cfg.Spin {
		sleep = 0
	}
	w.chooser = chooser{cfg: &w.cfg, sender: sender{outcomes: &w.outcomes, authorizations: &w.authorizations,
		limit: slots.NewLimiter(cfg.RequestLimit, sleep)}}
	w.stall = stall{sender: &w.chooser.sender, listeners: w.listeners, after: stallsAfter(&cfg)}
	w.scripts, err = newScripts(&cfg, w.outcomes.trial)
	return w, err
}

// load is the demand for connections.
type load struct {
	*slots.Slots
	*book.Book
}
