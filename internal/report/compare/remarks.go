package compare

import (
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// remarks returns the differences of the runs, each as a sentence without a full stop.
func remarks(a, b *rv.Report) []string {
	var out []string
	note := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	note(a.Name != b.Name, "The tests have different names, %s and %s: without spec.seed, they draw different values",
		a.Name, b.Name)
	note(a.Name == b.Name && a.PlanHash != b.PlanHash,
		"The plans differ, in a field of the manifest: A has hash %.12s, B has %.12s", a.PlanHash, b.PlanHash)
	note(a.Version != b.Version, "A was measured with %s, B with %s", Writer(a), Writer(b))
	out = append(out, stages(a, b)...)
	searched := a.Search != nil || b.Search != nil
	note(searched, "The figures of a search, without the highest load, are a mix of all probes and are not judged")
	note(!searched && !sameRate(&a.Rate, &b.Rate),
		"The runs asked for different rates, %s in A and %s in B: the rate is not judged, and response times depend on the rate",
		asked(a.Rate.Asked, a.Rate.AskedChains), asked(b.Rate.Asked, b.Rate.AskedChains))
	note(a.Generator.Shards != b.Generator.Shards || a.Generator.Workers != b.Generator.Workers, "A had %s, B had %s",
		workers(a), workers(b))
	note(idle(a) != idle(b), "A had %s, B had %s", idle(a), idle(b))
	for _, pair := range steps(a, b) {
		note(pair.b == nil, "Step %s is only in A and is not compared", pair.name)
		note(pair.a == nil, "Step %s is only in B and is not compared", pair.name)
	}
	return append(out, append(state("A", a), state("B", b)...)...)
}

// stages returns the first difference of the rate stages.
func stages(a, b *rv.Report) []string {
	if len(a.Stages) != len(b.Stages) {
		return []string{fmt.Sprintf("A has %s, B has %s", build.Plural(len(a.Stages), "rate stage"),
			build.Plural(len(b.Stages), "rate stage"))}
	}
	for i := range a.Stages {
		if x, y := stage(&a.Stages[i]), stage(&b.Stages[i]); x != y {
			return []string{fmt.Sprintf("Rate stage %d is %s in A and %s in B", i+1, x, y)}
		}
	}
	return nil
}

// stage is "hold (60000 requests per second)".
func stage(s *rv.StageResult) string {
	out := asked(s.Asked, s.AskedChains)
	if s.WarmUp {
		out += ", warm-up"
	}
	return s.Name + " (" + out + ")"
}

func asked(rate, chains float64) string {
	switch {
	case chains > 0:
		return build.FormatRate(chains) + " chains per second"
	case rate == 0:
		return "closed loop"
	}
	return build.FormatRate(rate) + " requests per second"
}

// workers is "2 shards with 4 workers".
func workers(r *rv.Report) string {
	return build.Plural(r.Generator.Shards, "shard") + " with " + build.Plural(r.Generator.Workers, "worker")
}

// idle is "idle strategy Sleep with an interval of 500us", or "no idle strategy" in a report of a version without
// strategies.
func idle(r *rv.Report) string {
	i := &r.Generator.Idle
	switch {
	case i.SpinShards > 0 && i.SleepShards > 0:
		return "idle strategies Spin and Sleep"
	case i.SpinShards > 0:
		return "idle strategy Spin"
	case i.SleepShards > 0:
		return "idle strategy Sleep with an interval of " + build.FormatTime(i.SleepIntervalMicroseconds)
	}
	return "no idle strategy"
}

// state returns why the figures of a run may not show how fast the target is.
func state(name string, r *rv.Report) []string {
	var out []string
	if r.Verdict.Outcome != rv.OutcomePassed && r.Verdict.Outcome != rv.OutcomeFailed {
		out = append(out, fmt.Sprintf("The verdict of %s is %s: %s", name, r.Verdict.Outcome, r.Verdict.Message))
	}
	if r.Partial {
		out = append(out, "The result of "+name+" is incomplete")
	}
	if r.Stopped != "" {
		out = append(out, name+" ended early: "+r.Stopped)
	}
	if Lagged(r) {
		out = append(out, fmt.Sprintf("The generator's lag p99 was %s in %s: response times include it",
			build.FormatTime(verdict.WorstLag(r)), name))
	}
	q := &r.Requests
	if n := q.TimedOut + q.Reset + q.ConnectionLost; n > 0 && r.ResponseTime.Count > 0 && r.ResponseTime.Unanswered == 0 {
		out = append(out, fmt.Sprintf(
			"The response times of %s leave out %s without a response, as those of earlier versions do", name,
			build.Plural(int(n), "request")))
	}
	return out
}

// Lagged reports whether the generator may be the cause of the response times and the rate.
func Lagged(r *rv.Report) bool { return verdict.WorstLag(r) > verdict.MaxLag }
