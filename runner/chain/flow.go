package chain

import (
	"math"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Flow is what happens before and after a step's request.
type Flow struct {
	// Think is the pause before the step; nil: none.
	Think *Think
	// When must be true, or the step is skipped.
	When []Condition
	// Repeat is how often the step is sent, at least 1. The repetition ends earlier if Until is true; empty: it does not.
	Repeat int
	Until  []Condition
	// Group is the number of the parallel group that the step belongs to, from 1; 0: it belongs to none.
	// GroupEnd is the index into Program.Steps of the first step after the group or, without a group, after the step.
	Group, GroupEnd int
	// Retries after a failure.
	Retries int
	// FollowRetryAfter makes retries wait for the Retry-After of the response that failed.
	FollowRetryAfter bool
	// Continue with the next step after a failure.
	Continue bool
	// ClearCookies before the request.
	ClearCookies bool
	// Always: the step is sent in aborted instances, too. So are all later steps of the chain.
	Always bool

	backoff, maxBackoff int64
}

// Backoff is the pause before a retry, in nanoseconds. n is the number of retries before it.
func (f *Flow) Backoff(n int) int64 {
	pause := f.backoff
	for ; n > 0 && pause < f.maxBackoff; n-- {
		pause *= 2
	}
	return min(pause, f.maxBackoff)
}

// Think is a pause of random or fixed length.
type Think struct{ fixed, mean, min, max int64 }

// Draw draws a length in nanoseconds.
func (t *Think) Draw(src *Sources) int64 {
	switch {
	case t.mean > 0:
		return int64(math.Min(src.thinking.ExpFloat64()*float64(t.mean), float64(t.max)))
	case t.max > 0:
		return t.min + src.thinking.Int64N(t.max-t.min+1)
	}
	return t.fixed
}

// longestPause bounds all pauses.
const longestPause = 24 * time.Hour

func (b *builder) think(t *rv.Think) *Think {
	if t == nil {
		return nil
	}
	out := &Think{fixed: int64(t.Fixed), mean: int64(t.Mean), min: int64(t.Min), max: int64(t.Max)}
	switch {
	case t.Mean > 0 && t.Max == 0:
		out.max = int64(longestPause)
	case t.Max > 0 && t.Max < t.Min:
		b.failf("max %v is below min %v", t.Max, t.Min)
	}
	return out
}

// flow reads what a step does before and after its request.
func (b *builder) flow(in *rv.Step) Flow {
	f := Flow{
		Repeat: max(1, in.Repeat), Group: in.Group, Retries: in.OnFailure.Retries,
		FollowRetryAfter: in.OnFailure.Retries > 0 && !in.OnFailure.IgnoreRetryAfter,
		Continue:         in.OnFailure.Continue, ClearCookies: in.ClearCookies, Always: in.Always,
		backoff: int64(in.OnFailure.Backoff), maxBackoff: int64(in.OnFailure.MaxBackoff),
	}
	if f.maxBackoff == 0 {
		f.maxBackoff = int64(longestPause)
	}
	b.in("think")
	f.Think = b.think(in.Think)
	b.beforeRequest = true
	f.When = b.conditions("when", in.When)
	b.beforeRequest = false
	f.Until = b.conditions("until", in.Until)
	return f
}

// setGroupEnds sets GroupEnd in the steps of the chain that begins at steps[first].
func setGroupEnds(steps []Step, first int) {
	for i := len(steps) - 1; i >= first; i-- {
		s := &steps[i]
		s.GroupEnd = i + 1
		if next := i + 1; s.Group > 0 && next < len(steps) && steps[next].Group == s.Group {
			s.GroupEnd = steps[next].GroupEnd
		}
	}
}
