package runnertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Update takes a share, and after it what changes while the test runs.
func (r *Runner) Update(ctx context.Context, m runnerv1alpha1.Update) error {
	return r.answer(ctx, "update", func() error {
		switch {
		case r.refusal != nil:
			return r.refusal
		case r.share == nil:
			r.updated = time.Now()
		case m.Revision == r.share.Revision:
			return nil
		case m.Revision < r.share.Revision:
			return fmt.Errorf("%w: an older revision", ErrConflict)
		case r.start != nil && !reflect.DeepEqual(m.Share, r.share.Share):
			return fmt.Errorf("%w: another share", ErrConflict)
		}
		if m.At == 0 {
			m.At = r.clock()
		}
		r.share = &m
		r.changes = append(r.changes, m)
		return nil
	})
}

// Refuse makes it answer all further updates with an error that is no conflict.
func (r *Runner) Refuse(why string) { r.locked(func() { r.refusal = errors.New(why) }) }

// Instants are those, on everybody's clock, from which each revision after the first share was in force.
func (r *Runner) Instants() map[int64]time.Time {
	out := map[int64]time.Time{}
	r.locked(func() {
		for i := range r.changes {
			if i > 0 {
				out[r.changes[i].Revision] = r.clockZero.Add(time.Duration(r.changes[i].At))
			}
		}
	})
	return out
}

// load is how far the load of all shards has come, arithmetic on the time since the start.
type load struct {
	stages             []runnerv1alpha1.StageCounters // of the whole test; Begun is -1 before
	over               bool
	suspended, changed bool
	// lasted is the time since the start, up to its end.
	lasted time.Duration
}

// now is the instant up to which the load has come, on the runner's clock.
func (r *Runner) now() int64 {
	now := r.clock()
	if !r.stopped.IsZero() {
		now = min(now, int64(r.stopped.Sub(r.clockZero)))
	}
	return now
}

// load walks through stages and changes, in the order of time.
func (r *Runner) load() load {
	out := load{stages: make([]runnerv1alpha1.StageCounters, len(r.plan.Rates))}
	for i := range out.stages {
		out.stages[i].Begun = -1
	}
	if r.start == nil || r.now() < r.start.At {
		return out
	}
	now, at, rates, left := r.now(), r.start.At, r.plan.Rates, r.changes
	for i := range r.plan.Rates {
		s := &out.stages[i]
		s.Begun = at - r.start.At
		var worked, base int64 // in the stage; slots before the line
		line := at
		for {
			for len(left) > 0 && left[0].At <= at {
				was := rates[i]
				if len(left[0].Rates) > 0 {
					rates = left[0].Rates
				}
				if was != rates[i] || out.suspended != left[0].Suspended {
					base, line = s.Slots, at
				}
				out.suspended = left[0].Suspended
				out.changed = out.changed || left[0].At > r.start.At
				left = left[1:]
			}
			until := now
			if len(left) > 0 {
				until = min(until, left[0].At)
			}
			if out.suspended {
				s.Paused += until - at
				at = until
			} else {
				until = min(until, at+int64(r.plan.Rates[i].Duration)-worked)
				worked += until - at
				at = until
				count, period := rates[i].Count, int64(rates[i].Period)
				s.Slots = base + ((at-line)*count+period-1)/period
			}
			if worked == int64(r.plan.Rates[i].Duration) {
				s.Ended = at - r.start.At
				break
			}
			if at == now {
				out.lasted = time.Duration(at - r.start.At)
				return out
			}
		}
	}
	out.over, out.suspended, out.lasted = true, false, time.Duration(at-r.start.At)
	return out
}
