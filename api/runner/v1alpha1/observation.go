package v1alpha1

import "time"

// Observation is a figure of a target that one runner reads while the test runs. Exactly one of Query and Scrape is
// set.
type Observation struct {
	Name string `json:"name"`
	// Unit of the values, such as Cores. Reports show it, and nothing converts the values.
	Unit string `json:"unit"`
	// Target is 1 plus the index in Plan.Targets of the target whose first endpoint, TLS and Auth are used. Zero: Endpoint
	// is used, without credentials.
	Target   int       `json:"target,omitempty"`
	Endpoint *Endpoint `json:"endpoint,omitempty"`
	// Query is a query of a Prometheus server in PromQL.
	Query  string  `json:"query,omitempty"`
	Scrape *Scrape `json:"scrape,omitempty"`
	// Interval is the time between two reads.
	Interval time.Duration `json:"interval"`
}

// Scrape is a metric that a target serves in the text format of Prometheus or OpenMetrics.
type Scrape struct {
	Path   string `json:"path"`
	Metric string `json:"metric"`
	// Labels are the labels that a series must have.
	Labels map[string]string `json:"labels,omitempty"`
	// Quantile is that of a histogram or a summary; nil: the metric is neither.
	Quantile *float64 `json:"quantile,omitempty"`
}

// SeriesOthers is the label of the series that is the sum of the series above MaxSeries.
const SeriesOthers = "others"

// The bounds of what a runner keeps of observations.
const (
	// MaxSeries is the largest number of series of an observation, without SeriesOthers.
	MaxSeries = 16
	// MaxSeriesLabel is the largest length of SeriesSamples.Label in octets.
	MaxSeriesLabel = 128
	// MaxGaps is the largest number of gaps of an observation.
	MaxGaps = 16
	// maxPoints is the number of points of all series together, if none has its least or most points.
	maxPoints               = 2048
	leastPoints, mostPoints = 16, 720
)

// PointsOf returns the largest number of points of a series if all observations have so many series together. Above it,
// a runner joins each two consecutive points.
func PointsOf(series int) int { return min(max(maxPoints/max(series, 1), leastPoints), mostPoints) }

// ObservationSamples is what a runner has read of an observation.
type ObservationSamples struct {
	Series []SeriesSamples `json:"series,omitempty"`
	// Others and Gaps are those of ObservationResult.
	Others int              `json:"others,omitempty"`
	Gaps   []ObservationGap `json:"gaps,omitempty"`
}

// SeriesSamples are the samples of one series, in the order of time.
type SeriesSamples struct {
	Label  string  `json:"label,omitempty"`
	Points []Point `json:"points"`
}

// ObservationResult is what was read of an observation. Report.Observations has one for each of Plan.Observe, in its
// order.
type ObservationResult struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Series are sorted by Label, with SeriesOthers as the last one. Empty: nothing was read.
	Series []SeriesResult `json:"series,omitempty"`
	// Others is the largest number of series that SeriesOthers sums up; 0: it does not exist.
	Others int `json:"others,omitempty"`
	// Gaps are the times without a sample, in their order. There are at most MaxGaps; the last one contains the rest.
	Gaps []ObservationGap `json:"gaps,omitempty"`
}

// SeriesResult is one series of an observation.
type SeriesResult struct {
	// Label is the series' labels, such as "pod=a" or "mode=user,pod=a". Empty: the series has no labels. A label that had
	// to change, because it was longer than MaxSeriesLabel or had control characters, ends with a checksum.
	Label string `json:"label,omitempty"`
	// Figures are those of the measured stages.
	Figures SeriesFigures `json:"figures,omitzero"`
	// Stages has one entry for each of Report.Stages, in its order.
	Stages []SeriesFigures `json:"stages,omitempty"`
	// Points are the samples of the run, those of warm-up, pauses and suspensions too, in the order of time.
	Points []Point `json:"points,omitempty"`
}

// SeriesFigures sum up samples of a series. All are zero if Samples is zero.
type SeriesFigures struct {
	// Samples is the number of samples.
	Samples int64   `json:"samples"`
	Mean    float64 `json:"mean"`
	P95     float64 `json:"p95"`
	Max     float64 `json:"max"`
}

// Point is one sample of a series, or several consecutive ones if a run has too many for one Point each. Those under
// load then replace those of a suspension next to them.
type Point struct {
	// At is the time of the last sample, in milliseconds since the start, on the axis of Window.From and Window.To.
	At int64 `json:"at"`
	// Mean and Max are those of the samples, and Samples is their number.
	Mean    float64 `json:"mean"`
	Max     float64 `json:"max"`
	Samples int64   `json:"samples"`
	// Suspended is true if the load was suspended when the samples were read. They belong to no stage.
	Suspended bool `json:"suspended,omitempty"`
}

// ObservationGap is a time in which an observation has no samples.
type ObservationGap struct {
	// From and To are in milliseconds since the start: the times of the first and the last read that failed.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Cause is the error of the first of these reads, and Reads is their number.
	Cause string `json:"cause"`
	Reads int64  `json:"reads"`
}
