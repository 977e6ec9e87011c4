package loadtest

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// metrics of the operator. The series of a LoadTest go when it goes, so that there are never
// more than there are LoadTests.
type metrics struct {
	runs   *prometheus.CounterVec
	phase  *prometheus.GaugeVec
	rate   *prometheus.GaugeVec
	p99    *prometheus.GaugeVec
	errors *prometheus.GaugeVec
	lost   *prometheus.GaugeVec
	passed *prometheus.GaugeVec
}

// newMetrics registers the metrics, or takes those that are there: a process may have several
// managers, one after another.
func newMetrics(reg prometheus.Registerer) *metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "h2surge_loadtest_" + name, Help: help,
		}, append([]string{"namespace", "name"}, labels...)))
	}
	return &metrics{
		runs: register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "h2surge_loadtest_runs_total", Help: "Runs that ended while this process led, by the verdict's outcome.",
		}, []string{"outcome"})),
		phase:  gauge("phase", "1 for the phase that the LoadTest is in.", "phase"),
		rate:   gauge("rate_requests_per_second", "Requests sent a second, measured stages only, since their start."),
		p99:    gauge("response_time_p99_seconds", "99th percentile of the response time, over all shards, so far."),
		errors: gauge("error_ratio", "1 - succeeded / (sent + dropped), so far."),
		lost:   gauge("runners_lost", "Runners that ended before their time."),
		passed: gauge("passed", "1 when the condition Passed is True, 0 when it is False; absent in flight and when inconclusive."),
	}
}

func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	var already prometheus.AlreadyRegisteredError
	if err := reg.Register(c); errors.As(err, &already) {
		return already.ExistingCollector.(C)
	} else if err != nil {
		panic(err) // two metrics of one name: a mistake in this file
	}
	return c
}

// observe updates the series of a LoadTest after its status has been written.
func (m *metrics) observe(key types.NamespacedName, before, after *v1alpha1.LoadTestStatus) {
	if before.Phase != after.Phase {
		m.phase.DeletePartialMatch(seriesOf(key))
	}
	m.phase.WithLabelValues(key.Namespace, key.Name, string(after.Phase)).Set(1)
	if before.CompletionTime == nil && after.CompletionTime != nil {
		m.runs.WithLabelValues(after.Verdict.Outcome).Inc()
	}
	if after.Shards != nil {
		m.lost.WithLabelValues(key.Namespace, key.Name).Set(float64(after.Shards.Lost))
	}
	if r := after.Results; r != nil {
		m.rate.WithLabelValues(key.Namespace, key.Name).Set(number64(r.Rate.Achieved))
		m.p99.WithLabelValues(key.Namespace, key.Name).Set(float64(r.ResponseTime.P99) / 1e6)
		m.errors.WithLabelValues(key.Namespace, key.Name).Set(number64(r.ErrorRatio))
	}
	switch c := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionPassed); {
	case c == nil || c.Status == metav1.ConditionUnknown:
		m.passed.DeletePartialMatch(seriesOf(key))
	case c.Status == metav1.ConditionTrue:
		m.passed.WithLabelValues(key.Namespace, key.Name).Set(1)
	default:
		m.passed.WithLabelValues(key.Namespace, key.Name).Set(0)
	}
}

func (m *metrics) forget(key types.NamespacedName) {
	for _, g := range []*prometheus.GaugeVec{m.phase, m.rate, m.p99, m.errors, m.lost, m.passed} {
		g.DeletePartialMatch(seriesOf(key))
	}
}

func seriesOf(key types.NamespacedName) prometheus.Labels {
	return prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
}

func number64(decimal string) float64 {
	v, _ := strconv.ParseFloat(decimal, 64) // we have written it
	return v
}
