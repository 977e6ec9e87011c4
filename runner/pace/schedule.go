package pace

import (
	"math"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// Schedule says which slots a worker takes, and when. The worker takes them in the order of their numbers, stage after
// stage.
type Schedule struct {
	// rates of all stages since the last change.
	rates []rv.Rate
	// segments are in the order of their instants. The segments after the current one are what follows without a change.
	segments []segment
	// current is the segment of the worker's next slot. changed is the segment of the last change, or 0.
	current, changed int
	// halted is true if the load has ended before the end of its last stage.
	halted bool
	// position has, for each stage, a slot: the worker has taken all of its slots below. For the current stage it is next.
	position []int64
	// taken are slots that the worker does not take again. All of the current stage are below takenBelow.
	taken      []taken
	takenBelow int64
	// next is the worker's next slot of the current stage, Never without residues. residue is its index in the worker's
	// residues. due is when the slot is due: Never in a closed loop, while suspended, and if the stage ends before.
	next    int64
	residue int
	due     int64
}

// Change is a change of the schedule from an instant on.
type Change struct {
	At int64
	// Rates are those of all stages. Only Count, Period and RampFrom may differ from the rates before, and Count may not
	// in a closed loop that ends by requests.
	Rates []rv.Rate
	// Suspended is true if no slot is due until the next Change without it.
	Suspended bool
	// Slots are the worker's slots from At on; nil: they stay the same.
	Slots *rv.Slots
}

// New returns the schedule of a worker with these slots.
func New(rates []rv.Rate, slots rv.Slots) Schedule {
	before := segment{stage: -1, at: math.MinInt64, begun: math.MinInt64, end: Never, slots: slots}
	return Schedule{rates: rates, segments: []segment{before}, position: make([]int64, len(rates)), next: Never,
		due: Never}
}

// Start sets the instant of the first stage.
func (s *Schedule) Start(at int64) {
	s.segments[s.current].end = at
	s.derive()
}

// derive appends the stages that follow the last segment.
func (s *Schedule) derive() {
	for {
		last := &s.segments[len(s.segments)-1]
		if last.stage == len(s.rates) || last.end == Never {
			return
		}
		s.segments = append(s.segments, last.begin(last.stage+1, last.end, s.rates))
	}
}

// Change applies a change. Changes come in the order of their instants. The worker has taken all of its slots before
// this instant; it may have taken later ones. At the instant at which a stage ends, a change applies to this stage and
// not to the next one. After Halt, the load remains over.
func (s *Schedule) Change(c Change) {
	s.leave()
	s.rates = c.Rates
	n := s.until(c.At)
	last := &s.segments[n-1]
	next := last.change(&c)
	if !same(last.slots, next.slots) {
		s.share(last, c.At)
	}
	s.segments = append(s.segments[:n], next)
	s.changed = n
	s.derive()
	s.enter(n)
}

// until returns how many segments begin before an instant. Segments up to the last change do, and after Halt all do.
func (s *Schedule) until(at int64) int {
	n := len(s.segments)
	for !s.halted && n > s.changed+1 && s.segments[n-1].at >= at {
		n--
	}
	return n
}

// share sets the positions from which the worker takes the slots of another share than that of g. In stages with
// arrivals it takes those from the instant of the change on, except those that it has taken. For a closed loop, the
// workers are assumed to have sent equally many requests.
func (s *Schedule) share(g *segment, at int64) {
	for i := max(0, g.stage); i < len(s.rates); i++ {
		from := int64(0)
		switch r := &s.rates[i]; {
		case r.ClosedLoop && r.Requests > 0:
			continue
		case r.ClosedLoop:
			if i == g.stage {
				s.position[i] = max(s.position[i], g.active(at))
			}
			continue
		case i == g.stage:
			from = g.before(at)
		}
		if split.CountBelow(g.slots, s.position[i]) > split.CountBelow(g.slots, from) {
			s.taken = append(s.taken, taken{stage: i, slots: g.slots, from: from, to: s.position[i]})
		}
		s.position[i] = from
	}
}

// Leave ends the load at an instant, which is not before the last change, as Halt does.
func (s *Schedule) Leave(at int64) {
	s.leave()
	s.enter(s.until(at) - 1)
	s.Halt(at)
}

// Halt ends the load at an instant of the current segment, unless it is over. No later change continues it.
func (s *Schedule) Halt(at int64) {
	s.halted = true
	if !s.Over() {
		s.follow(len(s.rates), at)
	}
}

// EndStage ends the current stage, which is Exhausted, at an instant of the current segment.
func (s *Schedule) EndStage(at int64) {
	s.follow(s.Stage()+1, at)
}

// follow lets a stage follow the current segment at an instant.
func (s *Schedule) follow(stage int, at int64) {
	s.leave()
	g := &s.segments[s.current]
	s.segments = append(s.segments[:s.current+1], g.begin(stage, at, s.rates))
	s.derive()
	s.enter(s.current + 1)
}

// Advance moves to the next stage if the current one ends before an instant, and returns whether it has moved. The
// worker has taken, or dropped, all slots of the current stage.
func (s *Schedule) Advance(until int64) bool {
	if n := s.current + 1; n < len(s.segments) && s.segments[n].at < until {
		s.leave()
		s.enter(n)
		return true
	}
	return false
}

// leave notes how far the worker has come in the current stage.
func (s *Schedule) leave() {
	if s.next != Never {
		s.position[s.segments[s.current].stage] = s.next
	}
}

// enter makes a segment the current one.
func (s *Schedule) enter(n int) {
	for i := max(1, min(n, s.current+1)); i <= n; i++ {
		s.segments[i].countEarlier(&s.segments[i-1])
	}
	s.current = n
	g := &s.segments[n]
	s.next, s.due, s.takenBelow = Never, Never, 0
	if g.rate == nil || len(g.own.Residues) == 0 {
		return
	}
	for i := range s.taken {
		if t := &s.taken[i]; t.stage == g.stage {
			s.takenBelow = max(s.takenBelow, t.to)
		}
	}
	below := split.CountBelow(g.own, s.position[g.stage])
	s.residue = int(below % int64(len(g.own.Residues)))
	s.next = split.Nth(g.own, below)
	s.find()
}

// step goes to the worker's next slot.
func (s *Schedule) step(slots *rv.Slots) {
	was := slots.Residues[s.residue]
	if s.residue++; s.residue == len(slots.Residues) {
		s.residue = 0
		was -= slots.Of
	}
	s.next += slots.Residues[s.residue] - was
}

// find skips slots that the worker has taken, and computes when the next one is due.
func (s *Schedule) find() {
	g := &s.segments[s.current]
	for s.next < s.takenBelow && s.hasTaken(g.stage, s.next) {
		s.step(&g.own)
	}
	s.due = Never
	if g.arrivals == nil || g.suspended || s.next >= g.limit() {
		return
	}
	if due := g.due(s.next); due < g.end {
		s.due = due
	}
}

func (s *Schedule) hasTaken(stage int, n int64) bool {
	for i := range s.taken {
		if t := &s.taken[i]; t.stage == stage && t.has(n) {
			return true
		}
	}
	return false
}

// Due returns when the next slot of the current stage is due. It is Never if the worker has no further slot in the
// stage, in a closed loop, and while the load is suspended.
func (s *Schedule) Due() int64 { return s.due }

// Take takes the next slot and returns its number in the stage.
func (s *Schedule) Take() int64 {
	n := s.next
	s.step(&s.segments[s.current].own)
	s.find()
	return n
}

// Drop takes all slots of the current stage that are due before an instant, and returns how many.
func (s *Schedule) Drop(until int64) (n int64) {
	for s.due < until && s.next < s.takenBelow {
		s.Take()
		n++
	}
	if s.due >= until {
		return n
	}
	g := &s.segments[s.current]
	to := min(g.limit(), g.before(min(until, g.end)))
	n += split.CountBelow(g.slots, to) - split.CountBelow(g.slots, s.next)
	s.next = to
	s.leave()
	s.enter(s.current)
	return n
}

// Slot returns the number of the next slot in the current stage.
func (s *Schedule) Slot() int64 { return s.next }

// Earlier returns how many slots all workers had in the stages before the current one. See Passed.
func (s *Schedule) Earlier() int64 { return s.segments[s.current].earlier }

// Passed returns how many slots all workers had before an instant that is not after the current segment. All workers
// come to the same number. In a closed loop without a bound on requests, each nanosecond of active time counts as a
// slot.
func (s *Schedule) Passed(at int64) int64 {
	n := s.current
	for n > 0 && s.segments[n].at >= at {
		n--
	}
	return s.segments[n].passed(at)
}

// Stage returns the index of the current stage: -1 before the start, and the number of stages after the load.
func (s *Schedule) Stage() int { return s.segments[s.current].stage }

// Over returns whether the load is over.
func (s *Schedule) Over() bool { return s.Stage() == len(s.rates) }

// ClosedLoop returns whether the worker sends a request as soon as a stream is free, and as Concurrency allows it.
func (s *Schedule) ClosedLoop() bool { return s.next != Never && s.segments[s.current].closedLoop() }

// Concurrency returns how many requests the worker may have in flight in a closed loop at an instant, and Never if
// there is no limit. The limits of all workers add up to the limit of the stage. The worker's limit rises next at
// rises, or Never.
func (s *Schedule) Concurrency(now int64) (limit, rises int64) {
	g := &s.segments[s.current]
	if g.rate.Count == 0 {
		return Never, Never
	}
	limit = split.CountBelow(g.slots, g.concurrency(now))
	if !g.rises() {
		return limit, Never
	}
	return limit, g.reaches(split.Nth(g.slots, limit) + 1)
}

// Since returns the instant of the last change or of the begin of the current stage, whichever is later.
func (s *Schedule) Since() int64 { return s.segments[s.current].at }

// Rate returns the rate of the current stage, nil before the start and after the load.
func (s *Schedule) Rate() *rv.Rate { return s.segments[s.current].rate }

// Exhausted returns whether the current stage is a closed loop of which the worker has sent all requests. A worker
// without slots waits for the end of the stage if it has a duration.
func (s *Schedule) Exhausted() bool {
	g := &s.segments[s.current]
	return g.closedLoop() && s.next >= g.limit() && g.rate.Requests > 0 && (s.next != Never || g.rate.Duration == 0)
}

// Suspended returns whether no slot is due until the next change.
func (s *Schedule) Suspended() bool { return s.segments[s.current].suspended && !s.Over() }

// Changed returns whether there was a change after the start.
func (s *Schedule) Changed() bool { return s.segments[s.changed].stage >= 0 }

// StageEnd returns when the current stage ends if there is no change, or Never.
func (s *Schedule) StageEnd() int64 { return s.segments[s.current].end }

// LoadEnd returns when the load ends, or has ended. It is Never if this is not known: a stage that is suspended or
// bounded by requests only comes first.
func (s *Schedule) LoadEnd() int64 {
	if last := &s.segments[len(s.segments)-1]; last.stage == len(s.rates) {
		return last.begun
	}
	return Never
}

// Paused returns for how long the load was suspended before the current segment.
func (s *Schedule) Paused() int64 {
	g := &s.segments[s.current]
	return g.pauses + g.paused(g.at)
}

// Span is when a stage began and ended.
type Span struct {
	// Begun is false if the worker has not come to the stage, and Ended if it has not come to its end.
	Begun, Ended bool
	From, To     int64
	// Paused is for how long the stage was suspended.
	Paused int64
}

// Span returns when a stage began and ended, as seen at an instant.
func (s *Schedule) Span(stage int, now int64) (out Span) {
	var before int64
	for i := range s.segments[:s.current+1] {
		g := &s.segments[i]
		switch {
		case g.stage == stage && !out.Begun:
			out.Begun, out.From, before = true, g.at, g.pauses
		case g.stage > stage && out.Begun:
			out.Ended, out.To, out.Paused = true, g.at, g.pauses-before
			return out
		}
	}
	if g := &s.segments[s.current]; out.Begun {
		out.Paused = g.paused(now)
	}
	return out
}
