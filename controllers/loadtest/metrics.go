package loadtest

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/internal/metric"
)

// own are the operator's metrics of LoadTests.
var own = metric.NewSet("h2surge_loadtest_")

// rules has the metrics of the address policy and of refused writes.
var rules = metric.NewSet("h2surge_operator_")

var descIncomplete = rules.Gauge("rule_incomplete",
	"1 for each rule of targets.deniedByDefault that lacks addresses, because the operator has no right to list them.",
	"rule")

var descRefused = rules.Counter("writes_refused_total",
	"Writes that the API server refuses, for example because of a quota. A write counts in each pass over its LoadTest.")

// Families are the operator's metrics: those of a Collector, and those of checkpoints.
func Families() []metric.Family {
	return slices.Concat(own.Families(), rules.Families(), checkpoint.Families())
}

// gauge and counter have one series for each LoadTest, or as many as the further labels have values.
func gauge(name, help string, labels ...string) *prometheus.Desc {
	return own.Gauge(name, help, append([]string{"namespace", "loadtest"}, labels...)...)
}

func counter(name, help string, labels ...string) *prometheus.Desc {
	return own.Counter(name, help, append([]string{"namespace", "loadtest"}, labels...)...)
}

var (
	descRuns = own.Counter("runs_total", "Runs that ended while this process was the leader, by outcome of the verdict.",
		"outcome")

	descPhase   = gauge("phase", "1 for the current phase of the LoadTest.", "phase")
	descWaiting = gauge("waiting",
		"1 while the test waits for other tests: for the lock that one has, or in a queue such as Kueue.", "reason")
	descVerdict = gauge("verdict", "1 for the outcome of the verdict; absent until the run ends.", "outcome")
	descPassed  = gauge("passed",
		"1 if the condition Passed is True, 0 if it is False; absent during the run and if the result is inconclusive.")
	descDuration = gauge("duration_seconds", "Time since the start of the run, up to its end; absent before the start.")
	descLost     = gauge("runners_lost", "Runners that were lost.")

	descSent    = counter("requests_sent_total", "Requests of measured stages that were sent so far, over all shards.")
	descOutcome = counter("requests_total",
		"Requests of measured stages that have an outcome: succeeded, failed_checks, timed_out, reset or connection_lost. So far, over all shards.", "outcome")
	descDropped = counter("requests_dropped_total",
		"Requests of measured stages that were never sent although their scheduled time had come, so far.")
	descAsked = gauge("asked_requests_per_second", "Average rate that the measured stages ask for; 0 in a closed loop.")
	descRate  = gauge("rate_requests_per_second", "Requests sent per second since the start of the measured stages.")
	descTimes = gauge("response_time_seconds",
		"Response time so far, over all shards, by percentile; 100 is the maximum. Exact to 0.1%.", "percentile")
	descErrors = gauge("error_ratio", "1 - succeeded / (sent + dropped), so far.")
)

// turns are the reasons of RunnersReady while the test waits for other tests. That can last, and is no trouble.
var turns = []string{v1alpha1.ReasonWaitingForLock, v1alpha1.ReasonQueued}

// outcomes of a verdict, so that counters are there before the first run ends.
var outcomes = []runnerv1alpha1.Outcome{
	runnerv1alpha1.OutcomePassed, runnerv1alpha1.OutcomeFailed, runnerv1alpha1.OutcomeInconclusive,
	runnerv1alpha1.OutcomeError, runnerv1alpha1.OutcomeStopped,
}

// Collector has the metrics of LoadTests. Those of a LoadTest that has not ended are there as long
// as it is. Those of one that has, stay for a time and up to a number of such LoadTests, deleted or
// not: a last scrape comes later than the end, when the pods are gone. It is safe for concurrent use.
type Collector struct {
	keep  time.Duration
	most  int
	clock func() time.Time

	mu    sync.Mutex
	ended map[string]int64                                  // runs by outcome; guarded by mu
	tests map[types.NamespacedName]*v1alpha1.LoadTestStatus // guarded by mu
	rules []string                                          // rules that lack addresses; guarded by mu
	// refused counts writes. mu guards it.
	refused int
}

// NewCollector keeps what has ended for the time keep, and of no more than most LoadTests.
func NewCollector(keep time.Duration, most int, clock func() time.Time) *Collector {
	c := &Collector{
		keep: keep, most: most, clock: clock,
		ended: map[string]int64{}, tests: map[types.NamespacedName]*v1alpha1.LoadTestStatus{},
	}
	for _, o := range outcomes {
		c.ended[string(o)] = 0
	}
	return c
}

