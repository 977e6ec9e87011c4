package observe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// secondRead returns the values of a metric of two pages that were read ten seconds after each other.
func secondRead(contentType, first, second string, of rv.Scrape) (string, error) {
	_, before, err := find([]byte(first), contentType, &of)
	if err != nil {
		return "", err
	}
	kind, now, err := find([]byte(second), contentType, &of)
	if err != nil {
		return "", err
	}
	var out []string
	for _, label := range slices.Sorted(maps.Keys(now)) {
		v, ok, err := valueOf(kind, now[label], before[label], 10, of.Quantile)
		if err != nil {
			return "", err
		}
		if ok {
			out = append(out, fmt.Sprintf("%s=%v", label, v))
		}
	}
	return strings.Join(out, " "), nil
}

func histogramPage(name string, counts ...int) string {
	out, bounds := "# TYPE "+name+" histogram\n", []string{"0.1", "0.2", "0.4", "+Inf"}
	for i, n := range counts {
		out += fmt.Sprintf("%s_bucket{le=%q} %d\n", name, bounds[i], n)
	}
	return out + fmt.Sprintf("%s_sum 1\n%s_count %d\n", name, name, counts[len(counts)-1])
}

func TestValues(t *testing.T) {
	half, most := 0.5, 0.99
	const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	for name, tc := range map[string]struct {
		contentType, first, second string
		of                         rv.Scrape
		want, err                  string
	}{
		"a counter":                  {asText, "# TYPE a counter\na 100\n", "# TYPE a counter\na 150\n", rv.Scrape{Metric: "a"}, "=5", ""},
		"a counter that began again": {asText, "# TYPE a counter\na 100\n", "# TYPE a counter\na 30\n", rv.Scrape{Metric: "a"}, "=3", ""},
		"a counter that is new":      {asText, "# TYPE a counter\na{x=\"1\"} 1\n", "# TYPE a counter\na{x=\"1\"} 1\na{x=\"2\"} 1\n", rv.Scrape{Metric: "a"}, "x=1=0", ""},
		"labels": {asText, "a{x=\"1\"} 1\n", "a{x=\"1\",y=\"b\"} 1\na{x=\"2\",y=\"b\"} 1\na{y=\"c\",x=\"1\"} 4\n",
			rv.Scrape{Metric: "a", Labels: map[string]string{"x": "1"}}, "y=b=1 y=c=4", ""},
		"labels that no series has": {asText, "a{x=\"1\"} 1\n", "a{x=\"1\"} 1\n",
			rv.Scrape{Metric: "a", Labels: map[string]string{"x": "2"}}, "", "metric a has no series with these labels"},
		"a summary": {asText, "# TYPE a summary\na{quantile=\"0.5\"} 3\na_sum 1\na_count 1\n", "# TYPE a summary\na{quantile=\"0.5\"} 4\na_sum 1\na_count 1\n",
			rv.Scrape{Metric: "a", Quantile: &half}, "=4", ""},
		"a summary without the quantile": {asText, "# TYPE a summary\na{quantile=\"0.5\"} 3\na_sum 1\na_count 1\n", "# TYPE a summary\na{quantile=\"0.5\"} 4\na_sum 1\na_count 1\n",
			rv.Scrape{Metric: "a", Quantile: &most}, "", `the summary has no quantile 0.99; it has "0.5"`},
		"a histogram":                   {asText, histogramPage("a", 10, 10, 10, 10), histogramPage("a", 10, 14, 20, 20), rv.Scrape{Metric: "a", Quantile: &half}, "=0.23333333333333334", ""},
		"a histogram above its bounds":  {asText, histogramPage("a", 0, 0, 0, 0), histogramPage("a", 0, 0, 0, 9), rv.Scrape{Metric: "a", Quantile: &half}, "=0.4", ""},
		"a histogram that did not grow": {asText, histogramPage("a", 1, 1, 1, 1), histogramPage("a", 1, 1, 1, 1), rv.Scrape{Metric: "a", Quantile: &half}, "", ""},
		"a histogram that began again":  {asText, histogramPage("a", 90, 90, 90, 90), histogramPage("a", 0, 4, 4, 4), rv.Scrape{Metric: "a", Quantile: &half}, "=0.15000000000000002", ""},
		"a histogram without a quantile": {asText, histogramPage("a", 1, 1, 1, 1), histogramPage("a", 1, 1, 1, 1), rv.Scrape{Metric: "a"},
			"", "the metric is a histogram; set quantile"},
		"a quantile of a gauge": {asText, "# TYPE a gauge\na 1\n", "# TYPE a gauge\na 1\n", rv.Scrape{Metric: "a", Quantile: &half},
			"", "the metric is a gauge; quantile needs a histogram or a summary"},
		"OpenMetrics": {openMetrics, "# TYPE a counter\n# UNIT a seconds\na_total{x=\"}\\\" \"} 1 1520879607.789\n# EOF\n",
			"# TYPE a counter\na_total{x=\"}\\\" \"} 41.0 1520879607.789 # {trace_id=\"b\"} 0.67 1.5\na_created 5\n# EOF\n", rv.Scrape{Metric: "a_total"}, `x="}\" "=4`, ""},
		"types of OpenMetrics": {openMetrics, "# TYPE a unknown\na 1\n", "# TYPE a unknown\na 2 1.5\n# EOF\n", rv.Scrape{Metric: "a"}, "=2", ""},
		"a histogram of OpenMetrics": {openMetrics, histogramPage("a", 0, 0, 0, 0), strings.ReplaceAll(histogramPage("a", 0, 10, 10, 10), "} 10\n", "} 10 # {a=\"b\"} 1\n"),
			rv.Scrape{Metric: "a", Quantile: &half}, "=0.15000000000000002", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := secondRead(tc.contentType, tc.first, tc.second, tc.of)
			if got != tc.want || err != nil && err.Error() != tc.err || err == nil && tc.err != "" {
				t.Errorf("got %q, %v; want %q, %s", got, err, tc.want, tc.err)
			}
		})
	}
}

