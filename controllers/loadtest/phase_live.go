package loadtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/shard"
)

// livePhase finds out what is to be in force of what may change while the test runs, and what of it is
// new. The plan stays the one that was started with: what differs goes to the runners as an update that
// tells the generation of the spec which brought it.
func (r *reconciler) livePhase(_ context.Context, s *scope) (bool, error) {
	switch {
	case s.end != nil || s.plan == nil || s.job == nil || s.obstacle != nil:
		return true, nil
	case !s.mayStart():
		return true, nil // the plan is that of the present spec
	}
	newest := int64(0)
	if view := r.registry.View(s.lt.UID); view != nil {
		newest = view.Newest
	}
	if newest > s.lt.Generation {
		s.behind = true
		return true, nil
	}
	now := r.present(s)
	s.notApplied = now.why
	s.changes = changesOf(s, now)
	all := s.history()
	s.wanted = now.shards
	s.live = collect.Live{Generation: s.startedGeneration(), Rates: now.rates, Suspended: s.lt.Spec.Suspend}
	if len(all) > 0 {
		s.live.Generation = all[len(all)-1].Generation
	}
	if newest > s.live.Generation {
		// Some runner has heard of a change that was never recorded.
		s.live.Generation = s.lt.Generation
	}
	return true, nil
}

// beforeStart is what goes to the runners with their first share.
func (s *scope) beforeStart() collect.Live {
	return collect.Live{Generation: int64(number(s.job, desired.AnnotationGeneration)), Rates: s.plan.Rates}
}

// present is what the present spec makes of rates and shards. why says what of it cannot be put in force;
// that stays as it is.
type present struct {
	generation int64
	rates      []runnerv1alpha1.Rate
	shards     int
	why        string
}

func (r *reconciler) present(s *scope) *present {
	c := r.memory.of(s.lt)
	if c.present == nil || c.present.generation != s.lt.Generation {
		c.present = presentOf(s)
	}
	return c.present
}

func presentOf(s *scope) *present {
	before := s.lt.Status.Changes
	out := &present{
		generation: s.lt.Generation, rates: recordedRates(before, s.plan.Rates), shards: recordedShards(before, s.plan.Shards),
	}
	if s.lt.Generation == s.startedGeneration() {
		return out
	}
	now, why := s.alike(&s.lt.Spec)
	if why == "" {
		why = undivided(s.plan, now.Shards)
	}
	if why == "" {
		out.rates, out.shards = now.Rates, now.Shards
		return out
	}
	out.why = why
	spec := s.lt.Spec.DeepCopy()
	spec.Runner.Shards = int32(out.shards)
	if now, why = s.alike(spec); why == "" { // only the shards are in the way
		out.rates = now.Rates
	}
	return out
}

// alike compiles a spec to a plan whose rates differ from those of the run in what may change only; why says
// why they do not.
func (s *scope) alike(spec *v1alpha1.LoadTestSpec) (now *runnerv1alpha1.Plan, why string) {
	now, _, errs := compile.Compile(s.key().String(), spec)
	if len(errs) > 0 {
		return nil, strings.Join(compile.ErrorLines(errs), "\n")
	}
	return now, unlike(s.plan.Rates, now.Rates)
}

// undivided says why the load of a plan cannot be dealt to another number of shards; empty: it can.
func undivided(plan *runnerv1alpha1.Plan, shards int) string {
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

// unlike says in what rates differ that cannot change while they are in force; empty: in nothing. The
// API server sees to that, from the moment on at which the start is told in status.
func unlike(old, now []runnerv1alpha1.Rate) string {
	if len(old) != len(now) {
		return fmt.Sprintf("spec.rates: must have %d stages, as when the test started", len(old))
	}
	for i := range old {
		was, is := old[i], now[i]
		is.Count, is.Period = was.Count, was.Period
		if was != is {
			return fmt.Sprintf("spec.rates[%d]: only requestsPerSecond and requestsPer can change while the test runs", i)
		}
	}
	return ""
}

const (
	fieldSuspend = "suspend"
	fieldShards  = "runner.shards"
)

// changesOf compares the spec with the changes that were recorded, and the plan before them.
func changesOf(s *scope, now *present) (out []v1alpha1.Change) {
	before := s.lt.Status.Changes
	change := func(field, from, to string) {
		if from != to {
			out = append(out, v1alpha1.Change{
				Generation: s.lt.Generation, Time: metav1.NewMicroTime(s.now.UTC().Truncate(microsecond)), Field: field, From: from, To: to,
			})
		}
	}
	for i := range now.rates {
		change(rateField(&s.lt.Spec, i), recorded(before, stageField(i), rateText(&s.plan.Rates[i])), rateText(&now.rates[i]))
	}
	change(fieldShards, strconv.Itoa(recordedShards(before, s.plan.Shards)), strconv.Itoa(now.shards))
	change(fieldSuspend, recorded(before, fieldSuspend, "false"), strconv.FormatBool(s.lt.Spec.Suspend))
	return out
}

// recordedRates are what changes made of rates.
func recordedRates(changes []v1alpha1.Change, original []runnerv1alpha1.Rate) []runnerv1alpha1.Rate {
	out := slices.Clone(original)
	for i := range out {
		count, period, err := parseRate(recorded(changes, stageField(i), rateText(&out[i])))
		if err == nil { // else somebody has written to status
			out[i].Count, out[i].Period = count, period
		}
	}
	return out
}

// recordedShards is the number of shards that changes came to.
func recordedShards(changes []v1alpha1.Change, original int) int {
	n, err := strconv.Atoi(recorded(changes, fieldShards, strconv.Itoa(original)))
	if err != nil {
		return original // somebody has written to status
	}
	return n
}

// stageField is what the fields of a stage's rate have in common, whichever it is given by.
func stageField(i int) string { return fmt.Sprintf("rates[%d]", i) }

func rateField(spec *v1alpha1.LoadTestSpec, i int) string {
	if i < len(spec.Rates) && spec.Rates[i].RequestsPer != nil {
		return stageField(i) + ".requestsPer"
	}
	return stageField(i) + ".requestsPerSecond"
}

// subject is what a change is about: a stage, or the field itself.
func subject(c *v1alpha1.Change) string {
	if stage, _, found := strings.Cut(c.Field, "]."); found {
		return stage + "]"
	}
	return c.Field
}

// recorded is the value that a subject came to.
func recorded(changes []v1alpha1.Change, about, original string) string {
	for i := range changes {
		if subject(&changes[i]) == about {
			original = changes[i].To
		}
	}
	return original
}

// rateText is a rate as history has it.
func rateText(r *runnerv1alpha1.Rate) string {
	if r.Period == oneSecond {
		return strconv.FormatInt(r.Count, 10)
	}
	return fmt.Sprintf("%d per %s", r.Count, r.Period)
}
