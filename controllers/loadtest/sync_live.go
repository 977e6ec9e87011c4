package loadtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/shard"
)

// syncLive compares what the spec says of the values that can change while the test runs with the record. The plan stays the one
// that was started with: the runners get the differences as changes.
func (r *reconciler) syncLive(_ context.Context, s *scope) (bool, error) {
	if s.LoadTest.Generation < s.Record.Live.Generation {
		return false, nil // the cache has an older spec: another pass follows when it has the newer one
	}
	now, err := r.present(s)
	if err != nil {
		return false, err
	}
	s.Present, s.notApplied = now, now.Why
	if s.Edits = decide.EditsOf(s.Facts, now); len(s.Edits) > 0 && s.Record.Full() {
		s.notApplied = fmt.Sprintf("the test already has %d changes and %d runners that ended, which is the maximum", len(s.Record.Changes), len(s.Record.Shards))
		s.Edits = nil
	}
	return true, nil
}

// live is what the runners must have: before the start what they get with their first share.
func (s *scope) live() collect.Live {
	if !s.StartDecided() {
		return collect.Live{Generation: s.Record.Plan.Generation, Rates: s.Plan.Rates}
	}
	live := &s.Record.Live
	return collect.Live{Generation: live.Generation, Rates: record.Apply(live.Rates, s.Plan.Rates), Suspended: live.Suspended}
}

func (r *reconciler) present(s *scope) (*run.Present, error) {
	c := r.memory.of(s.LoadTest)
	if c.present == nil || c.present.Generation != s.LoadTest.Generation {
		now, err := r.presentOf(s)
		if err != nil {
			return nil, err
		}
		c.present = now
	}
	return c.present, nil
}

func (r *reconciler) presentOf(s *scope) (*run.Present, error) {
	live := &s.Record.Live
	out := &run.Present{Generation: s.LoadTest.Generation, Rates: record.Apply(live.Rates, s.Plan.Rates), Shards: live.Shards}
	if s.LoadTest.Generation == s.startedGeneration() {
		return out, nil
	}
	now, why := r.compileLive(s, &s.LoadTest.Spec)
	if why == "" {
		why = distributionError(s.Plan, now.Shards)
	}
	if why == "" {
		out.Rates, out.Shards = now.Rates, now.Shards
		same, err := s.sameBut(&s.LoadTest.Spec)
		if err != nil {
			return nil, err
		}
		if !same {
			out.Why = editedAtStart
		}
		return out, nil
	}
	out.Why = why
	spec := s.LoadTest.Spec.DeepCopy()
	spec.Runner.Shards = int32(out.Shards)
	if now, why = r.compileLive(s, spec); why == "" { // only the shards are the reason
		out.Rates = now.Rates
	}
	return out, nil
}

// editedAtStart reports an edit that the API server accepted between the decision to start and startTime in status.
const editedAtStart = "the spec changed when the test started, in fields that cannot change while the test runs"

// compileLive compiles a spec to a plan whose rates differ from those of the run only in what can change. why says why they do
// not. The rates and the number of shards must be within the limits of the operator's configuration.
func (r *reconciler) compileLive(s *scope, spec *v1alpha1.LoadTestSpec) (now *runnerv1alpha1.Plan, why string) {
	now, _, errs := compile.Compile(s.Key().String(), spec)
	if len(errs) == 0 {
		errs = r.liveLimits().Check(spec, now)
	}
	if len(errs) > 0 {
		return nil, strings.Join(compile.ErrorLines(errs), "\n")
	}
	return now, rateDifference(s.Plan.Rates, now.Rates)
}

// distributionError returns why the load of a plan cannot be distributed over another number of shards; empty: it can.
func distributionError(plan *runnerv1alpha1.Plan, shards int) string {
	if shards == plan.Shards {
		return ""
	}
	for i := range plan.Rates {
		if plan.Rates[i].EndsByCount() {
			return fmt.Sprintf("spec.runner.shards: must stay %d, because spec.rates[%d] is a closedLoop that ends by requests", plan.Shards, i)
		}
	}
	if _, err := shard.Split(plan, shards); err != nil {
		return fmt.Sprintf("spec.runner.shards: cannot distribute the load over %d shards: %v", shards, err)
	}
	return ""
}

// rateDifference returns which difference of rates cannot take effect while the test runs; empty: there is none. When status has the start time,
// the API server refuses such an edit.
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
