package observe

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/prometheus/common/model"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// maxCause and maxLabel bound texts of a server, in bytes.
	maxCause = 256
	maxLabel = rv.MaxSeriesLabel
)

// value is the value of a series at one read.
type value struct {
	seriesID
	value float64
}

// seriesID identifies a series of an observation.
type seriesID struct {
	metric string // the name of the metric, if a query has found it
	label  string // the other labels, complete
}

// compare sorts by metric, then by label.
func (a seriesID) compare(b seriesID) int {
	return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.label, b.label))
}

// record has what was read of one observation.
type record struct {
	series []series // at most rv.MaxSeries, then that of the others
	others int      // the largest number of series that others summed up
	gaps   []rv.ObservationGap
	// open is true if the last read failed, so that the next failure is of the same gap.
	open bool
}

type series struct {
	seriesID
	points []rv.Point
}

// add adds the values of one read, before which the load was suspended or not. Values that are not numbers are left
// out.
func (r *record) add(at int64, suspended bool, values []value) {
	values = slices.DeleteFunc(values, func(v value) bool { return math.IsNaN(v.value) || math.IsInf(v.value, 0) })
	if len(values) == 0 {
		r.fail(at, "the value is not a number")
		return
	}
	r.open = false
	slices.SortFunc(values, func(a, b value) int { return a.compare(b.seriesID) })
	var sum float64
	others := 0
	for _, v := range values {
		if !r.put(at, suspended, v) {
			sum += v.value
			others++
		}
	}
	if others > 0 && !math.IsInf(sum, 0) {
		r.others = max(r.others, others)
		if len(r.series) == rv.MaxSeries {
			r.series = append(r.series, series{seriesID: seriesID{label: rv.SeriesOthers}})
		}
		r.series[rv.MaxSeries].add(at, suspended, sum)
	}
}

// put adds a value to its series. It returns false if the value is one of the others.
func (r *record) put(at int64, suspended bool, v value) bool {
	for i := range r.series {
		if r.series[i].seriesID == v.seriesID {
			r.series[i].add(at, suspended, v.value)
			return true
		}
	}
	if len(r.series) >= rv.MaxSeries {
		return false
	}
	r.series = append(r.series, series{seriesID: v.seriesID})
	r.series[len(r.series)-1].add(at, suspended, v.value)
	return true
}

func (s *series) add(at int64, suspended bool, v float64) {
	s.points = append(s.points, rv.Point{At: at, Mean: v, Max: v, Samples: 1, Suspended: suspended})
}

// fail notes a read that failed.
func (r *record) fail(at int64, cause string) {
	last := len(r.gaps) - 1
	if last >= 0 && (r.open && r.gaps[last].Cause == cause || last+1 == rv.MaxGaps) {
		r.gaps[last].To = at
		r.gaps[last].Reads++
	} else {
		r.gaps = append(r.gaps, rv.ObservationGap{From: at, To: at, Cause: cause, Reads: 1})
	}
	r.open = true
}

// join halves the number of points of each series that has more than most.
func (r *record) join(most int) {
	for i := range r.series {
		for s := &r.series[i]; len(s.points) > most; {
			s.points = halve(s.points)
		}
	}
}

// halve joins each two consecutive points.
func halve(points []rv.Point) []rv.Point {
	out := points[:0]
	for i := 0; i < len(points); i += 2 {
		p := points[i]
		if i+1 < len(points) {
			p = join(p, points[i+1])
		}
		out = append(out, p)
	}
	return out
}

// join returns a point with the samples of two. If the load was suspended for one of them only, the samples of the
// other one remain: figures of stages must not contain those of a suspension.
func join(p, q rv.Point) rv.Point {
	switch {
	case p.Suspended && !q.Suspended:
		return q
	case q.Suspended && !p.Suspended:
		return p
	}
	n := float64(p.Samples + q.Samples)
	return rv.Point{At: q.At, Mean: p.Mean*(float64(p.Samples)/n) + q.Mean*(float64(q.Samples)/n),
		Max: max(p.Max, q.Max), Samples: p.Samples + q.Samples, Suspended: p.Suspended}
}

// samples returns a copy for a snapshot. The labels have the names of metrics if the series of all reads have several.
func (r *record) samples() (out rv.ObservationSamples) {
	out.Others, out.Gaps = r.others, slices.Clone(r.gaps)
	several := slices.ContainsFunc(r.series[:min(len(r.series), rv.MaxSeries)], func(s series) bool {
		return s.metric != r.series[0].metric
	})
	for i := range r.series {
		s := &r.series[i]
		label := s.label
		if several && s.metric != "" {
			label = strings.TrimSuffix(pair(model.MetricNameLabel, s.metric)+","+label, ",")
		}
		out.Series = append(out.Series, rv.SeriesSamples{Label: labelInReport(label), Points: slices.Clone(s.points)})
	}
	return out
}

// pair returns the name and the value of a label. Each is quoted if it could look like several labels, because two
// series of an observation must not have the same label.
func pair(name, v string) string { return quoted(name) + "=" + quoted(v) }

func quoted(text string) string {
	if strings.ContainsAny(text, `,="`) {
		return strconv.Quote(text)
	}
	return text
}

// labelInReport returns a label with at most maxLabel bytes and without control characters. A label that had to change
// ends with its checksum, because two series of an observation must not have the same label.
func labelInReport(label string) string {
	if clean(label, maxLabel) == label {
		return label
	}
	end := fmt.Sprintf(" #%08x", crc32.ChecksumIEEE([]byte(label)))
	return clean(label, maxLabel-len(end)) + end
}

// clean returns a text of a server without control characters, with at most so many bytes.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("...")], "") + "..."
	}
	return text
}
