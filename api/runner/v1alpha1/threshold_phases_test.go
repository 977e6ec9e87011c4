package v1alpha1

import (
	"reflect"
	"testing"
)

// TestMetricsOfTargets: the times of targets have the names of the fields, and the index of their distributions.
func TestMetricsOfTargets(t *testing.T) {
	var times TargetTimes
	v := reflect.ValueOf(&times).Elem()
	for k, d := range times.Distributions() {
		name := v.Type().Field(k).Name
		if v.Field(k).Addr().Interface() != d {
			t.Errorf("distribution %d is not %s", k, name)
		}
		if m := Metric(name); m.OfTargets() != k || !m.IsTime() || m.IsCount() {
			t.Errorf("%s: index %d, want %d; time %v, count %v", name, m.OfTargets(), k, m.IsTime(), m.IsCount())
		}
	}
	for _, m := range []Metric{MetricResponseTime, MetricLag, MetricRate, "Other"} {
		if got := m.OfTargets(); got != -1 {
			t.Errorf("%s: index %d, want -1", m, got)
		}
	}
}
