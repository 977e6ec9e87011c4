package metrics

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// firstRevision is the revision of a share without changes. Its rate is that of the plan.
const firstRevision = 1

// askedOf returns the desired rate of this runner. After a change of the load, the rates and the share differ from the
// plan. Then askedOf returns the rate of the slots since the snapshot base, without pauses. If base is not of the same
// stage, it counts from the start of the stage.
func askedOf(plan *runnerv1alpha1.Plan, base, s *runnerv1alpha1.Snapshot, live *build.Live) float64 {
	i := slices.IndexFunc(plan.Rates, func(r runnerv1alpha1.Rate) bool { return r.Name == live.Stage })
	if i < 0 || live.Asked == 0 {
		return 0
	}
	if s.Revision <= firstRevision && !s.Changed {
		return live.Asked / float64(max(1, plan.Shards))
	}
	now := &s.Stages[i]
	slots, lasts := now.Slots, s.Clock-max(s.StartedAt, s.StartAt+now.Begun)-now.Paused
	if then := stageOf(base, i); then != nil && then.Slots > 0 && base.Boot == s.Boot {
		slots, lasts = slots-then.Slots, s.Clock-base.Clock-(now.Paused-then.Paused)
		for k := range plan.Rates { // stages of other chains run at the same time
			if was := stageOf(base, k); was != nil && plan.Rates[k].Chain != plan.Rates[i].Chain {
				slots += s.Stages[k].Slots - was.Slots
			}
		}
	}
	if lasts <= 0 {
		return 0
	}
	return float64(slots) / micros(lasts/1000)
}

func stageOf(s *runnerv1alpha1.Snapshot, i int) *runnerv1alpha1.StageCounters {
	if s == nil || i >= len(s.Stages) {
		return nil
	}
	return &s.Stages[i]
}
