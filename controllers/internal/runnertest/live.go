package runnertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Update takes a share, and after it what changes while the test runs.
func (r *Runner) Update(ctx context.Context, m runnerv1alpha1.Update) error {
	return r.answer(ctx, "update", func() error {
		switch {
		case r.refusal != nil:
			return r.refusal
		case m.Revision == r.revision():
			return nil
		case m.Revision < r.revision():
			return fmt.Errorf("%w: an older revision", ErrConflict)
		case r.start == nil && m.At != 0:
			return errors.New("an instant before the start")
		case r.start != nil && m.At == 0:
			m.At = r.clock() - r.start.At
		case r.start != nil && !r.over():
			r.late += max(0, time.Duration(r.clock()-r.start.At-m.At))
		}
		if r.start == nil { // it connects anew
			r.updated = time.Now()
		}
		if m.Leave {
			m.Share = r.share()
		}
		r.changes = append(r.changes, m)
		return nil
	})
}

// Late is how long changes were active, in sum, before it heard of them while it sent requests.
func (r *Runner) Late() (d time.Duration) { r.locked(func() { d = r.late }); return }

// Refuse makes it answer all further updates with an error that is no conflict.
func (r *Runner) Refuse(why string) { r.locked(func() { r.refusal = errors.New(why) }) }

// Changes are the updates that it has accepted.
func (r *Runner) Changes(ctx context.Context) (out []runnerv1alpha1.Update, err error) {
	err = r.answer(ctx, "", func() error {
		for _, c := range r.changes {
			c.Share = runnerv1alpha1.Share{}
			out = append(out, c)
		}
		return nil
	})
	return out, err
}

// Instants are those, on everybody's clock, from which each revision after the first share was in force.
func (r *Runner) Instants() map[int64]time.Time {
	out := map[int64]time.Time{}
	r.locked(func() {
		for i := range r.changes {
			if i > 0 && r.start != nil {
				out[r.changes[i].Revision] = r.clockZero.Add(time.Duration(r.start.At + r.changes[i].At))
			}
		}
	})
	return out
}

func (r *Runner) revision() int64 {
	if len(r.changes) == 0 {
		return 0
	}
	return r.changes[len(r.changes)-1].Revision
}

func (r *Runner) generation() int64 {
	if len(r.changes) == 0 {
		return 0
	}
	return r.changes[len(r.changes)-1].Generation
}

// share is the last one that it was told.
func (r *Runner) share() (s runnerv1alpha1.Share) {
	for _, c := range r.changes {
		if len(c.Share.Connections) > 0 {
			s = c.Share
		}
	}
	return s
}

// load is how far the load of all shards has come, arithmetic on the time since the start.
type load struct {
	stages             []runnerv1alpha1.StageCounters // of the whole test; Begun is -1 before
	over               bool
	suspended, changed bool
	// lasted is the time since the start, up to its end.
	lasted time.Duration
}

// now is the time since the start up to which the load has come; negative: it has not begun.
func (r *Runner) now() int64 {
	if r.start == nil {
		return -1
	}
	now := r.clock() - r.start.At
	if !r.stopped.IsZero() {
		now = min(now, int64(r.stopped.Sub(r.clockZero))-r.start.At)
	}
	if at, ok := r.leaves(); ok {
		now = min(now, at)
	}
	return now
}

// leaves is when it is to leave, since the start.
func (r *Runner) leaves() (at int64, ok bool) {
	i := slices.IndexFunc(r.changes, func(c runnerv1alpha1.Update) bool { return c.Leave })
	if i < 0 {
		return 0, false
	}
	return r.changes[i].At, true
}

// load is that of the whole test up to an offset from its start. It walks through stages and changes, in
// the order of time.
func (r *Runner) load(now int64) load {
	out := load{stages: make([]runnerv1alpha1.StageCounters, len(r.plan.Rates))}
	for i := range out.stages {
		out.stages[i].Begun = -1
	}
	if now < 0 {
		return out
	}
	at, rates, left := int64(0), r.plan.Rates, r.changes
	for i := range r.plan.Rates {
		s := &out.stages[i]
		s.Begun = at
		out.suspended = out.suspended || r.plan.Rates[i].Hold
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
				out.changed = out.changed || left[0].At > 0
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
				s.Ended = at
				break
			}
			if at == now {
				out.lasted = time.Duration(at)
				return out
			}
		}
	}
	out.over, out.suspended, out.lasted = true, false, time.Duration(at)
	return out
}

// own are the slots of each stage that were this runner's: of what came due between two changes, the part
// that was its then.
func (r *Runner) own(now int64) []int64 {
	out := make([]int64, len(r.plan.Rates))
	for i, c := range r.changes {
		until := now
		if i+1 < len(r.changes) {
			until = min(until, r.changes[i+1].At)
		}
		if until <= c.At {
			continue
		}
		from, to := r.load(c.At), r.load(until)
		for k := range out {
			out[k] += part(c.Share.Slots, to.stages[k].Slots) - part(c.Share.Slots, from.stages[k].Slots)
		}
	}
	return out
}

// part of n slots that are somebody's.
func part(slots runnerv1alpha1.Slots, n int64) (own int64) {
	for _, residue := range slots.Residues {
		own += (n + slots.Of - 1 - residue) / slots.Of
	}
	return own
}
