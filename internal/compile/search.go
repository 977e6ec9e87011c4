package compile

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// afterProbes is the name of the stage after the last probe. It never starts: the search has ended then.
const afterProbes = "after-probes"

// search adds the stages of the probes. Each probe waits for the operator or the command line, which choose its rate.
func (c *planner) search() {
	s := c.spec.Search
	if s == nil {
		return
	}
	path := specPath.Child("search")
	start, most := c.searchLoads(path)
	precision, err := strconv.ParseFloat(strings.TrimSuffix(s.Precision, "%"), 64)
	if err != nil || precision < 0.1 {
		c.fail(path.Child("precision"), "must be at least 0.1%%")
	}
	for i := range c.spec.Thresholds {
		t := &c.spec.Thresholds[i]
		if t.Stage != "" || t.Window != nil || t.AbortOnFail {
			c.fail(specPath.Child("thresholds").Index(i),
				"stage, window and abortOnFail are not allowed with search, which compares the figures of each probe")
		}
	}
	c.plan.Search = &runnerv1alpha1.Search{
		Concurrency: s.Load == v1alpha1.SearchConcurrency, Start: start, Min: s.Min, Max: most, Precision: precision / 100,
		MaxProbes: int(s.MaxProbes),
		Settle:    s.SettleDuration.Duration, Duration: s.ProbeDuration.Duration, FirstStage: len(c.plan.Rates),
	}
	c.probes(c.plan.Search)
	own := map[string]bool{}
	for _, r := range c.plan.Rates[c.plan.Search.FirstStage:] {
		own[r.Name] = true
	}
	for i := range c.spec.Rates {
		if own[c.spec.Rates[i].Name] {
			c.fail(specPath.Child("rates").Index(i).Child("name"), "%q is the name of a stage of search", c.spec.Rates[i].Name)
		}
	}
}

// Loads of the first probe, if start is not given.
const (
	defaultStartRate        = 1000
	defaultStartConcurrency = 16
)

// searchLoads returns the load of the first probe and the highest one.
func (c *planner) searchLoads(path *field.Path) (start, most int64) {
	s := c.spec.Search
	_, limit := Range("search.max")
	start = defaultStartRate
	if s.Load == v1alpha1.SearchConcurrency {
		start = defaultStartConcurrency
		limit = int64(c.streamsOfMix())
		for _, f := range []struct {
			name string
			load int64
		}{{"min", s.Min}, {"max", s.Max}} {
			if f.load > limit {
				c.fail(path.Child(f.name), "must be at most %d, the number of requests that the connections of all targets together carry at a time; raise connections or maxConcurrentStreams", limit)
			}
		}
	}
	most = cmp.Or(s.Max, max(limit, s.Min))
	start = cmp.Or(s.Start, min(max(start, s.Min), most))
	switch {
	case most < s.Min:
		c.fail(path.Child("max"), "max must be at least min")
	case start < s.Min:
		c.fail(path.Child("start"), "start must be at least min")
	case start > most:
		c.fail(path.Child("start"), "start must be at most max")
	}
	return start, most
}

// probes appends the stages: for each probe a warm-up stage, unless it does not settle, and a measured one.
func (c *planner) probes(s *runnerv1alpha1.Search) {
	stage := func(name string, lasts time.Duration, warmUp, hold bool) {
		r := runnerv1alpha1.Rate{Name: name, Count: s.Start, Period: time.Second, Duration: lasts, WarmUp: warmUp, Hold: hold}
		if s.Concurrency {
			r.ClosedLoop, r.Period = true, 0
		}
		c.plan.Rates = append(c.plan.Rates, r)
	}
	for i := 1; i <= s.MaxProbes; i++ {
		if s.Settle > 0 {
			stage(fmt.Sprintf("settle-%d", i), s.Settle, true, true)
		}
		stage(fmt.Sprintf("probe-%d", i), s.Duration, false, s.Settle == 0)
	}
	stage(afterProbes, time.Second, false, true)
}
