package render

import (
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

func reportOf(times ...int64) *rv.Report {
	var h histogram.H
	for _, us := range times {
		h.Record(us)
	}
	return &rv.Report{
		Requests: rv.Requests{
			Outcomes: rv.Outcomes{Sent: 110, Done: 100, Succeeded: 90, FailedChecks: 10, TimedOut: 1, Reset: 2, ConnectionLost: 3, InFlightAtEnd: 4}, Dropped: 5,
		},
		StatusCodes: map[string]int64{"200": 80, "204": 10, "404": 7, "429": 1, "503": 2},
		Rate:        rv.RateResult{WindowSeconds: 0.5},
		Bytes:       rv.Bytes{Received: 176830},
		Histograms:  &rv.ReportHistograms{ResponseTime: h.Encode(), ServiceTime: h.Encode(), Connect: new(histogram.H).Encode(), TimeToFirstByte: h.Encode()},
	}
}

// TestH2load has what a script would look for, in the columns where h2load has it.
func TestH2load(t *testing.T) {
	var out strings.Builder
	if err := H2load(&out, reportOf(77, 100, 123, 2000, 1_500_000)); err != nil {
		t.Fatal(err)
	}
	want := `
finished in 500.00ms, 200.00 req/s, 345.37KB/s
requests: 115 total, 110 started, 106 done, 90 succeeded, 21 failed, 11 errored, 1 timeout
status codes: 90 2xx, 0 3xx, 8 4xx, 2 5xx
traffic: 172.69KB (176830) total
                     min         max         mean         sd        +/- sd
time for request:       77us       1.50s    300.46ms    670.56ms    80.00%
time for connect:        0us         0us         0us         0us     0.00%
time to 1st byte:       77us       1.50s    300.46ms    670.56ms    80.00%
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestH2loadUnanswered: the histogram has a row for requests without a response.
func TestH2loadUnanswered(t *testing.T) {
	for _, tt := range []struct {
		times      []int64
		unanswered int64
		want       []string
		lines      int
	}{
		{[]int64{77, 100, 123}, 1, []string{"Response time, 4 requests\n", "        > 5s            1   25.00%  100.00% |\n", "   75.00% |"}, 20},
		{nil, 20, []string{"Response time, 20 requests\n", "        > 5s           20  100.00%  100.00% |\n"}, 4},
	} {
		r := reportOf(tt.times...)
		h, err := histogram.Decode(r.Histograms.ResponseTime)
		if err != nil {
			t.Fatal(err)
		}
		h.AddUnanswered(tt.unanswered, 5_000_000)
		r.Histograms.ResponseTime = h.Encode()
		var out strings.Builder
		if err := Histogram(&out, r); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
		if got := strings.Count(out.String(), "\n"); got != tt.lines {
			t.Errorf("%d lines, want %d:\n%s", got, tt.lines, out.String())
		}
	}
}

func TestH2loadUnits(t *testing.T) {
	for us, want := range map[float64]string{0: "0us", 999: "999us", 1000: "1.00ms", 999_000: "999.00ms", 1e6: "1.00s", 61e6: "61.00s"} {
		if got := h2loadTime(us); got != want {
			t.Errorf("%v is %s, want %s", us, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.00KB", 8_601_000: "8.20MB", 3 << 30: "3.00GB"} {
		if got := h2loadSize(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// TestHistogram: the rows hold every request once, and the last limit is the greatest time.
func TestHistogram(t *testing.T) {
	for name, times := range map[string][]int64{
		"one":       {5},
		"zero":      {0},
		"two":       {0, 1},
		"alike":     {1000, 1000, 1001},
		"far apart": {1, 10, 100, 1000, 10_000, 3_599_000_000},
	} {
		var h histogram.H
		for _, us := range times {
			h.Record(us)
		}
		rows, most := rowsOf(&h)
		sum := int64(0)
		for i, r := range rows {
			sum += r.count
			if i > 0 && r.limit <= rows[i-1].limit {
				t.Errorf("%s: limits %d and %d", name, rows[i-1].limit, r.limit)
			}
		}
		if sum != h.Count() || len(rows) > histogramRows || most < 1 || rows[len(rows)-1].limit != max(h.Max(), 1) {
			t.Errorf("%s: %v, most %d", name, rows, most)
		}
	}
}
