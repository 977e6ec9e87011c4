// Package metric lists the metrics of a program, for those who collect them and for docs/reference/metrics.md, so that
// neither can have one that the other has not.
package metric

import (
	"errors"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Type of a metric.
type Type string

// The types in use.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Family is all series of one name.
type Family struct {
	Name string
	Type Type
	Help string
	// Labels that every series of it has, in the order in which a Desc wants their values.
	Labels []string
}

// Set has metrics whose names begin alike. It is filled once, by variables of a package, and not changed after.
type Set struct {
	prefix   string
	families []Family
	descs    []*prometheus.Desc
}

// NewSet returns an empty one; prefix ends in an underscore.
func NewSet(prefix string) *Set { return &Set{prefix: prefix} }

// Counter adds a counter.
func (s *Set) Counter(name, help string, labels ...string) *prometheus.Desc {
	return s.add(Counter, name, help, labels)
}

// Gauge adds a gauge.
func (s *Set) Gauge(name, help string, labels ...string) *prometheus.Desc {
	return s.add(Gauge, name, help, labels)
}

// Histogram adds a histogram.
func (s *Set) Histogram(name, help string, labels ...string) *prometheus.Desc {
	return s.add(Histogram, name, help, labels)
}

func (s *Set) add(kind Type, name, help string, labels []string) *prometheus.Desc {
	f := Family{Name: s.prefix + name, Type: kind, Help: help, Labels: labels}
	d := prometheus.NewDesc(f.Name, help, labels, nil)
	s.families, s.descs = append(s.families, f), append(s.descs, d)
	return d
}

// Families are all metrics, in the order in which they were added.
func (s *Set) Families() []Family { return slices.Clone(s.families) }

// Describe is that of a prometheus.Collector of all of them.
func (s *Set) Describe(to chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		to <- d
	}
}

// Register adds c to a registry and returns it, or the collector of the same metrics that is there: a process may have
// several managers, one after another.
func Register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	var already prometheus.AlreadyRegisteredError
	if err := reg.Register(c); errors.As(err, &already) {
		return already.ExistingCollector.(C)
	} else if err != nil {
		panic(err) // two metrics of one name: a mistake in the code
	}
	return c
}
