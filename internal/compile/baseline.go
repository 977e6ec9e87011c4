package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// compared are the metrics that h2surge compare judges.
var compared = []v1alpha1.ThresholdMetric{v1alpha1.MetricResponseTime, v1alpha1.MetricErrorRate, v1alpha1.MetricRate,
	v1alpha1.MetricChainsAborted, v1alpha1.MetricNotificationTime, v1alpha1.MetricNotificationErrorRate}

// baseline compiles a threshold with a baseline. The rules of the CRD are the same.
func (c *planner) baseline(at *field.Path, t *v1alpha1.Threshold) {
	if (t.Baseline != nil) != (t.MaxIncrease != "") {
		c.fail(at, "baseline and maxIncrease are allowed together only")
	}
	if t.Baseline == nil {
		return
	}
	if !slices.Contains(compared, t.Metric) {
		c.fail(at, "baseline is allowed with ResponseTime, ErrorRate, Rate, ChainsAborted, NotificationTime and NotificationErrorRate only")
	}
	if t.Target != "" || t.Chain != "" || t.StatusClass != "" || t.Stage != "" || t.Window != nil || t.AbortOnFail ||
		t.Step != "" && t.Metric == v1alpha1.MetricRate {
		c.fail(at, "target, chain, statusClass, stage, window, abortOnFail, and step with Rate are not allowed with baseline")
	}
	if !comparedPercentile(t) {
		c.fail(at, "percentile with baseline must be p50, p90 or p99, or for ResponseTime of the whole run p95 or p99.9")
	}
	if strings.HasPrefix(string(t.Metric), "Notification") && t.Listener == "" {
		c.fail(at, "baseline needs listener with NotificationTime and NotificationErrorRate")
	}
	if c.spec.Search != nil {
		c.fail(at.Child("baseline"), "baseline is not allowed with search, which compares the figures of each probe")
	}
	out := runnerv1alpha1.Baseline{Name: t.Name, Metric: runnerv1alpha1.Metric(t.Metric), Percentile: t.Percentile,
		Of: c.selector(at, t), MaxIncrease: t.MaxIncrease, BaselineSource: sourceOf(t.Baseline)}
	c.plan.Baselines = append(c.plan.Baselines, out)
}

func comparedPercentile(t *v1alpha1.Threshold) bool {
	switch t.Percentile {
	case "", "p50", "p90", "p99":
		return true
	case "p95", "p99.9":
		return t.Metric == v1alpha1.MetricResponseTime && t.Step == ""
	}
	return false
}

// InCluster returns an error for each field that only the command line can follow.
func InCluster(spec *v1alpha1.LoadTestSpec) (errs field.ErrorList) {
	for i := range spec.Thresholds {
		if b := spec.Thresholds[i].Baseline; b != nil && b.Report != nil && b.Report.File != "" {
			errs = append(errs, field.Invalid(specPath.Child("thresholds").Index(i).Child("baseline", "report", "file"),
				field.OmitValueType{}, "the operator cannot read a file; use configMapRef"))
		}
	}
	return append(errs, runnerPorts(spec)...)
}

// BaselineField is the source of a baseline and the field of the spec that names it.
type BaselineField struct {
	runnerv1alpha1.BaselineSource
	Field *field.Path
}

// Baselines lists the different sources of the baselines of a spec, in its order, for the command line.
func Baselines(spec *v1alpha1.LoadTestSpec) (out []BaselineField) {
	for i := range spec.Thresholds {
		b := spec.Thresholds[i].Baseline
		if b == nil {
			continue
		}
		s := sourceOf(b)
		if !slices.ContainsFunc(out, func(f BaselineField) bool { return f.BaselineSource == s }) {
			out = append(out, BaselineField{s, specPath.Child("thresholds").Index(i).Child("baseline")})
		}
	}
	return out
}

func sourceOf(b *v1alpha1.Baseline) (out runnerv1alpha1.BaselineSource) {
	out.Schedule = b.Schedule
	if r := b.Report; r != nil {
		out.File = r.File
		if r.ConfigMapRef != nil {
			out.ConfigMap = r.ConfigMapRef.Name
		}
	}
	return out
}
