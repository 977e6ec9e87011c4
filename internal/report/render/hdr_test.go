package render

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/test/golden"
)

// drawn is a report with two distributions, and the values of the response time in HdrHistogram's own type.
func drawnReport(t *testing.T, n int) (*runnerv1alpha1.Report, *hdrhistogram.Histogram) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var response, service histogram.H
	oracle := hdrhistogram.New(1, histogram.Highest, 3)
	for range n {
		us := int64(200 * math.Exp(random.NormFloat64()))
		response.Record(us)
		service.Record(us / 2)
		if err := oracle.RecordValue(us); err != nil {
			t.Fatal(err)
		}
	}
	r := full()
	r.Histograms = &runnerv1alpha1.ReportHistograms{ResponseTime: response.Encode(), ServiceTime: service.Encode()}
	return r, oracle
}

// TestHistogramLog reads the log with HdrHistogram's reader.
func TestHistogramLog(t *testing.T) {
	r, want := drawnReport(t, 10_000)
	var b bytes.Buffer
	if err := HistogramLog(&b, r); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "full.hlog", regexp.MustCompile(`HIST.*`).ReplaceAll(b.Bytes(), []byte("HIST...")))
	reader := hdrhistogram.NewHistogramLogReader(&b)
	for _, tag := range []string{"", "serviceTime"} {
		h, err := reader.NextIntervalHistogram()
		if err != nil || h == nil {
			t.Fatalf("interval %q: %v, %v", tag, h, err)
		}
		if h.Tag() != tag || h.StartTimeMs() != 1767319445678 || h.EndTimeMs() != 1767319515678 || h.TotalCount() != 10_000 {
			t.Errorf("interval %q: tag %q from %d to %d with %d values", tag, h.Tag(), h.StartTimeMs(), h.EndTimeMs(), h.TotalCount())
		}
		if tag == "" && !h.Equals(want) {
			t.Errorf("the response times differ: %v, want %v", h.CumulativeDistribution(), want.CumulativeDistribution())
		}
	}
	if h, err := reader.NextIntervalHistogram(); h != nil || err != nil {
		t.Errorf("one more interval: %v, %v", h, err)
	}
}

// TestHistogramLogOfWindows: each window is an interval, and together they are the run. The reader of HdrHistogram adds them up. Without the
// distributions of all windows, the interval is the run.
func TestHistogramLogOfWindows(t *testing.T) {
	r, want := drawnReport(t, 10_000)
	whole, err := histogram.Decode(r.Histograms.ResponseTime)
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]histogram.H, 3) // the second one is empty
	whole.Each(func(us, n int64) {
		parts[0].RecordN(us, n/3)
		parts[2].RecordN(us, n-n/3)
	})
	r.Windows = nil
	for i := range parts {
		from := int64(i) * 1000
		r.Windows = append(r.Windows, runnerv1alpha1.Window{From: from, To: from + 1000 + int64(i), Histogram: parts[i].Encode()})
	}
	untagged := func() (out []*hdrhistogram.Histogram) {
		var b bytes.Buffer
		if err := HistogramLog(&b, r); err != nil {
			t.Fatal(err)
		}
		reader := hdrhistogram.NewHistogramLogReader(&b)
		for {
			h, err := reader.NextIntervalHistogram()
			if err != nil {
				t.Fatal(err)
			}
			if h == nil {
				return out
			}
			if h.Tag() == "" {
				out = append(out, h)
			}
		}
	}
	got := untagged()
	if len(got) != 2 {
		t.Fatalf("%d intervals, want 2", len(got))
	}
	const start = 1767319445678
	if a, b := got[0], got[1]; a.StartTimeMs() != start || a.EndTimeMs() != start+1000 || b.StartTimeMs() != start+2000 || b.EndTimeMs() != start+3002 {
		t.Errorf("intervals from %d to %d and from %d to %d", a.StartTimeMs(), a.EndTimeMs(), b.StartTimeMs(), b.EndTimeMs())
	}
	got[0].Merge(got[1])
	if !got[0].Equals(want) {
		t.Error("the intervals are not the run")
	}
	r.Windows[2].Histogram = runnerv1alpha1.Histogram{}
	if got := untagged(); len(got) != 1 || !got[0].Equals(want) {
		t.Errorf("%d intervals without the distribution of a window, want the run", len(got))
	}
}

// TestPercentiles compares each row with the row that HdrHistogram's own printer writes.
func TestPercentiles(t *testing.T) {
	for _, n := range []int{1, 2, 99, 10_000} {
		r, oracle := drawnReport(t, n)
		var got, want bytes.Buffer
		if err := Percentiles(&got, r); err != nil {
			t.Fatal(err)
		}
		if n == 99 {
			golden.Compare(t, "full.hgrm", got.Bytes())
		}
		if _, err := oracle.PercentilesPrint(&want, ticksPerHalf, 1000); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(hgrmRows(want.String()), hgrmRows(got.String())); diff != "" {
			t.Errorf("%d values (-HdrHistogram +got):\n%s", n, diff)
		}
	}
}

// hgrmRows are the rows of figures with two digits less than they are printed with, and the sizes of the footer.
func hgrmRows(text string) (out []string) {
	for line := range strings.Lines(text) {
		var value, level float64
		var count int64
		if n, _ := fmt.Sscan(line, &value, &level, &count); n == 3 {
			out = append(out, fmt.Sprintf("%.2f %.6f %d", value, level, count))
		}
		if strings.HasPrefix(line, "#[Buckets") {
			out = append(out, line)
		}
	}
	return out
}

// TestNoHistograms: a report without distributions gives files without values.
func TestNoHistograms(t *testing.T) {
	r := full()
	r.Histograms = nil
	var logged, printed bytes.Buffer
	if err := HistogramLog(&logged, r); err != nil {
		t.Fatal(err)
	}
	if h, err := hdrhistogram.NewHistogramLogReader(&logged).NextIntervalHistogram(); h != nil || err != nil {
		t.Errorf("interval %v, %v", h, err)
	}
	if err := Percentiles(&printed, r); err != nil || !strings.Contains(printed.String(), "Total count    =            0]") {
		t.Errorf("%v\n%s", err, printed.String())
	}
	r.Histograms = &runnerv1alpha1.ReportHistograms{ResponseTime: runnerv1alpha1.Histogram{Count: 1, Counts: []byte("!")}}
	if err := Percentiles(&printed, r); err == nil {
		t.Error("a histogram that cannot be read gave no error")
	}
}
