package metric

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestSet(t *testing.T) {
	s := NewSet("app_")
	made := []*prometheus.Desc{
		s.Counter("sent_total", "Sent.", "step"), s.Gauge("workers", "Workers."), s.Histogram("time_seconds", "Time.", "chain", "step"),
	}
	want := []Family{
		{Name: "app_sent_total", Type: Counter, Help: "Sent.", Labels: []string{"step"}},
		{Name: "app_workers", Type: Gauge, Help: "Workers."},
		{Name: "app_time_seconds", Type: Histogram, Help: "Time.", Labels: []string{"chain", "step"}},
	}
	if diff := cmp.Diff(want, s.Families()); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
	descs := make(chan *prometheus.Desc, len(made))
	s.Describe(descs)
	for _, d := range made {
		if got := <-descs; got != d {
			t.Errorf("described %v, want %v", got, d)
		}
	}
}
