package verdict

import (
	"sort"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// findDrops notes the fewest dropped requests without which a maximum that failed would have held. Dropped requests
// count as errors, and as requests without a response. The limit of a time is in microseconds.
func (c *comparison) findDrops(f *build.Figures, limit float64) error {
	if c.result.Passed || c.isMinimum || c.result.Metric != runnerv1alpha1.MetricErrorRate && !c.unanswered {
		return nil
	}
	observed := f.ErrorRateWithout
	if c.unanswered {
		q, err := runnerv1alpha1.ParsePercentile(c.result.Percentile)
		if err != nil {
			return err
		}
		h, err := f.Time(c.result.Metric)
		if err != nil {
			return err
		}
		observed = func(n int64) float64 { return float64(h.QuantileWithout(q, f.Earlier+n)) }
	}
	c.dropped = f.Requests.Dropped
	all := int(c.dropped)
	if n := sort.Search(all+1, func(n int) bool { return observed(int64(n)) <= limit }); n <= all {
		c.drops = int64(n)
	}
	return nil
}

// byLimit returns whether so many requests were dropped because of the operator's limit that the threshold failed. The
// report has the causes of the whole run only. In a part of it, the limit has dropped at least what remains if all
// requests with another cause were dropped there.
func (in *input) byLimit(c *comparison) bool {
	others := in.report.Requests.Dropped - droppedFor(in.report, runnerv1alpha1.CauseRequestLimit)
	return c.drops > 0 && others <= c.spare()
}

// spare is how many of the dropped requests can have another cause than the operator's limit, if the limit is to excuse
// the failure; -1: dropped requests do not explain it.
func (c *comparison) spare() int64 {
	if c.drops == 0 {
		return -1
	}
	return c.dropped - c.drops
}

// droppedFor counts the dropped requests of measured stages that have a cause.
func droppedFor(r *runnerv1alpha1.Report, cause runnerv1alpha1.Cause) (n int64) {
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Of == runnerv1alpha1.FailureDropped && f.Cause == cause {
			n += f.Count
		}
	}
	return n
}
