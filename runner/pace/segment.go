package pace

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// segment is a time in which nothing of the schedule changes. It ends where the next segment begins. Its instants are
// the same on all workers, except after a stage that ends when a worker has sent its own requests.
//
// The active time of a stage is the time since its begin without suspensions. Durations and arrivals count active time,
// so a suspension delays all that comes after it.
type segment struct {
	// stage is the index of the stage: -1 before the start, and the number of stages after the load.
	stage int
	// at is when the segment begins. end is when the stage ends if there is no change, or Never.
	at, end int64
	// begun is when the stage began, and elapsed the active time of the stage at the begin of the segment.
	begun, elapsed int64
	suspended      bool
	// slots are those of the worker, and own those that it takes in this stage; see ownSlots.
	slots, own rv.Slots
	// rate is the rate of the stage; nil before the start and after the load. arrivals are those of the rate, nil in a
	// closed loop: slot n is due at the active time zero + arrivals.Due(n-base).
	rate       *rv.Rate
	arrivals   Arrivals
	zero, base int64
	// earlier is the number of slots of all workers in the stages before; see countEarlier. pauses is the time for
	// which these stages were suspended.
	earlier, pauses int64
}

// begin returns the first segment of a stage that follows g.
func (g *segment) begin(stage int, at int64, rates []rv.Rate) segment {
	next := segment{
		stage: stage, at: at, end: Never, begun: at, suspended: g.suspended, slots: g.slots,
		pauses: g.pauses + g.paused(at),
	}
	if stage < len(rates) {
		next.rate = &rates[stage]
		next.suspended = next.suspended || next.rate.Hold
		next.own = ownSlots(next.rate, next.slots)
		next.arrivals = arrivalsOf(next.rate, 0, 0, nil)
		next.end = next.stageEnd()
	}
	return next
}

// change returns the segment of the same stage that begins with a change. With another rate, the next even slot is due
// at its begin, and a ramp continues as if it had had its new ends from its own begin. With the same rate, the slots
// stay where they are in active time.
func (g *segment) change(c *Change) segment {
	next := *g
	next.at, next.elapsed, next.suspended = c.At, g.active(c.At), c.Suspended
	if c.Slots != nil {
		next.slots = *c.Slots
	}
	if g.rate == nil {
		return next
	}
	next.own = ownSlots(g.rate, next.slots)
	rate := &c.Rates[g.stage]
	if g.rate.ClosedLoop {
		next.rate = rate
	} else if !rate.SameRate(g.rate) {
		next.zero, next.base = next.elapsed, min(g.before(c.At), g.limit())
		next.rate, next.arrivals = rate, arrivalsOf(rate, next.zero, next.base, g.arrivals)
	}
	next.end = next.stageEnd()
	return next
}

// maxOwners is more than the number of workers of all shards can be.
const maxOwners = split.MaxShards*split.MaxShards + 1

// ownSlots returns which of the worker's slots it takes in a stage. In a closed loop that ends by requests, a worker
// that may have no request in flight must have no slot. With a concurrency of n, the owner of slot k is therefore the
// worker that has slot k modulo n. For example, of four workers with a concurrency of 2, two have no slots. A ramp
// needs a duration, which ends the stage on a worker that may have no request in flight.
func ownSlots(r *rv.Rate, slots rv.Slots) rv.Slots {
	if !r.EndsByCount() || r.Count == 0 || r.Count >= maxOwners {
		return slots
	}
	own := rv.Slots{Of: r.Count}
	for j := range split.CountBelow(slots, r.Count) {
		own.Residues = append(own.Residues, split.Nth(slots, j))
	}
	return own
}

// concurrency returns how many requests of a closed loop with a limit may be in flight on all workers, at an instant of
// the segment. In a ramp it changes linearly with the active time, rounded down.
func (g *segment) concurrency(t int64) int64 {
	to, whole := g.rate.Count, int64(g.rate.Duration)
	if g.rate.RampFrom == nil || whole == 0 {
		return to
	}
	from, passed := *g.rate.RampFrom, min(max(g.active(t), 0), whole)
	if to >= from {
		return from + mulDiv(to-from, passed, whole, 0)
	}
	return from - mulDiv(from-to, passed, whole, whole-1)
}

