package h2loadrunner

import (
	"fmt"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// noDuration is what is taken when nothing bounds the test, the schema's default.
const noDuration = time.Minute

// load makes rates and runner.
func (c *converter) load() {
	warmUp, duration := c.span("warm-up-time"), c.span("duration")
	requests := c.top.Whole("total-requests", 0)
	switch {
	case duration > 0 && requests > 0:
		c.Warn("total-requests", "is ignored with duration and left out")
	case duration == 0 && requests == 0:
		duration = noDuration
		c.WarnAt("spec.rates", "duration",
			"neither it nor total-requests is there; a minute is taken, as h2loadrunner's schema says")
	case duration == 0 && warmUp > 0:
		c.WarnAt("spec.rates", "warm-up-time", "has no meaning with total-requests and is left out")
		warmUp = 0
	}
	rates := stages(warmUp, duration, requests)
	each := c.top.Number("request-per-second", 0)
	for i := range rates {
		if !convert.SetRate(&rates[i], each*float64(c.clients)) {
			c.Fail("request-per-second", "%g for each of %d connections is a rate that no stage can have", each, c.clients)
		}
	}
	if each > 0 && c.clients != 1 {
		c.WarnAt("spec.rates", "request-per-second", "is for each connection; here the rate is that of all %d together",
			c.clients)
	}
	if each > 0 {
		c.Warn("request-per-second", "requests whose time has come wait for a free stream and are sent late, not left out; their waiting counts in responseTime")
	}
	c.Spec().Rates = rates
	last := len(rates) - 1
	c.Origin("spec.rates", "duration")
	if duration == 0 {
		c.Origin(fmt.Sprintf("spec.rates[%d].requests", last), "total-requests")
	}
	if threads := c.top.Whole("threads", 1); threads > 1 {
		c.Spec().Runner = v1alpha1.Runner{CPUsPerShard: new(clamp(threads))}
		c.WarnAt("spec.runner", "threads", "are workers on CPUs of their own, which the pod asks for")
		c.Origin("spec.runner", "threads")
	}
	c.timeout = c.top.Whole("stream-timeout", 0)
	if c.timeout > 0 && c.main().Protocol == v1alpha1.ProtocolHTTP1 {
		c.Warn("stream-timeout", "holds for HTTP/1.1 here too")
	}
}

func (c *converter) span(name string) time.Duration {
	d, ok := convert.Seconds(c.top.Number(name, 0))
	if !ok {
		c.Fail(name, "is too long")
	}
	return d
}

// stages are a warm-up, if there is one, and the load: as long as duration if there is one, else as
// many as requests. The mode is still to be set.
func stages(warmUp, duration time.Duration, requests int64) []v1alpha1.Rate {
	load := v1alpha1.Rate{Name: "load"}
	if duration > 0 {
		load.Duration = convert.Given(duration)
	} else {
		load.Requests = &requests
	}
	if warmUp <= 0 {
		return []v1alpha1.Rate{load}
	}
	return []v1alpha1.Rate{{Name: "warm-up", WarmUp: true, Duration: convert.Given(warmUp)}, load}
}
