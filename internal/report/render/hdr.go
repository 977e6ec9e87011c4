package render

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// HistogramLog writes the distributions of the report as an HdrHistogram log, version 1.3. Each time but the response
// time has one interval, which is the whole run, and the name of the JSON as its tag. The response time has an
// interval for each window, without a tag, because the log processor of HdrHistogram reads intervals without a tag
// unless it is asked for a tag. Values are microseconds; the maximum in front of them is in milliseconds.
func HistogramLog(w io.Writer, r *runnerv1alpha1.Report) error {
	var b bytes.Buffer
	b.WriteString("#[Logged with h2surge " + r.Version +
		", values in microseconds]\n#[Histogram log format version 1.3]\n")
	seconds := r.Rate.WindowSeconds
	if start, err := time.Parse(time.RFC3339, r.StartTime); err == nil {
		at := strconv.FormatFloat(float64(start.UnixMilli())/1000, 'f', -1, 64)
		fmt.Fprintf(&b, "#[StartTime: %s (seconds since epoch), %s]\n#[BaseTime: %s (seconds since epoch)]\n", at,
			r.StartTime, at)
		if end, err := time.Parse(time.RFC3339, r.EndTime); err == nil {
			seconds = end.Sub(start).Seconds()
		}
	}
	b.WriteString("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n")
	all := timesOf(r)
	windows := windowsAddUp(r, all[0].stored.Count)
	left := all[0].stored.Unanswered
	var errs []error
	if !windows {
		errs = append(errs, logInterval(&b, "", 0, seconds, all[0].stored))
	}
	for _, of := range all[1:] {
		errs = append(errs, logInterval(&b, "Tag="+of.json+",", 0, seconds, of.stored))
	}
	if windows {
		for i := range r.Windows {
			o := &r.Windows[i]
			left -= o.Histogram.Unanswered
			errs = append(errs, logInterval(&b, "", float64(o.From)/1000, float64(o.To-o.From)/1000, &o.Histogram))
		}
		// Requests in flight at the end are in no window.
		errs = append(errs, logInterval(&b, "", seconds, 0, &runnerv1alpha1.Histogram{Unanswered: max(0, left)}))
	}
	return finish(w, &b, "histograms as a log", errors.Join(errs...))
}

// windowsAddUp returns true if the windows have all response times. A report that was too large has no distributions
// in its windows, and those of an operator that took over the run lack its beginning.
func windowsAddUp(r *runnerv1alpha1.Report, count int64) bool {
	for i := range r.Windows {
		count -= r.Windows[i].Histogram.Count
	}
	return count == 0
}

// logInterval writes a line of the log, unless there are no requests. Requests without a response have the highest
// value of the format, which is an hour, because the format has no other place for them.
func logInterval(b *bytes.Buffer, tag string, from, seconds float64, of *runnerv1alpha1.Histogram) error {
	if of.Unanswered > 0 {
		h, err := histogram.Decode(*of)
		if err != nil {
			return err
		}
		h.RecordN(histogram.Highest, h.Unanswered())
		with := h.Encode()
		of = &with
	}
	if of.Count > 0 {
		fmt.Fprintf(b, "%s%.3f,%.3f,%.3f,%s\n", tag, from, seconds, float64(of.Max)/1000,
			base64.StdEncoding.EncodeToString(of.Counts))
	}
	return nil
}

// Percentiles writes the distribution of response times in HdrHistogram's text form, which its plotter reads: in
// milliseconds, five rows for each halving of the distance to 100%.
func Percentiles(w io.Writer, r *runnerv1alpha1.Report) error {
	h, err := histogram.New(), error(nil)
	if r.Histograms != nil {
		h, err = histogram.Decode(r.Histograms.ResponseTime)
	}
	if err != nil {
		return finish(w, nil, "percentiles of the response time", err)
	}
	h.RecordN(histogram.Highest, h.Unanswered())
	var b bytes.Buffer
	fmt.Fprintf(&b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	percentileRows(&b, h)
	fmt.Fprintf(&b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", h.Mean()/1000, deviation(h)/1000)
	fmt.Fprintf(&b, "#[Max     = %12.3f, Total count    = %12d]\n", float64(h.Max())/1000, h.Count())
	fmt.Fprintf(&b, "#[Buckets = %12d, SubBuckets     = %12d]\n", hdrBuckets, hdrSubBuckets)
	return finish(w, &b, "percentiles of the response time", nil)
}

// The size of a histogram of 1 us to 1 h with 3 significant digits.
const (
	hdrBuckets    = 22
	hdrSubBuckets = 2048
)

// ticksPerHalf is how many rows each halving of the distance to 100 % has, as in HdrHistogram's tools.
const ticksPerHalf = 5

// percentileRows writes a row for each level of the percentile that a bucket reaches. The last row is 100%. Levels
// are percentages, because these are exact in binary.
func percentileRows(b *bytes.Buffer, h *histogram.H) {
	level, seen := 0.0, int64(0)
	h.Each(func(highest, count int64) {
		seen += count
		for 100*float64(seen)/float64(h.Count()) >= level {
			fmt.Fprintf(b, "%12.3f %14.12f %10d %14.2f\n", float64(highest)/1000, level/100, seen, 100/(100-level))
			if level = nextLevel(level); seen == h.Count() {
				break
			}
		}
	})
	if seen > 0 {
		fmt.Fprintf(b, "%12.3f %14.12f %10d\n", float64(h.Max())/1000, 1.0, seen)
	}
}

// nextLevel returns 10 after 0, and 55 after 50.
func nextLevel(level float64) float64 {
	halvings := math.Floor(math.Log2(100/(100-level))) + 1
	return level + 100/(ticksPerHalf*math.Pow(2, halvings))
}

// deviation is the standard deviation, in microseconds.
func deviation(h *histogram.H) float64 {
	if h.Count() == 0 {
		return 0
	}
	var sum float64
	h.Each(func(highest, count int64) {
		d := float64(highest) - h.Mean()
		sum += d * d * float64(count)
	})
	return math.Sqrt(sum / float64(h.Count()))
}
