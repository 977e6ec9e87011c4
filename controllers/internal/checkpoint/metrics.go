package checkpoint

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/h2surge/h2surge/internal/metric"
)

var own = metric.NewSet("h2surge_operator_checkpoint_")

// Families are the metrics of a Writer.
func Families() []metric.Family { return own.Families() }

var (
	descInterval = own.Gauge("interval_seconds",
		"Time between two checkpoints of a runner: at least 5 s, and the bytes of the checkpoints of all running shards divided by checkpoint.bytesPerSecond.")
	descAge     = own.Gauge("age_seconds", "Age of the oldest checkpoint of a running shard; 0 if no test runs.")
	descBytes   = own.Counter("written_bytes_total", "Bytes of checkpoints that this process stored.")
	descRefused = own.Counter("refused_total", "Checkpoints that the API server refused, for example because of a quota.")
)

// collector has the metrics of the last Writer of the process: tests start several operators.
type collector struct{ of atomic.Pointer[Writer] }

// Register adds the metrics of w to a registry, in place of those of another Writer.
func (w *Writer) Register(reg prometheus.Registerer) {
	c := &collector{}
	c.of.Store(w) // a scrape can come at once
	metric.Register(reg, c).of.Store(w)
}

// Describe is that of a prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) { own.Describe(to) }

// Collect is that of a prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	w := c.of.Load()
	w.mu.Lock()
	stats := w.stats
	w.mu.Unlock()
	to <- prometheus.MustNewConstMetric(descInterval, prometheus.GaugeValue, w.interval().Seconds())
	to <- prometheus.MustNewConstMetric(descAge, prometheus.GaugeValue, w.age(time.Now()).Seconds())
	to <- prometheus.MustNewConstMetric(descBytes, prometheus.CounterValue, stats.bytes)
	to <- prometheus.MustNewConstMetric(descRefused, prometheus.CounterValue, stats.refused)
}