// Observe takes the status of a LoadTest, which must not be changed any more. A run counts as ended
// when before has no end and after has one.
func (c *Collector) Observe(key types.NamespacedName, before, after *v1alpha1.LoadTestStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before.CompletionTime == nil && after.CompletionTime != nil {
		c.ended[after.Verdict.Outcome]++
	}
	c.tests[key] = after
	c.prune()
}

// ObserveRules takes the rules of the address policy that lack addresses.
func (c *Collector) ObserveRules(incomplete []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rules = incomplete
}

// ObserveRefused takes the number of writes of a pass that the API server refuses.
func (c *Collector) ObserveRefused(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused += n
}

// Forget says that the LoadTest was deleted.
func (c *Collector) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st := c.tests[key]; st != nil && st.CompletionTime == nil {
		delete(c.tests, key)
	}
}

// prune drops what ended too long ago, and the earliest of what is too many. The caller holds mu.
func (c *Collector) prune() {
	var ended []types.NamespacedName
	for key, st := range c.tests {
		switch {
		case st.CompletionTime == nil:
		case c.clock().Sub(st.CompletionTime.Time) >= c.keep:
			delete(c.tests, key)
		default:
			ended = append(ended, key)
		}
	}
	if len(ended) <= c.most {
		return
	}
	slices.SortFunc(ended, func(a, b types.NamespacedName) int {
		return c.tests[b].CompletionTime.Compare(c.tests[a].CompletionTime.Time)
	})
	for _, key := range ended[c.most:] {
		delete(c.tests, key)
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	own.Describe(to)
	rules.Describe(to)
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prune()
	for outcome, n := range c.ended {
		to <- prometheus.MustNewConstMetric(descRuns, prometheus.CounterValue, float64(n), outcome)
	}
	to <- prometheus.MustNewConstMetric(descRefused, prometheus.CounterValue, float64(c.refused))
	for _, rule := range c.rules {
		to <- prometheus.MustNewConstMetric(descIncomplete, prometheus.GaugeValue, 1, rule)
	}
	for key, st := range c.tests {
		s := seriesOf{to, key}
		s.life(st, c.clock())
		if st.Results != nil {
			s.results(st.Results)
		}
	}
}

// seriesOf are those of a LoadTest.
type seriesOf struct {
	to  chan<- prometheus.Metric
	key types.NamespacedName
}

func (s seriesOf) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{s.key.Namespace, s.key.Name},
		labels...)...)
}

func (s seriesOf) counter(d *prometheus.Desc, n int64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n),
		append([]string{s.key.Namespace, s.key.Name}, labels...)...)
}

func (s seriesOf) life(st *v1alpha1.LoadTestStatus, now time.Time) {
	s.gauge(descPhase, 1, string(st.Phase))
	if ready := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionRunnersReady); ready != nil &&
		slices.Contains(turns, ready.Reason) {
		s.gauge(descWaiting, 1, ready.Reason)
	}
	if st.Shards != nil {
		s.gauge(descLost, float64(st.Shards.Lost))
	}
	if st.Verdict != nil {
		s.gauge(descVerdict, 1, st.Verdict.Outcome)
	}
	if st.StartTime != nil {
		end := now
		if st.CompletionTime != nil {
			end = st.CompletionTime.Time
		}
		s.gauge(descDuration, max(0, end.Sub(st.StartTime.Time).Seconds()))
	}
	if p := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionPassed); p != nil &&
		p.Status != metav1.ConditionUnknown {
		passed := 0.0
		if p.Status == metav1.ConditionTrue {
			passed = 1
		}
		s.gauge(descPassed, passed)
	}
}

func (s seriesOf) results(r *v1alpha1.Results) {
	n := &r.Requests
	s.counter(descSent, n.Sent)
	s.counter(descOutcome, n.Succeeded, "succeeded")
	s.counter(descOutcome, n.FailedChecks, "failed_checks")
	s.counter(descOutcome, n.TimedOut, "timed_out")
	s.counter(descOutcome, n.Reset, "reset")
	s.counter(descOutcome, n.ConnectionLost, "connection_lost")
	s.counter(descDropped, n.Dropped)
	s.gauge(descAsked, r.Rate.Asked)
	s.gauge(descRate, r.Rate.Achieved)
	s.gauge(descErrors, r.ErrorRate)
	t := &r.ResponseTime
	for _, q := range []struct {
		percentile string
		us         *int64
	}{{"50", t.P50Microseconds}, {"90", t.P90Microseconds}, {"95", t.P95Microseconds}, {"99", t.P99Microseconds},
		{"99.9", t.P999Microseconds}, {"100", t.MaxMicroseconds}} {
		seconds := math.Inf(1) // no response
		if q.us != nil {
			seconds = float64(*q.us) / 1e6
		}
		s.gauge(descTimes, seconds, q.percentile)
	}
}
