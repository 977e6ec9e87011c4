package compile

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// afterProbes is the name of the stage after the last probe. It never starts: the search has ended then.
const afterProbes = "after-probes"

// search adds the stages of the probes. Each probe waits for the operator or the command line, which choose its rate.
func (c *compiler) search() {
	s := c.spec.Search
	if s == nil {
		return
	}
	path := specPath.Child("search")
	if s.Start < s.Min {
		c.fail(path.Child("start"), "start must be at least min")
	}
	if s.Start > s.Max {
		c.fail(path.Child("start"), "start must be at most max")
	}
	precision, err := strconv.ParseFloat(strings.TrimSuffix(s.Precision, "%"), 64)
	if err != nil || precision < 0.1 {
		c.fail(path.Child("precision"), "must be at least 0.1%%")
	}
	for i := range c.spec.Thresholds {
		t := &c.spec.Thresholds[i]
		if t.Target+t.Chain+t.Step+string(t.StatusClass)+t.Stage != "" || t.Window != nil || t.AbortOnFail {
			c.fail(specPath.Child("thresholds").Index(i), "target, chain, step, statusClass, stage, window and abortOnFail are not allowed with search, which compares all requests of a probe")
		}
	}
	c.plan.Search = &runnerv1alpha1.Search{
		Start: s.Start, Min: s.Min, Max: s.Max, Precision: precision / 100, MaxProbes: int(s.MaxProbes),
		Settle: s.SettleDuration.Duration, Duration: s.ProbeDuration.Duration, FirstStage: len(c.plan.Rates),
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

// probes appends the stages: for each probe a warm-up stage, unless it does not settle, and a measured one.
func (c *compiler) probes(s *runnerv1alpha1.Search) {
	stage := func(name string, lasts time.Duration, warmUp, hold bool) {
		c.plan.Rates = append(c.plan.Rates, runnerv1alpha1.Rate{
			Name: name, Count: s.Start, Period: time.Second, Duration: lasts, WarmUp: warmUp, Hold: hold,
		})
	}
	for i := 1; i <= s.MaxProbes; i++ {
		if s.Settle > 0 {
			stage(fmt.Sprintf("settle-%d", i), s.Settle, true, true)
		}
		stage(fmt.Sprintf("probe-%d", i), s.Duration, false, s.Settle == 0)
	}
	stage(afterProbes, time.Second, false, true)
}
