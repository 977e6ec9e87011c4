package compile

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
	"github.com/h2surge/h2surge/internal/lazy"
)

// metricPattern is the pattern of names of metrics.
var metricPattern = lazy.Regexp(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

func (c *compiler) observe() {
	path := specPath.Child("observe")
	c.observed = map[int]bool{}
	for i := range c.spec.Observe {
		in, at := &c.spec.Observe[i], path.Index(i)
		out := rv.Observation{Name: in.Name, Unit: string(in.Unit), Interval: defaultObserve}
		switch {
		case in.Prometheus != nil && in.Scrape == nil:
			c.query(at.Child("prometheus"), in.Prometheus, &out)
		case in.Scrape != nil && in.Prometheus == nil:
			c.scrape(at.Child("scrape"), in.Scrape, &out)
		}
		c.plan.Observe = append(c.plan.Observe, out)
	}
	if c.spec.OTLP != nil {
		c.plan.OTLP = c.observedTarget(specPath.Child("otlp", "target"), c.spec.OTLP.Target)
	}
}

func (c *compiler) query(at *field.Path, in *v1alpha1.ObservationQuery, out *rv.Observation) {
	out.Query, out.Interval = in.Query, in.Interval.Duration
	if strings.TrimSpace(in.Query) == "" {
		c.fail(at.Child("query"), "must be a query in PromQL")
	}
	if in.Target != "" {
		out.Target = c.observedTarget(at.Child("target"), in.Target)
		return
	}
	e, err := endpoint.Parse(in.URL)
	if err != nil && in.URL != "" {
		c.fail(at.Child("url"), "%v", err)
	}
	out.Endpoint = &e
}

func (c *compiler) scrape(at *field.Path, in *v1alpha1.ObservationScrape, out *rv.Observation) {
	out.Target = c.observedTarget(at.Child("target"), in.Target)
	out.Scrape = &rv.Scrape{Path: in.Path, Metric: in.Metric, Labels: in.Labels}
	if !metricPattern().MatchString(in.Metric) {
		c.fail(at.Child("metric"), "must be letters, digits, _ and colons, not beginning with a digit")
	}
	if in.Quantile != "" {
		q, err := strconv.ParseFloat(in.Quantile, 64)
		if err != nil {
			return // the pattern reports it
		}
		out.Scrape.Quantile = &q
	}
}

// observedTarget returns 1 plus the index of a target that observations or OTLP use, or 0 if it does not exist.
func (c *compiler) observedTarget(at *field.Path, name string) int {
	i, exists := c.targetIndex[name]
	if !exists {
		c.missing(at, "target", name)
		return 0
	}
	c.observed[i] = true
	return i + 1
}

// observationOf checks the observation of a threshold.
func (c *planner) observationOf(at *field.Path, t *v1alpha1.Threshold) {
	if (t.Observation != "") != (t.Metric == v1alpha1.MetricObserved) {
		c.fail(at, "observation and metric Observed go together")
		return
	}
	if t.PerUnit && t.Observation == "" {
		c.fail(at, "perUnit is allowed with Observed only")
	}
	var names []string
	for i := range c.plan.Observe {
		names = append(names, c.plan.Observe[i].Name)
	}
	if t.Observation != "" {
		c.nameOf(at.Child("observation"), "observation", t.Observation, names)
	}
}
