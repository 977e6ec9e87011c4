package cluster

import (
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Stage is the active rate stage of a test.
type Stage struct {
	// Index is the index in spec.rates.
	Index int
	// Known: the stage follows from durations and rates. It is not known after a closed-loop stage that ends by
	// requests.
	Known bool
	// Elapsed is the time since the stage began, and Lasts its length, both without pauses; 0: not known.
	Elapsed, Lasts time.Duration
	// Over: all stages have ended.
	Over bool
}

// StageAt computes the active stage from the spec, because status does not have it.
func StageAt(lt *v1alpha1.LoadTest, now time.Time) Stage {
	if lt.Status.StartTime == nil || len(lt.Spec.Rates) == 0 || lt.Spec.Search != nil {
		return Stage{}
	}
	left := max(0, now.Sub(lt.Status.StartTime.Time)-pausedFor(lt, now))
	for i := range lt.Spec.Rates {
		lasts := length(&lt.Spec.Rates[i])
		if lasts == 0 {
			return Stage{Index: i, Elapsed: left, Known: len(lt.Spec.Rates) == 1}
		}
		if left < lasts {
			return Stage{Index: i, Elapsed: left, Lasts: lasts, Known: true}
		}
		left -= lasts
	}
	last := len(lt.Spec.Rates) - 1
	lasts := length(&lt.Spec.Rates[last])
	return Stage{Index: last, Elapsed: lasts, Lasts: lasts, Known: true, Over: true}
}

// length returns the length of a stage without pauses; 0: not known in advance.
func length(r *v1alpha1.Rate) time.Duration {
	if r.ClosedLoop != nil && r.Requests != nil {
		return 0 // it may end before its duration
	}
	plan := compile.RateOf(r)
	return time.Duration(build.Nominal(&plan) * float64(time.Second))
}

// pausedFor returns the time since the start during which the test was suspended, from the list of changes.
func pausedFor(lt *v1alpha1.LoadTest, now time.Time) time.Duration {
	var total time.Duration
	var since time.Time
	start := lt.Status.StartTime.Time
	for i := range lt.Status.Changes {
		c := &lt.Status.Changes[i]
		if c.Field != "suspend" || c.AppliedAt == nil {
			continue
		}
		at := c.AppliedAt.Time
		if at.Before(start) {
			at = start
		}
		switch {
		case c.To == "true" && since.IsZero():
			since = at
		case c.To != "true" && !since.IsZero():
			total, since = total+at.Sub(since), time.Time{}
		}
	}
	if !since.IsZero() && now.After(since) {
		total += now.Sub(since)
	}
	return total
}