// TestFirstRead: a counter has no value at the first read, which is not a gap.
func TestFirstRead(t *testing.T) {
	clock := int64(0)
	o := observing(t, answers(200, asText, "# TYPE up counter\nup 1\n"), nil, scraping())
	o.sources[0].(*scrape).clock = func() int64 { clock += int64(time.Second); return clock }
	o.read(0, 0)
	if got := o.Samples()[0]; len(got.Series) > 0 || len(got.Gaps) > 0 {
		t.Errorf("after the first read: %+v", got)
	}
	o.read(0, 1000)
	if got := o.Samples()[0]; len(got.Series) != 1 || len(got.Gaps) > 0 {
		t.Errorf("after the second read: %+v", got)
	}
}

// FuzzPages: no page makes a read panic, and each value is a number or NaN.
func FuzzPages(f *testing.F) {
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\na_sum 1\na_count 2\n", false, 0.5)
	f.Add("# TYPE a counter\na_total{x=\"1\"} 1 1.5 # {} 1\n# EOF\n", true, 0.0)
	f.Add("# TYPE a summary\na{quantile=\"0.5\"} 1\n", false, 0.5)
	f.Add("{\"a\",b=\"c\"} 1\n", true, 1.0)
	f.Fuzz(func(t *testing.T, page string, openMetrics bool, quantile float64) {
		if quantile < 0 || quantile > 1 || math.IsNaN(quantile) {
			return
		}
		contentType := asText
		if openMetrics {
			contentType = "application/openmetrics-text"
		}
		for _, of := range []rv.Scrape{{Metric: "a"}, {Metric: "a_total"}, {Metric: "a", Quantile: &quantile}} {
			kind, found, err := find([]byte(page), contentType, &of)
			if err != nil {
				continue
			}
			r := record{}
			for label, m := range found {
				if v, ok, _ := valueOf(kind, m, m, 1, of.Quantile); ok {
					r.add(1, false, []value{labelled(label, v)})
				}
			}
		}
	})
}
