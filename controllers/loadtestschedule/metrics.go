package loadtestschedule

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/metric"
)

// own are the operator's metrics of schedules.
var own = metric.NewSet("h2surge_schedule_")

// Families are the operator's metrics of schedules.
func Families() []metric.Family { return own.Families() }

var (
	descLast = own.Gauge("last_run_timestamp_seconds", "Scheduled time of the last LoadTest that the operator created.",
		"namespace", "schedule")
	descPassed = own.Gauge("last_passed_timestamp_seconds",
		"Scheduled time of the last LoadTest that passed; absent if none passed.", "namespace", "schedule")
	descMissed = own.Counter("missed_runs_total", "Scheduled times for which the operator created no LoadTest.",
		"namespace", "schedule")
)

// collector computes the metrics from the status of the schedules, so they survive a restart. Only the leader has them.
type collector struct {
	source atomic.Pointer[source]
}

type source struct {
	reader client.Reader
	leads  func() bool
}

// register adds the collector, or changes the source of the one that is there.
func register(reg prometheus.Registerer, reader client.Reader, leads func() bool) {
	metric.Register(reg, &collector{}).source.Store(&source{reader, leads})
}

// Describe implements prometheus.Collector.
func (*collector) Describe(out chan<- *prometheus.Desc) { own.Describe(out) }

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	from := c.source.Load()
	if from == nil || !from.leads() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	list := &v1alpha1.LoadTestScheduleList{}
	if err := from.reader.List(ctx, list); err != nil {
		return // the cache has not been filled yet
	}
	for i := range list.Items {
		schedule := &list.Items[i]
		labels := []string{schedule.Namespace, schedule.Name}
		timestamp := func(desc *prometheus.Desc, t *metav1.Time) {
			if t != nil {
				out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(t.Unix()), labels...)
			}
		}
		timestamp(descLast, schedule.Status.LastScheduleTime)
		timestamp(descPassed, schedule.Status.LastPassedTime)
		out <- prometheus.MustNewConstMetric(descMissed, prometheus.CounterValue, float64(schedule.Status.MissedRuns),
			labels...)
	}
}
