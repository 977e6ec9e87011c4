package compile

import (
	"math/big"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

var (
	quantilePattern = regexp.MustCompile(`^(0\.[0-9]*[1-9][0-9]*|1(\.0*)?)$`)
	decimalPattern  = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	durationPattern = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`)
)

func (c *compiler) thresholds() {
	path := field.NewPath("spec", "thresholds")
	c.items(path, len(c.spec.Thresholds), 0, 64)
	index := map[string]int{}
	for i := range c.spec.Thresholds {
		t := &c.spec.Thresholds[i]
		at := path.Index(i)
		c.dashName(at.Child("name"), t.Name)
		c.unique(at.Child("name"), index, t.Name, i)
		c.threshold(at, t)
		c.plan.Thresholds = append(c.plan.Thresholds, runnerv1alpha1.Threshold{
			Name: t.Name, Metric: runnerv1alpha1.Metric(t.Metric), Quantile: t.Quantile, Max: t.Max, Min: t.Min,
		})
	}
}

func (c *compiler) threshold(at *field.Path, t *v1alpha1.Threshold) {
	var check func(*field.Path, string)
	isTime := false
	switch runnerv1alpha1.Metric(t.Metric) {
	case runnerv1alpha1.MetricResponseTime, runnerv1alpha1.MetricServiceTime, runnerv1alpha1.MetricTimeToFirstByte:
		isTime, check = true, c.timeLimit
	case runnerv1alpha1.MetricErrorRatio:
		check = c.ratioLimit
	case runnerv1alpha1.MetricRate:
		check = c.decimalLimit
	default:
		c.fail(at.Child("metric"), "must be one of responseTime, serviceTime, timeToFirstByte, errorRatio, rate")
		return
	}
	if isTime != (t.Quantile != "") {
		c.fail(at, "quantile goes with responseTime, serviceTime and timeToFirstByte, and only with them")
	}
	if t.Quantile != "" && c.length(at.Child("quantile"), t.Quantile, 16) && !quantilePattern.MatchString(t.Quantile) {
		c.fail(at.Child("quantile"), "must be a decimal above 0 and at most 1, such as 0.99")
	}
	if (t.Max != "") == (t.Min != "") {
		c.fail(at, "exactly one of max and min is needed")
	}
	c.limit(at.Child("max"), t.Max, check)
	c.limit(at.Child("min"), t.Min, check)
}

func (c *compiler) limit(path *field.Path, limit string, check func(*field.Path, string)) {
	if limit != "" && c.length(path, limit, 32) {
		check(path, limit)
	}
}

func (c *compiler) timeLimit(path *field.Path, limit string) {
	d, err := time.ParseDuration(limit)
	if err != nil || !durationPattern.MatchString(limit) || d < 0 {
		c.fail(path, "max and min of a time must be a duration such as 20ms")
	}
}

func (c *compiler) decimalLimit(path *field.Path, limit string) {
	if !decimalPattern.MatchString(limit) {
		c.fail(path, "max and min of errorRatio and rate must be a decimal such as 0.001")
	}
}

// ratioLimit refuses more than 1, which is a percentage by mistake.
func (c *compiler) ratioLimit(path *field.Path, limit string) {
	c.decimalLimit(path, limit)
	if !decimalPattern.MatchString(limit) {
		return
	}
	if r, ok := new(big.Rat).SetString(limit); ok && r.Cmp(big.NewRat(1, 1)) > 0 {
		c.fail(path, "max and min of errorRatio must be at most 1: it is a ratio, not a percentage")
	}
}
