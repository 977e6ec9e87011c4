package run

import (
	"fmt"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/plan"
)

// StartedGeneration is the generation of the spec that started; zero: the test has not started.
func (f *Facts) StartedGeneration() int64 {
	if !f.StartDecided() {
		return 0
	}
	return f.Record.Start.Live.Generation
}

// DescribesAnother returns whether the spec describes another test than the one that ended.
func (f *Facts) DescribesAnother() (bool, error) {
	compiled, _, errs := compile.Compile(f.Key().String(), &f.LoadTest.Spec)
	if len(errs) > 0 {
		return true, nil
	}
	if was := f.Record.End.Unplanned; was != "" && was != Unplanned(&f.LoadTest.Spec) {
		return true, nil
	}
	if f.Record.Start == nil {
		hash, err := plan.Hash(compiled)
		return hash != f.Record.End.PlanHash, err
	}
	if compiled.Shards != f.Record.Live.Shards || !slices.Equal(record.RatesOf(compiled.Rates), f.Record.Live.Rates) {
		return true, nil
	}
	if slices.ContainsFunc(f.Record.Edits, func(e record.Edit) bool { return e.Stage != nil && e.AppliedAt == nil }) {
		return true, nil // the test ended before the new rate took effect
	}
	same, err := f.sameBut(&f.LoadTest.Spec)
	return !same, err
}

// PresentOf compares the present spec with the plan that runs.
func (f *Facts) PresentOf() (*Present, error) {
	live := &f.Record.Live
	out := &Present{Generation: f.LoadTest.Generation, Rates: record.Apply(live.Rates, f.Plan.Rates), Shards: live.Shards}
	if f.LoadTest.Generation == f.StartedGeneration() {
		return out, nil
	}
	now, why := f.compileLive(&f.LoadTest.Spec)
	if why == "" {
		why = f.scaleError(now.Shards)
	}
	if why == "" {
		out.Rates, out.Shards = now.Rates, now.Shards
		same, err := f.sameBut(&f.LoadTest.Spec)
		if err != nil {
			return nil, err
		}
		if !same {
			out.Why = editedAtStart
		}
		return out, nil
	}
	out.Why = why
	spec := f.LoadTest.Spec.DeepCopy()
	spec.Runner.Shards = int32(out.Shards)
	if now, why = f.compileLive(spec); why == "" { // only the shards are the reason
		out.Rates = now.Rates
	}
	return out, nil
}

// editedAtStart reports an edit that the API server accepted between the decision to start and startTime in status.
const editedAtStart = "the spec changed when the test started, in fields that cannot change while the test runs"

// compileLive compiles a spec to a plan whose rates differ from those of the run only in what can change. why says why
// they do not. The rates and the number of shards must be within the limits of the operator's configuration.
func (f *Facts) compileLive(spec *v1alpha1.LoadTestSpec) (now *runnerv1alpha1.Plan, why string) {
	now, _, errs := compile.Compile(f.Key().String(), spec)
	if len(errs) == 0 {
		limits := liveLimits(f.Config)
		if int(spec.Runner.Shards) <= f.Record.Live.Shards {
			limits.Connections = 0 // the edit adds none
		}
		errs = limits.Check(spec, now)
	}
	if len(errs) > 0 {
		return nil, strings.Join(compile.ErrorLines(errs), "\n")
	}
	return now, rateDifference(f.Plan.Rates, now.Rates)
}

// scaleError returns why the test cannot continue with another number of shards than it started with; empty: it can.
func (f *Facts) scaleError(shards int) string {
	plan := f.Plan
	if shards == plan.Shards {
		return ""
	}
	if f.Job != nil && fixedByQueue(f.Job) {
		return fmt.Sprintf("spec.runner.shards: must stay %d, because a queue manages Job %s: "+
			"it has the label %s, or it was suspended", plan.Shards, f.Job.Name, LabelQueue)
	}
	for i := range plan.Rates {
		if plan.Rates[i].EndsByCount() {
			return fmt.Sprintf("spec.runner.shards: must stay %d, because spec.rates[%d] is a closedLoop that ends by requests",
				plan.Shards, i)
		}
	}
	if _, err := split.Split(plan, shards); err != nil {
		return fmt.Sprintf("spec.runner.shards: cannot distribute the load over %d shards: %v", shards, err)
	}
	return ""
}

// rateDifference returns which difference of rates cannot take effect while the test runs; empty: there is none. When
// status has the start time, the API server refuses such an edit.
func rateDifference(old, now []runnerv1alpha1.Rate) string {
	if len(old) != len(now) {
		return fmt.Sprintf("spec.rates: must have %d stages, as when the test started", len(old))
	}
	for i := range old {
		if old[i].EndsByCount() && now[i].Count != old[i].Count {
			return stagePath(old, i) + ".closedLoop.concurrency: cannot change while the test runs, because the stage ends by requests"
		}
		if old[i] != now[i].WithRateOf(&old[i]) {
			return stagePath(old, i) + ": only requestsPerSecond, requestsPer, chainsPerSecond, rampFrom and concurrency can change while the test runs"
		}
	}
	return ""
}

// stagePath returns the path of a stage of the plan in the spec.
func stagePath(rates []runnerv1alpha1.Rate, i int) string {
	first := slices.IndexFunc(rates, func(r runnerv1alpha1.Rate) bool { return r.Chain == rates[i].Chain })
	if n := rates[i].Chain; n > 0 {
		return fmt.Sprintf("spec.chains[%d].rates[%d]", n-1, i-first)
	}
	return fmt.Sprintf("spec.rates[%d]", i)
}

// AsStarted compiles a spec with the rates and the shards that the test started with, without the address policy; nil:
// it cannot be compiled.
func (f *Facts) AsStarted(spec *v1alpha1.LoadTestSpec) *runnerv1alpha1.Plan {
	spec = spec.DeepCopy()
	if start := f.Record.Start; start != nil {
		spec.Runner.Shards = int32(start.Live.Shards)
	}
	compiled, _, errs := compile.Compile(f.Key().String(), spec)
	if len(errs) > 0 {
		return nil
	}
	if start := f.Record.Start; start != nil && len(compiled.Rates) == len(start.Live.Rates) {
		compiled.Rates = record.Apply(start.Live.Rates, compiled.Rates)
	}
	return compiled
}

// sameBut returns whether a spec describes the test that started, whatever its rates and shards are.
func (f *Facts) sameBut(spec *v1alpha1.LoadTestSpec) (bool, error) {
	compiled := f.AsStarted(spec)
	if compiled == nil {
		return false, nil
	}
	hash, err := plan.Hash(compiled)
	return hash == f.Record.Plan.Hash, err
}