// rises returns whether the concurrency grows.
func (g *segment) rises() bool {
	return g.rate.RampFrom != nil && g.rate.Duration > 0 && *g.rate.RampFrom < g.rate.Count && len(g.slots.Residues) > 0
}

// reaches returns when a concurrency that rises reaches n, or Never.
func (g *segment) reaches(n int64) int64 {
	from := *g.rate.RampFrom
	if n > g.rate.Count || g.suspended {
		return Never
	}
	return g.at - g.elapsed + mulDiv(max(n-from, 0), int64(g.rate.Duration), g.rate.Count-from, g.rate.Count-from-1)
}

// active returns the active time of the stage at an instant of the segment.
func (g *segment) active(t int64) int64 {
	if g.suspended || g.rate == nil {
		return g.elapsed
	}
	return g.elapsed + t - g.at
}

// paused returns for how long the stage was suspended before an instant of the segment.
func (g *segment) paused(t int64) int64 {
	if g.rate == nil {
		return 0
	}
	return t - g.begun - g.active(t)
}

// stageEnd returns when the stage ends if there is no change, or Never.
func (g *segment) stageEnd() int64 {
	end := int64(Never)
	if g.suspended {
		return end
	}
	if g.rate.Duration > 0 {
		end = g.at - g.elapsed + int64(g.rate.Duration)
	}
	// The instant of a slot of ArrivalsPoisson costs time for each slot before it, so it is not computed if it does not
	// matter.
	if g.arrivals != nil && g.rate.Requests > 0 && (end == Never || g.before(end) > g.rate.Requests) {
		end = min(end, g.dueBy(alone(g.arrivals), g.rate.Requests))
	}
	return end
}

// due returns when slot n of the stage is due, at or after the begin of the segment.
func (g *segment) due(n int64) int64 { return g.dueBy(g.arrivals, n) }

// dueBy is due with other arrivals.
func (g *segment) dueBy(a Arrivals, n int64) int64 {
	return add(g.at-g.elapsed+g.zero, a.Due(n-g.base))
}

// before returns how many slots of the stage are due before an instant of the segment. The stage has arrivals.
func (g *segment) before(t int64) int64 {
	return add(g.base, g.arrivals.Before(g.active(t)-g.zero))
}

// passed returns how many slots all workers had in this stage and the stages before, up to an instant of the segment.
// Slots of a closed loop have no instants: its bound counts or, if it has none, a slot for each nanosecond of active
// time. This is more than any number of requests.
func (g *segment) passed(t int64) int64 {
	if g.rate == nil {
		return g.earlier
	}
	n := g.limit()
	switch {
	case g.arrivals != nil:
		n = min(n, g.before(t))
	case g.rate.Requests == 0:
		n = max(0, g.active(t))
	}
	return g.earlier + n
}

// countEarlier sets the number of slots in the stages before g, which follows the segment before. It is called when the
// worker comes to g and not when the stages are derived: the count of ArrivalsPoisson costs time for each slot.
func (g *segment) countEarlier(before *segment) {
	g.earlier = before.earlier
	if g.stage != before.stage {
		g.earlier = before.passed(g.at)
	}
}

// limit is the number of slots that the stage may have.
func (g *segment) limit() int64 {
	if g.rate.Requests > 0 {
		return g.rate.Requests
	}
	return Never
}

// closedLoop returns whether requests are sent as soon as a stream is free.
func (g *segment) closedLoop() bool {
	return g.rate != nil && g.arrivals == nil && !g.suspended
}

// same returns whether two workers' slots are the same.
func same(a, b rv.Slots) bool { return a.Of == b.Of && slices.Equal(a.Residues, b.Residues) }

// taken are slots of a stage that the worker has taken under an earlier share: those of slots from one number to
// another.
type taken struct {
	stage    int
	slots    rv.Slots
	from, to int64
}

func (t *taken) has(n int64) bool {
	if n < t.from || n >= t.to {
		return false
	}
	_, found := slices.BinarySearch(t.slots.Residues, n%t.slots.Of)
	return found
}
