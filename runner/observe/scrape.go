package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// accept prefers the text format, because all clients of Prometheus write it.
const accept = "text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"

// scrape is a metric that a target serves.
type scrape struct {
	client *client
	of     *rv.Scrape
	clock  func() int64
	// at is the time of the last read, and before has what it found, by label. Values of counters and histograms are
	// differences of two reads.
	at     int64
	before map[string]*dto.Metric
}

func (s *scrape) forget() { s.before = nil }

func (s *scrape) read(ctx context.Context) ([]value, error) {
	at := s.clock()
	body, contentType, err := s.client.get(ctx, s.of.Path, accept)
	if err != nil {
		return nil, err
	}
	kind, found, err := find(body, contentType, s.of)
	if err != nil {
		return nil, err
	}
	seconds, before := time.Duration(at-s.at).Seconds(), s.before
	s.at, s.before = at, found
	var out []value
	var why error
	for label, m := range found {
		v, ok, err := valueOf(kind, m, before[label], seconds, s.of.Quantile)
		if err != nil {
			why = err
		}
		if ok {
			out = append(out, value{seriesID{label: label}, v})
		}
	}
	if before == nil && len(out) == 0 && why == nil {
		return nil, errFirst
	}
	return out, why
}

// errFirst is the result of the first read of a counter or a histogram. It is not a gap.
var errFirst = errors.New("the first read has no difference to an earlier one")

// find returns the metrics of a page that are asked for, by label.
func find(body []byte, contentType string, of *rv.Scrape) (dto.MetricType, map[string]*dto.Metric, error) {
	name := of.Metric
	if media, _, _ := mime.ParseMediaType(contentType); media == expfmt.OpenMetricsType {
		body = plain(body)
	}
	families, err := parse(body)
	if err != nil {
		return 0, nil, fmt.Errorf("the page is not in the text format of Prometheus: %w", err)
	}
	f := families[name]
	if f == nil {
		return 0, nil, fmt.Errorf("the page has no metric %s", name)
	}
	found := map[string]*dto.Metric{}
	for _, m := range f.Metric {
		if label, ok := matching(m, of.Labels); ok {
			found[label] = m
		}
	}
	if len(found) == 0 {
		return 0, nil, fmt.Errorf("metric %s has no series with these labels", name)
	}
	return f.GetType(), found, nil
}

// parse reads a page. The parser panics on some pages, such as "{}".
func parse(page []byte) (families map[string]*dto.MetricFamily, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser failed: %v", p)
		}
	}()
	p := expfmt.NewTextParser(model.UTF8Validation)
	return p.TextToMetricFamilies(bytes.NewReader(page))
}

// matching returns the label of a series: its labels without those that were asked for. It returns false if it lacks
// one of them.
func matching(m *dto.Metric, want map[string]string) (string, bool) {
	var rest []string
	matched := 0
	for _, l := range m.Label {
		v, asked := want[l.GetName()]
		switch {
		case !asked:
			rest = append(rest, pair(l.GetName(), l.GetValue()))
		case v == l.GetValue():
			matched++
		}
	}
	slices.Sort(rest)
	return strings.Join(rest, ","), matched == len(want)
}

// valueOf returns the value of a metric, and false if it has none in this time. before is the same metric at the read
// before; nil: there is none.
func valueOf(kind dto.MetricType, m, before *dto.Metric, seconds float64, quantile *float64) (float64, bool, error) {
	ofQuantile := kind == dto.MetricType_HISTOGRAM || kind == dto.MetricType_SUMMARY
	switch {
	case ofQuantile && quantile == nil:
		return 0, false, fmt.Errorf("the metric is a %s; set quantile", strings.ToLower(kind.String()))
	case !ofQuantile && quantile != nil:
		return 0, false, fmt.Errorf("the metric is a %s; quantile needs a histogram or a summary",
			strings.ToLower(kind.String()))
	}
	switch kind {
	case dto.MetricType_COUNTER:
		if before == nil || seconds <= 0 {
			return 0, false, nil
		}
		return increase(m.GetCounter().GetValue(), before.GetCounter().GetValue()) / seconds, true, nil
	case dto.MetricType_GAUGE:
		return m.GetGauge().GetValue(), true, nil
	case dto.MetricType_SUMMARY:
		return summaryQuantile(m.GetSummary(), *quantile)
	case dto.MetricType_HISTOGRAM:
		if before == nil {
			return 0, false, nil
		}
		v, ok := histogramQuantile(m.GetHistogram(), before.GetHistogram(), *quantile)
		return v, ok, nil
	}
	return m.GetUntyped().GetValue(), true, nil
}

// increase is that of a counter, which starts at zero again when its process does.
func increase(now, before float64) float64 {
	if now < before {
		return now
	}
	return now - before
}

func summaryQuantile(s *dto.Summary, quantile float64) (float64, bool, error) {
	var has []string
	for _, q := range s.GetQuantile() {
		if q.GetQuantile() == quantile {
			return q.GetValue(), true, nil
		}
		has = append(has, strconv.FormatFloat(q.GetQuantile(), 'g', -1, 64))
	}
	return 0, false, fmt.Errorf("the summary has no quantile %v; it has %q", quantile, strings.Join(has, ", "))
}

// histogramQuantile returns the quantile of the values since an earlier read, by linear interpolation within a bucket
// as histogram_quantile of PromQL does. It returns false if there are no values.
func histogramQuantile(now, before *dto.Histogram, quantile float64) (float64, bool) {
	buckets := bucketsSince(now, before)
	if len(buckets) == 0 || buckets[len(buckets)-1].count <= 0 {
		return 0, false
	}
	rank := quantile * buckets[len(buckets)-1].count
	i := slices.IndexFunc(buckets, func(b bucket) bool { return b.count >= rank })
	upper := buckets[i].upper
	switch {
	case math.IsInf(upper, 1) && i == 0:
		return 0, false // there are no other bounds
	case math.IsInf(upper, 1):
		return buckets[i-1].upper, true
	case i == 0 && upper <= 0:
		return upper, true
	}
	var lower, below float64
	if i > 0 {
		lower, below = buckets[i-1].upper, buckets[i-1].count
	}
	if n := buckets[i].count - below; n > 0 {
		return lower + (upper-lower)*(rank-below)/n, true
	}
	return upper, true
}

// bucket counts the values that are at most upper.
type bucket struct{ upper, count float64 }

// bucketsSince returns the buckets of the values since an earlier read, with one without bound as the last one.
func bucketsSince(now, before *dto.Histogram) (out []bucket) {
	earlier := map[float64]uint64{}
	if now.GetSampleCount() >= before.GetSampleCount() { // else the process restarted
		for _, b := range before.GetBucket() {
			earlier[b.GetUpperBound()] = b.GetCumulativeCount()
		}
		earlier[math.Inf(1)] = before.GetSampleCount()
	}
	add := func(upper float64, count uint64) {
		out = append(out, bucket{upper, increase(float64(count), float64(earlier[upper]))})
	}
	for _, b := range now.GetBucket() {
		if !math.IsInf(b.GetUpperBound(), 0) && !math.IsNaN(b.GetUpperBound()) {
			add(b.GetUpperBound(), b.GetCumulativeCount())
		}
	}
	slices.SortFunc(out, func(a, b bucket) int {
		if a.upper < b.upper {
			return -1
		}
		return 1
	})
	add(math.Inf(1), now.GetSampleCount())
	for i := 1; i < len(out); i++ { // a page that is written while it changes can have less in a later bucket
		out[i].count = max(out[i].count, out[i-1].count)
	}
	return out
}
