package metrics

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/version"
)

// maxScrapes at the same time; more are refused with 503. A scrape is work on the CPUs that send
// requests, and every client that reaches the port may scrape.
const maxScrapes = 2

// Handler serves the metrics of a runner. Each scrape calls snapshot once, which returns nil before the first snapshot.
// The labels are the plan's chains, steps, of which there are 256 at most, and checks; and causes, of
// which there are MaxCauses and one, and for each step MaxProblems; and failures, of which there are MaxFailures and
// one of each kind.
func Handler(plan *runnerv1alpha1.Plan, snapshot func() *runnerv1alpha1.Snapshot) http.Handler {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(plan, snapshot))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes})
}

// Collector makes metrics of snapshots. It may be used by several goroutines at once.
type Collector struct {
	plan     *runnerv1alpha1.Plan
	snapshot func() *runnerv1alpha1.Snapshot

	mu sync.Mutex
	// base is what the achieved rate is measured from, latest the newest snapshot. mu guards both.
	base, latest *runnerv1alpha1.Snapshot
}

// NewCollector takes the arguments of Handler, for a registry of the caller.
func NewCollector(plan *runnerv1alpha1.Plan, snapshot func() *runnerv1alpha1.Snapshot) *Collector {
	return &Collector{plan: plan, snapshot: snapshot}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	v := version.Get()
	gauge(to, descInfo, 1, v.Version, v.Commit, v.Go)
	s := c.snapshot()
	if s == nil {
		return
	}
	gauge(to, descAsksForRate, bit(c.plan.AsksForRate()))
	collectState(to, s)
	collectProtocols(to, c.plan, s)
	collectTotals(to, s)
	collectGenerator(to, &s.Generator)
	collectTimes(to, s)
	collectPhases(to, c.plan, s)
	c.collectRate(to, s)
	c.collectChains(to, s)
	collectOperations(to, c.plan, s)
	collectNotifications(to, c.plan, s)
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) { own.Describe(to) }

func counter(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// bit is 1 for true.
func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func collectState(to chan<- prometheus.Metric, s *runnerv1alpha1.Snapshot) {
	for _, state := range states {
		gauge(to, descState, bit(s.State == state), string(state))
	}
}

func collectTotals(to chan<- prometheus.Metric, s *runnerv1alpha1.Snapshot) {
	c := &s.Counters
	counter(to, descDropped, float64(c.Dropped))
	counter(to, descRetried, float64(c.Retried))
	counter(to, descWarmUp, float64(c.WarmUpSent))
	gauge(to, descInFlight, float64(c.InFlightAtEnd+c.WarmUpInFlight))
	counter(to, descSentBytes, float64(c.BytesSent))
	counter(to, descReceivedBytes, float64(c.BytesReceived))
	counter(to, descConnects, float64(c.Connects))
	counter(to, descReconnects, float64(c.Reconnects))
	counter(to, descResumed, float64(c.Resumed))
	counter(to, descEarlyData, float64(c.EarlyData))
	for phase, n := range map[runnerv1alpha1.Phase]*runnerv1alpha1.OnceCounters{
		runnerv1alpha1.PhaseSetup: &c.Setup, runnerv1alpha1.PhaseTeardown: &c.Teardown,
	} {
		counter(to, descOnceSent, float64(n.Sent), string(phase))
		counter(to, descOnceSucceeded, float64(n.Succeeded), string(phase))
	}
	gauge(to, descExhausted, bit(s.Exhausted))
	counters(to, descCauses, build.Causes(s.Causes))
	for _, f := range build.Failures(s.Failures) {
		counter(to, descFailures, float64(f.Count), string(f.Of), string(f.Cause), f.Detail, f.Address)
	}
}

// counters has one counter for each name, as the last label.
func counters(to chan<- prometheus.Metric, d *prometheus.Desc, counts map[string]int64, labels ...string) {
	for name, n := range counts {
		counter(to, d, float64(n), append(slices.Clip(labels), name)...)
	}
}

func collectGenerator(to chan<- prometheus.Metric, g *runnerv1alpha1.Generator) {
	gauge(to, descWorkers, float64(g.Workers))
	gauge(to, descLagP99, micros(g.LagP99))
	counter(to, descCPU, g.CPUSeconds)
	counter(to, descThrottled, micros(g.ThrottledMicroseconds))
	counter(to, descGCPause, micros(g.GCPauseMicroseconds))
}

func micros(us int64) float64 { return float64(us) / 1e6 }

func (c *Collector) collectRate(to chan<- prometheus.Metric, s *runnerv1alpha1.Snapshot) {
	var previous []runnerv1alpha1.Snapshot
	base := c.interval(s)
	if base != nil {
		previous = append(previous, *base)
	}
	live, err := build.NewLive(c.plan, previous, []runnerv1alpha1.Snapshot{*s})
	if err != nil {
		to <- prometheus.NewInvalidMetric(descAchieved, err)
		return
	}
	gauge(to, descAsked, askedOf(c.plan, base, s, &live))
	gauge(to, descAchieved, live.Achieved)
}

// minInterval keeps the achieved rate from being one of a few milliseconds when two scrapers come
// at the same time.
const minInterval = int64(time.Second)

// interval returns the snapshot to compare s with: that of the scrape before, or of the one
// before that when it was less than minInterval ago.
func (c *Collector) interval(s *runnerv1alpha1.Snapshot) *runnerv1alpha1.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil || s.Clock-c.latest.Clock >= minInterval {
		c.base = c.latest
		c.latest = s
	}
	return c.base
}

func (c *Collector) collectChains(to chan<- prometheus.Metric, s *runnerv1alpha1.Snapshot) {
	for i := range min(len(c.plan.Chains), len(s.Chains)) {
		collectChain(to, c.plan.Chains[i].Name, &s.Chains[i])
	}
	c.plan.EachStep(func(i int, chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		if i < len(s.Steps) {
			collectStep(to, chain.Name, step.Name, &s.Steps[i])
		}
	})
}

func collectChain(to chan<- prometheus.Metric, chain string, c *runnerv1alpha1.ChainCounters) {
	counter(to, descStarted, float64(c.Started), chain)
	counter(to, descEnded, float64(c.Completed), chain, "completed")
	counter(to, descEnded, float64(c.Aborted), chain, "aborted")
	counters(to, descAborted, c.AbortedBy, chain)
}

func collectStep(to chan<- prometheus.Metric, chain, step string, s *runnerv1alpha1.StepCounters) {
	counter(to, descSent, float64(s.Sent), chain, step)
	for _, c := range append(s.Failures(), runnerv1alpha1.Count{Name: "succeeded", N: &s.Succeeded}) {
		counter(to, descOutcomes, float64(*c.N), chain, step, c.Words("_"))
	}
	for i, class := range classes {
		counter(to, descResponses, float64(s.StatusClasses[i]), chain, step, class)
	}
	for _, n := range s.StepEvents.Counts() {
		counter(to, descStepEvents[n.Name], float64(*n.N), chain, step)
	}
	counters(to, descFailedChecks, s.FailedBy, chain, step)
	times, err := histogram.Decode(s.ResponseTime)
	if err != nil {
		to <- prometheus.NewInvalidMetric(descResponseTime, err)
		return
	}
	times.AddUnanswered(s.TimedOut+s.Reset+s.ConnectionLost, 0)
	to <- metricOf(descResponseTime, times, chain, step)
}
