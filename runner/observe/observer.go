package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/runner/dial"
)

// early is how long before the end of its interval the first value is read, at most a tenth of it. The last read of a
// test has its answer then before the load ends.
const early = 250 * time.Millisecond

// CheckTimeout bounds Check.
const CheckTimeout = 2 * time.Second

// Config is what an observer needs of a runner.
type Config struct {
	// Context ends with the runner.
	Context context.Context
	Plan    *rv.Plan
	// TLS are the configurations of dial.ClientConfigs. An observer is the first client of each target.
	TLS      [][]*tls.Config
	Policy   *policy.Policy
	Resolver *dial.Resolver
	Network  dial.Network
	Clock    func() int64
	// Suspended returns whether the load is suspended.
	Suspended func() bool
	Log       *slog.Logger
}

// source reads the values of an observation. Only one goroutine uses it at a time.
type source interface {
	read(context.Context) ([]value, error)
	// forget is called if the next read is not one interval after the last one.
	forget()
}

// Observer reads the observations of a plan.
type Observer struct {
	config  Config
	clients map[string]*client // by target, or by URL
	sources []source
	// on is true while this runner reads the observations.
	on atomic.Bool

	mu      sync.Mutex // guards records
	records []record
}

// New makes an observer for the observations of a plan. The targets are those of the plan, with the values of
// placeholders in their URLs.
func New(c Config, targets []rv.Target) (*Observer, error) {
	o := &Observer{config: c, clients: map[string]*client{}, records: make([]record, len(c.Plan.Observe))}
	for i := range c.Plan.Observe {
		s, err := o.source(&c.Plan.Observe[i], targets)
		if err != nil {
			return nil, fmt.Errorf("observe[%d]: %w", i, err)
		}
		o.sources = append(o.sources, s)
	}
	return o, nil
}

func (o *Observer) source(of *rv.Observation, targets []rv.Target) (source, error) {
	switch {
	case of.Interval <= 0:
		return nil, errors.New("interval must be positive")
	case of.Target < 0 || of.Target > len(targets) || of.Target == 0 && of.Endpoint == nil:
		return nil, fmt.Errorf("target %d of %d", of.Target, len(targets))
	case of.Target > 0 && len(targets[of.Target-1].Endpoints) == 0:
		return nil, errors.New("the target has no URL")
	}
	e, t, secure := of.Endpoint, (*rv.Target)(nil), (*tls.Config)(nil)
	name := ""
	if of.Target > 0 {
		t, secure = &targets[of.Target-1], o.config.TLS[of.Target-1][0]
		e, name = &t.Endpoints[0], t.Name
	}
	key := name + " " + e.Scheme + "://" + e.Authority + e.BasePath
	if o.clients[key] == nil {
		o.clients[key] = newClient(&o.config, e, t, secure)
	}
	if of.Scrape != nil {
		return &scrape{client: o.clients[key], of: of.Scrape, clock: o.config.Clock}, nil
	}
	return newQuery(o.clients[key], of.Query)
}

// Check reads each observation once. It returns an error if a server cannot execute a query. That a server cannot be
// reached is not an error.
func (o *Observer) Check() error {
	ctx, cancel := context.WithTimeout(o.config.Context, CheckTimeout)
	defer cancel()
	errs := make([]error, len(o.sources))
	var group sync.WaitGroup
	for i, s := range o.sources {
		group.Go(func() {
			_, err := s.read(ctx)
			s.forget()
			if bad := (badQuery{}); errors.As(err, &bad) {
				errs[i] = fmt.Errorf("spec.observe[%d].prometheus.query: %s", i, cause(bad.error))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// Set says whether this runner reads the observations. Only one runner of a test does.
func (o *Observer) Set(on bool) { o.on.Store(on) }

// Run reads the observations until the runner ends. The first read is at the start, an instant of the clock, and the
// others are whole intervals later.
func (o *Observer) Run(start int64) {
	for i := range o.sources {
		go o.follow(i, start)
	}
}

// follow reads one observation.
func (o *Observer) follow(i int, start int64) {
	s, interval := o.sources[i], o.config.Plan.Observe[i].Interval
	ahead := aheadOf(i, len(o.sources), interval)
	for n := int64(0); ; n++ {
		due, passed := time.Duration(n)*interval-ahead, time.Duration(o.config.Clock()-start)
		if n == 0 {
			due = 0
		}
		if late := passed - due; late > interval/2 {
			missed := int64(late/interval) + 1
			due, n = due+time.Duration(missed)*interval, n+missed
			s.forget()
		}
		if !wait(o.config.Context, due-passed) {
			return
		}
		if !o.on.Load() {
			s.forget()
			continue
		}
		o.read(i, (time.Duration(n) * interval).Milliseconds())
	}
}

// aheadOf returns how long before the end of its interval the value i of n is read. Reads at the same instant would
// take the CPU from the workers for the time of all of them, so they are spread: of 16 values of a second, the first is
// read 100 ms before its end, and the others follow every 3 ms.
func aheadOf(i, n int, interval time.Duration) time.Duration {
	first := min(early, interval/10)
	return first - first/2*time.Duration(i)/time.Duration(n)
}

// wait waits for a time. It returns false if the context has ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// read reads one observation and keeps what it got.
func (o *Observer) read(i int, at int64) {
	ctx, cancel := context.WithTimeout(o.config.Context, timeout)
	defer cancel()
	suspended := o.config.Suspended()
	values, err := o.sources[i].read(ctx)
	if o.config.Context.Err() != nil {
		return // the test has ended
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &o.records[i]
	if len(values) > 0 {
		r.add(at, suspended, values)
	}
	if err != nil && !errors.Is(err, errFirst) {
		if len(r.gaps) == 0 {
			o.config.Log.Warn("An observation has a gap", "observation", o.config.Plan.Observe[i].Name, "err", cause(err))
		}
		r.fail(at, cause(err))
	}
	o.bound()
}

// bound keeps the number of all points below rv.MaxPoints. The caller holds mu.
func (o *Observer) bound() {
	n := 0
	for i := range o.records {
		n += len(o.records[i].series)
	}
	for i := range o.records {
		o.records[i].join(rv.PointsOf(n))
	}
}

// Samples returns what was read so far, for each observation of the plan.
func (o *Observer) Samples() []rv.ObservationSamples {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]rv.ObservationSamples, len(o.records))
	for i := range out {
		out[i] = o.records[i].samples()
	}
	return out
}
