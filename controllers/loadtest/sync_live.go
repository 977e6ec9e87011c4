package loadtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/shard"
)

// syncLive compares what the spec says of the values that can change while the test runs with the record. The plan stays the one
// that was started with: the runners get the differences as changes.
func (r *reconciler) syncLive(_ context.Context, s *scope) (bool, error) {
	if s.lt.Generation < s.run.Live.Generation {
		return false, nil // the cache has an older spec: another pass follows when it has the newer one
	}
	now, err := r.present(s)
	if err != nil {
		return false, err
	}
	s.present, s.notApplied = now, now.why
	if s.edits = editsOf(s, now); len(s.edits) > 0 && s.run.Full() {
		s.notApplied = fmt.Sprintf("the test already has %d changes and %d runners that ended, which is the maximum", len(s.run.Changes), len(s.run.Shards))
		s.edits = nil
	}
	return true, nil
}

// decideLive takes over what the spec changed.
func (s *scope) decideLive(run *record.Record) {
	if len(s.edits) == 0 {
		return
	}
	run.Live = record.Live{
		Generation: s.lt.Generation, Rates: record.RatesOf(s.present.rates), Shards: s.present.shards, Suspended: s.lt.Spec.Suspend,
	}
	run.Edits = bounded(append(run.Edits, s.edits...))
}

// live is what the runners must have: before the start what they get with their first share.
func (s *scope) live() collect.Live {
	if !s.startDecided() {
		return collect.Live{Generation: s.run.Plan.Generation, Rates: s.plan.Rates}
	}
	live := &s.run.Live
	return collect.Live{Generation: live.Generation, Rates: record.Apply(live.Rates, s.plan.Rates), Suspended: live.Suspended}
}

// present has the rates and shards of the present spec. why says what of the spec has no effect; the values in the record
// stay for that.
type present struct {
	generation int64
	rates      []runnerv1alpha1.Rate
	shards     int
	why        string
}

func (r *reconciler) present(s *scope) (*present, error) {
	c := r.memory.of(s.lt)
	if c.present == nil || c.present.generation != s.lt.Generation {
		now, err := r.presentOf(s)
		if err != nil {
			return nil, err
		}
		c.present = now
	}
	return c.present, nil
}

func (r *reconciler) presentOf(s *scope) (*present, error) {
	live := &s.run.Live
	out := &present{generation: s.lt.Generation, rates: record.Apply(live.Rates, s.plan.Rates), shards: live.Shards}
	if s.lt.Generation == s.startedGeneration() {
		return out, nil
	}
	now, why := r.compileLive(s, &s.lt.Spec)
	if why == "" {
		why = distributionError(s.plan, now.Shards)
	}
	if why == "" {
		out.rates, out.shards = now.Rates, now.Shards
		same, err := s.sameBut(&s.lt.Spec)
		if err != nil {
			return nil, err
		}
		if !same {
			out.why = editedAtStart
		}
		return out, nil
	}
	out.why = why
	spec := s.lt.Spec.DeepCopy()
	spec.Runner.Shards = int32(out.shards)
	if now, why = r.compileLive(s, spec); why == "" { // only the shards are the reason
		out.rates = now.Rates
	}
	return out, nil
}

// editedAtStart reports an edit that the API server accepted between the decision to start and startTime in status.
const editedAtStart = "the spec changed when the test started, in fields that cannot change while the test runs"

// compileLive compiles a spec to a plan whose rates differ from those of the run only in what can change. why says why they do
// not. The rates and the number of shards must be within the limits of the operator's configuration.
func (r *reconciler) compileLive(s *scope, spec *v1alpha1.LoadTestSpec) (now *runnerv1alpha1.Plan, why string) {
	now, _, errs := compile.Compile(s.key().String(), spec)
	if len(errs) == 0 {
		errs = r.liveLimits().Check(spec, now)
	}
	if len(errs) > 0 {
		return nil, strings.Join(compile.ErrorLines(errs), "\n")
	}
	return now, rateDifference(s.plan.Rates, now.Rates)
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

const (
	fieldSuspend = "suspend"
	fieldShards  = "runner.shards"
)

// editsOf compares the spec with the record.
func editsOf(s *scope, now *present) (out []record.Edit) {
	live := &s.run.Live
	edit := func(field string, stage *int, from, to record.Value) {
		out = append(out, record.Edit{Generation: s.lt.Generation, Time: s.microTime(), Field: field, Stage: stage, From: from, To: to})
	}
	for i, to := range record.RatesOf(now.rates) {
		if from := live.Rates[i]; from != to {
			edit(rateField(&s.lt.Spec, i), &i, record.Value{Rate: &from}, record.Value{Rate: &to})
		}
	}
	if now.shards != live.Shards {
		edit(fieldShards, nil, record.Value{Shards: live.Shards}, record.Value{Shards: now.shards})
	}
	if s.lt.Spec.Suspend != live.Suspended {
		edit(fieldSuspend, nil, record.Value{Suspended: live.Suspended}, record.Value{Suspended: s.lt.Spec.Suspend})
	}
	return out
}

// stagePath returns the path of a stage of the plan in the spec.
func stagePath(rates []runnerv1alpha1.Rate, i int) string {
	first := slices.IndexFunc(rates, func(r runnerv1alpha1.Rate) bool { return r.Chain == rates[i].Chain })
	if n := rates[i].Chain; n > 0 {
		return fmt.Sprintf("spec.chains[%d].rates[%d]", n-1, i-first)
	}
	return fmt.Sprintf("spec.rates[%d]", i)
}

// rateField returns the path of the rate of a stage of the plan, in the spec. The plan has the stages of spec.rates first,
// then those of each chain.
func rateField(spec *v1alpha1.LoadTestSpec, i int) string {
	rates, at := spec.Rates, "rates"
	for k := 0; i >= len(rates) && k < len(spec.Chains); k++ {
		i -= len(rates)
		rates, at = spec.Chains[k].Rates, fmt.Sprintf("chains[%d].rates", k)
	}
	mode := "requestsPerSecond"
	switch {
	case i < len(rates) && rates[i].RequestsPer != nil:
		mode = "requestsPer"
	case i < len(rates) && rates[i].ChainsPerSecond != nil:
		mode = "chainsPerSecond"
	case i < len(rates) && rates[i].ClosedLoop != nil:
		mode = "closedLoop.concurrency"
	}
	return fmt.Sprintf("%s[%d].%s", at, i, mode)
}
