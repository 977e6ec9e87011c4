package render

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/build"
)

// H2load writes the report in the form of h2load 1.52, for scripts that read that.
// docs/reference/cli-url.md has the meaning of each figure. Figures that h2surge does not count are left
// out.
func H2load(w io.Writer, r *rv.Report) error {
	var b bytes.Buffer
	q := &r.Requests
	errored := q.TimedOut + q.Reset + q.ConnectionLost + q.Dropped
	ended := q.Done + q.TimedOut + q.Reset + q.ConnectionLost
	perSecond := func(n int64) float64 {
		if r.Rate.WindowSeconds <= 0 {
			return 0
		}
		return float64(n) / r.Rate.WindowSeconds
	}
	fmt.Fprintf(&b, "\nfinished in %s, %.2f req/s, %s/s\n", h2loadTime(r.Rate.WindowSeconds*1e6), perSecond(q.Done),
		h2loadSize(int64(perSecond(r.Bytes.Received))))
	fmt.Fprintf(&b, "requests: %d total, %d started, %d done, %d succeeded, %d failed, %d errored, %d timeout\n",
		q.Sent+q.Dropped, q.Sent, ended, q.Succeeded, q.FailedChecks+errored, errored, q.TimedOut)
	classes := classesOf(r.StatusCodes)
	fmt.Fprintf(&b, "status codes: %d 2xx, %d 3xx, %d 4xx, %d 5xx\n", classes['2'], classes['3'], classes['4'],
		classes['5'])
	fmt.Fprintf(&b, "traffic: %s (%d) total\n", h2loadSize(r.Bytes.Received), r.Bytes.Received)
	if err := h2loadTimes(&b, r.Histograms); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// classesOf adds up the codes by their first digit.
func classesOf(codes map[string]int64) map[byte]int64 {
	out := map[byte]int64{}
	for code, n := range codes {
		if code != "" {
			out[code[0]] += n
		}
	}
	return out
}

func h2loadTimes(b *bytes.Buffer, in *rv.ReportHistograms) error {
	if in == nil {
		return nil // a report whose detail was dropped for its size
	}
	b.WriteString("                     min         max         mean         sd        +/- sd\n")
	for _, row := range []struct {
		name string
		from rv.Histogram
	}{
		{"time for request", in.ServiceTime},
		{"time for connect", in.Connect},
		{"time to 1st byte", in.TimeToFirstByte},
	} {
		h, err := histogram.Decode(row.from)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		sd, within := sampleDeviation(h)
		fmt.Fprintf(b, "%s: %10s  %10s  %10s  %10s%9.2f%%\n", row.name,
			h2loadTime(float64(h.Min())), h2loadTime(float64(h.Max())), h2loadTime(h.Mean()), h2loadTime(sd), within*100)
	}
	return nil
}

// sampleDeviation is the standard deviation of a sample, in microseconds, and the share of the values
// within one standard deviation of the mean. Values are those of buckets, three digits.
func sampleDeviation(h *histogram.H) (sd, within float64) {
	if n := float64(h.Count()); n > 1 {
		sd = deviation(h) * math.Sqrt(n/(n-1))
	}
	near := int64(0)
	h.Each(func(us, n int64) {
		// A bucket of one value is that value, which rounding must not put outside.
		if math.Abs(float64(us)-h.Mean()) <= sd+0.5 {
			near += n
		}
	})
	if h.Count() > 0 {
		within = float64(near) / float64(h.Count())
	}
	return sd, within
}

func h2loadTime(us float64) string {
	switch {
	case us >= 1e6:
		return fmt.Sprintf("%.2fs", us/1e6)
	case us >= 1e3:
		return fmt.Sprintf("%.2fms", us/1e3)
	}
	return fmt.Sprintf("%.0fus", us)
}

func h2loadSize(n int64) string {
	for i := 3; i > 0; i-- {
		if unit := int64(1) << (10 * i); n >= unit {
			return fmt.Sprintf("%.2f%cB", float64(n)/float64(unit), " KMG"[i])
		}
	}
	return fmt.Sprintf("%dB", n)
}

const (
	// histogramRows and histogramBar are the size of the picture, in lines and columns.
	histogramRows = 16
	histogramBar  = 40
)

// Histogram draws the distribution of response times. The limits of the rows grow by the same
// factor from the smallest time to the greatest, because times of several magnitudes are the rule.
func Histogram(w io.Writer, r *rv.Report) error {
	if r.Histograms == nil || r.Histograms.ResponseTime.Count+r.Histograms.ResponseTime.Unanswered == 0 {
		_, err := fmt.Fprint(w, "\nResponse time: nothing was measured\n")
		return err
	}
	h, err := histogram.Decode(r.Histograms.ResponseTime)
	if err != nil {
		return err
	}
	rows, most := rowsOf(h)
	all := h.Count() + h.Unanswered()
	var b bytes.Buffer
	fmt.Fprintf(&b, "\nResponse time, %d requests\n  %10s %12s %8s %8s\n", all, "up to", "requests", "part", "so far")
	seen := int64(0)
	for _, row := range rows {
		seen += row.count
		line := fmt.Sprintf("  %10s %12d %7.2f%% %7.2f%% |%s", h2loadTime(float64(row.limit)), row.count,
			100*float64(row.count)/float64(all), 100*float64(seen)/float64(all),
			strings.Repeat("#", int(math.Ceil(histogramBar*float64(row.count)/float64(most)))))
		fmt.Fprintln(&b, line)
	}
	if n := h.Unanswered(); n > 0 {
		fmt.Fprintf(&b, "  %10s %12d %7.2f%% %7.2f%% |\n", build.FormatTime(h.Quantile(1)), n, 100*float64(n)/float64(all),
			100.0)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// histogramRow counts the values above the row before and up to its limit, in microseconds.
type histogramRow struct{ limit, count int64 }

// rowsOf returns the rows of the responses, none if there are none, and the count of the longest.
func rowsOf(h *histogram.H) (rows []histogramRow, most int64) {
	if h.Count() == 0 {
		return nil, 0
	}
	least := max(float64(h.Min()), 1)
	factor := math.Pow(max(float64(h.Max()), 1)/least, 1.0/histogramRows)
	for i, limit := 1, least; i <= histogramRows; i++ {
		limit *= factor
		whole := int64(math.Ceil(limit))
		if i == histogramRows {
			whole = max(h.Max(), 1)
		}
		if len(rows) == 0 || whole > rows[len(rows)-1].limit {
			rows = append(rows, histogramRow{limit: whole})
		}
	}
	h.Each(func(us, n int64) {
		i := 0
		for i < len(rows)-1 && us > rows[i].limit {
			i++
		}
		rows[i].count += n
		most = max(most, rows[i].count)
	})
	return rows, most
}
