package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// unansweredReport has one request in five without a response, whose timeout is 5 s.
func unansweredReport(t *testing.T) *runnerv1alpha1.Report {
	t.Helper()
	h := histogram.New()
	h.RecordN(10_000, 80)
	h.AddUnanswered(20, 5_000_000)
	r := full()
	r.ResponseTime, r.Histograms = h.Times(), &runnerv1alpha1.ReportHistograms{ResponseTime: h.Encode()}
	r.Steps[0].ResponseTime = h.Times()
	w := h.Times()
	r.Windows = []runnerv1alpha1.Window{{To: 1000, Sent: 100, ResponseTime: runnerv1alpha1.WindowTimes{
		Count: w.Count, Unanswered: w.Unanswered, P50: w.P50, P90: w.P90, P99: w.P99, Max: w.Max,
	}}}
	return r
}

// TestUnanswered: no format has a number for a percentile among requests without a response that a reader can take for a measured time.
func TestUnanswered(t *testing.T) {
	r := unansweredReport(t)
	var text, page, markdown, table, otlp, document bytes.Buffer
	for name, err := range map[string]error{
		"text": Text(&text, r), "HTML": HTML(&page, r), "Markdown": Markdown(&markdown, r), "CSV": CSV(&table, r), "OTLP": OTLP(&otlp, r), "JSON": JSON(&document, r),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, of := range map[string]struct {
		text *bytes.Buffer
		want string
	}{
		"text": {&text, "10ms    > 5s   > 5s    > 5s    > 5s   > 5s\n"}, "HTML": {&page, "&gt; 5 s"}, "Markdown": {&markdown, `| 10 ms | > 5 s | > 5 s |`},
		"OTLP": {&otlp, `"asDouble":"Infinity"`}, "JSON": {&document, `"p99": "> 5s"`},
	} {
		if !strings.Contains(of.text.String(), of.want) {
			t.Errorf("%s: %q is not in\n%s", name, of.want, of.text)
		}
		if strings.Contains(of.text.String(), "4503") {
			t.Errorf("%s has the number that stands for no response", name)
		}
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range rows[0] {
		want, ok := map[string]string{"responseTime.p50": "10000", "responseTime.p99": "> 5s", "responseTime.max": "> 5s"}[name]
		if got := rows[len(rows)-1][i]; ok && got != want {
			t.Errorf("CSV: %s is %q, want %q", name, got, want)
		}
	}
}

// TestMeanWithoutResponses: nothing was measured, so there is no mean.
func TestMeanWithoutResponses(t *testing.T) {
	h := histogram.New()
	h.AddUnanswered(20, 5_000_000)
	r := full()
	r.ResponseTime, r.Histograms = h.Times(), &runnerv1alpha1.ReportHistograms{ResponseTime: h.Encode()}
	r.Listeners = []runnerv1alpha1.ListenerResult{{Name: "calls", Time: h.Times(), ListenerCounts: runnerv1alpha1.ListenerCounts{Awaited: 20, Missing: 20}}}
	var text, page bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		text *bytes.Buffer
		want string
	}{
		{&text, "  response time   > 5s       -   > 5s    > 5s"}, {&text, "  calls     > 5s  > 5s   > 5s  > 5s\n"},
		{&page, "<td>&gt; 5 s</td><td>-</td><td>&gt; 5 s</td>"},
	} {
		if !strings.Contains(of.text.String(), of.want) {
			t.Errorf("no %q in\n%s", of.want, of.text)
		}
	}
}

func TestUnansweredOTLP(t *testing.T) {
	mixed := unansweredReport(t)
	none := *mixed
	h := histogram.New()
	h.AddUnanswered(20, 5_000_000)
	none.ResponseTime, none.Histograms = h.Times(), &runnerv1alpha1.ReportHistograms{ResponseTime: h.Encode()}
	least := 0.01
	for name, tt := range map[string]struct {
		report *runnerv1alpha1.Report
		count  string
		min    *float64
	}{
		"some": {mixed, "100", &least},
		"all":  {&none, "20", nil},
	} {
		var b bytes.Buffer
		if err := OTLP(&b, tt.report); err != nil {
			t.Fatal(err)
		}
		var out otlpRequestRead
		if err := json.Unmarshal(b.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, m := range out.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			if m.Name != "h2surge.response_time" {
				continue
			}
			found = true
			p := m.ExponentialHistogram.DataPoints[0]
			last := p.Positive.BucketCounts[len(p.Positive.BucketCounts)-1]
			if p.Count != tt.count || last != "20" || p.Max != nil {
				t.Errorf("%s: count %s, above all bounds %s, maximum %v; want %s, 20 and none", name, p.Count, last, p.Max, tt.count)
			}
			if diff := cmp.Diff(tt.min, p.Min); diff != "" {
				t.Errorf("%s: minimum (-want +got):\n%s", name, diff)
			}
		}
		if !found {
			t.Errorf("%s: no response time", name)
		}
	}
}

// otlpRequestRead is what TestUnansweredOTLP reads.
type otlpRequestRead struct {
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []struct {
				Name                 string
				ExponentialHistogram struct {
					DataPoints []struct {
						Count    string
						Min, Max *float64
						Positive struct{ BucketCounts []string }
					}
				}
			}
		}
	}
}

// TestUnansweredHDR: HdrHistogram has no place for requests without a response, so they have its highest value.
func TestUnansweredHDR(t *testing.T) {
	r := unansweredReport(t)
	var logged, printed bytes.Buffer
	if err := HistogramLog(&logged, r); err != nil {
		t.Fatal(err)
	}
	h, err := hdrhistogram.NewHistogramLogReader(&logged).NextIntervalHistogram()
	if err != nil || h.TotalCount() != 100 || h.ValueAtPercentile(80) != 10_007 || h.ValueAtPercentile(81) < histogram.Highest {
		t.Errorf("%v, %d values, p80 %d, p81 %d", err, h.TotalCount(), h.ValueAtPercentile(80), h.ValueAtPercentile(81))
	}
	if err := Percentiles(&printed, r); err != nil || !strings.Contains(printed.String(), " 3600000.000 1.000000000000        100\n") || !strings.Contains(printed.String(), "Mean    =   720008.000") {
		t.Errorf("%v\n%s", err, printed.String())
	}
}
