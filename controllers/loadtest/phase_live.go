package loadtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/internal/compile"
)

// livePhase finds out what is to be in force of what may change while the test runs, and what of it is
// new. The plan stays the one that was started with: what differs goes to the runners as an update,
// whose revision is the generation of the spec that brought it.
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
		return true, nil // the cache is behind what runners were told
	}
	now := r.present(s)
	s.notInForce = now.why
	s.changes = changesOf(s, now.rates)
	s.live = collect.Live{Revision: s.startedGeneration(), Rates: now.rates, Suspended: s.lt.Spec.Suspend}
	if all := s.history(); len(all) > 0 {
		s.live.Revision = all[len(all)-1].Generation
	}
	if newest > s.live.Revision {
		// Some runner has heard of a change that was never recorded.
		s.live.Revision = s.lt.Generation
	}
	return true, nil
}

// beforeStart is what goes to the runners with their first share.
func (s *scope) beforeStart() collect.Live {
	return collect.Live{Revision: int64(number(s.job, desired.AnnotationGeneration)), Rates: s.plan.Rates}
}

// present is what the present spec makes of the rates. why says that they cannot be put in force; the
// plan's are returned then.
type present struct {
	generation int64
	rates      []runnerv1alpha1.Rate
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
	out := &present{generation: s.lt.Generation, rates: s.plan.Rates}
	if s.lt.Generation == s.startedGeneration() {
		return out
	}
	compiled, _, errs := compile.Compile(s.key().String(), &s.lt.Spec)
	if len(errs) > 0 {
		out.why = strings.Join(compile.ErrorLines(errs), "\n")
		return out
	}
	if out.why = unlike(s.plan.Rates, compiled.Rates); out.why == "" {
		out.rates = compiled.Rates
	}
	return out
}

// unlike says in what rates differ that cannot change while they are in force; empty: in nothing. The
// API server sees to that, from the moment on at which the start is told in status.
func unlike(old, now []runnerv1alpha1.Rate) string {
	if len(old) != len(now) {
		return fmt.Sprintf("spec.rates: the test was started with %d stages", len(old))
	}
	for i := range old {
		was, is := old[i], now[i]
		is.Count, is.Period = was.Count, was.Period
		if was != is {
			return fmt.Sprintf("spec.rates[%d]: only requestsPerSecond and requestsPer may differ from those that the test was started with", i)
		}
	}
	return ""
}

const fieldSuspend = "suspend"

// changesOf compares the spec with the changes that were recorded, and the plan before them.
func changesOf(s *scope, rates []runnerv1alpha1.Rate) (out []v1alpha1.Change) {
	change := func(field, from, to string) {
		if from != to {
			out = append(out, v1alpha1.Change{
				Generation: s.lt.Generation, Time: metav1.NewMicroTime(s.now.UTC().Truncate(microsecond)), Field: field, From: from, To: to,
			})
		}
	}
	for i := range rates {
		old := recorded(s.lt.Status.Changes, stageField(i), rateText(&s.plan.Rates[i]))
		now := rateText(&rates[i])
		if s.notInForce != "" {
			now = old
		}
		change(rateField(&s.lt.Spec, i), old, now)
	}
	change(fieldSuspend, recorded(s.lt.Status.Changes, fieldSuspend, "false"), strconv.FormatBool(s.lt.Spec.Suspend))
	return out
}

// stageField is what the fields of a stage's rate have in common, whichever it is given by.
func stageField(i int) string { return fmt.Sprintf("rates[%d]", i) }

func rateField(spec *v1alpha1.LoadTestSpec, i int) string {
	if i < len(spec.Rates) && spec.Rates[i].RequestsPer != nil {
		return stageField(i) + ".requestsPer"
	}
	return stageField(i) + ".requestsPerSecond"
}

// subject is what a change is about: a stage, or suspend.
func subject(c *v1alpha1.Change) string {
	out, _, _ := strings.Cut(c.Field, ".")
	return out
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
