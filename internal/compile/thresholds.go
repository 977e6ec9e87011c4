package compile

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/lazy"
)

// The patterns are those of the CRD. durationPattern is the one of all other durations.
var (
	percentagePattern = lazy.Regexp(`^(100(\.0{1,9})?|[0-9]{1,2}(\.[0-9]{1,9})?)%$`)
	rateLimitPattern  = lazy.Regexp(`^[0-9]{1,12}(\.[0-9]{1,9})?$`)
	durationPattern   = lazy.Regexp(`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`)
	timePattern       = lazy.Regexp(`^([0-9]{1,12}(\.[0-9]{1,9})?(ns|us|\x{b5}s|ms|s|m|h)){1,6}$`)
)

func (c *compiler) thresholds() {
	path := field.NewPath("spec", "thresholds")
	for i := range c.spec.Thresholds {
		t := &c.spec.Thresholds[i]
		at := path.Index(i)
		c.threshold(at, t)
		c.plan.Thresholds = append(c.plan.Thresholds, runnerv1alpha1.Threshold{
			Name: t.Name, Metric: runnerv1alpha1.Metric(t.Metric), Percentile: t.Percentile, Max: limitText(t.Max), Min: limitText(t.Min),
		})
	}
}

func limitText(limit *intstr.IntOrString) string {
	if limit == nil {
		return ""
	}
	return limit.String()
}

func (c *compiler) threshold(at *field.Path, t *v1alpha1.Threshold) {
	var check func(*field.Path, *intstr.IntOrString)
	isTime := false
	switch t.Metric {
	case v1alpha1.MetricResponseTime, v1alpha1.MetricServiceTime, v1alpha1.MetricTimeToFirstByte:
		isTime, check = true, c.timeLimit
	case v1alpha1.MetricErrorRate:
		check = c.errorLimit
	case v1alpha1.MetricRate:
		check = c.rateLimit
	default:
		return
	}
	switch {
	case isTime && t.Percentile == "":
		c.fail(at, "percentile is needed with ResponseTime, ServiceTime and TimeToFirstByte")
	case !isTime && t.Percentile != "":
		c.fail(at, "percentile is allowed with ResponseTime, ServiceTime and TimeToFirstByte only")
	}
	if t.Max != nil {
		check(at.Child("max"), t.Max)
	}
	if t.Min != nil {
		check(at.Child("min"), t.Min)
	}
}

func (c *compiler) timeLimit(path *field.Path, limit *intstr.IntOrString) {
	_, err := time.ParseDuration(limit.StrVal)
	if limit.Type != intstr.String || err != nil || !timePattern().MatchString(limit.StrVal) {
		c.fail(path, "max and min of a time must be a duration such as 20ms")
	}
}

func (c *compiler) errorLimit(path *field.Path, limit *intstr.IntOrString) {
	if limit.Type != intstr.String || !percentagePattern().MatchString(limit.StrVal) {
		c.fail(path, "max and min of ErrorRate must be a percentage such as 0.1%%, at most 100%%")
	}
}

func (c *compiler) rateLimit(path *field.Path, limit *intstr.IntOrString) {
	if !rateLimitPattern().MatchString(limit.String()) {
		c.fail(path, "max and min of Rate must be a number such as 1000")
	}
}
