package search

import (
	"fmt"
	"math"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// State is what a search does.
type State string

const (
	// Bracketing looks for one load that holds and one that does not.
	Bracketing State = "Bracketing"
	// Bisecting probes the geometric mean of these two.
	Bisecting State = "Bisecting"
	// ConfirmingUpper probes the lowest load that did not hold again.
	ConfirmingUpper State = "ConfirmingUpper"
	// Rising probes a load above it, because it held the second time.
	Rising State = "Rising"
	// ConfirmingLower probes the highest load that held again.
	ConfirmingLower State = "ConfirmingLower"
	// Falling probes a load below it, because it did not hold the second time.
	Falling State = "Falling"
	// Done: there is a result.
	Done State = "Done"
)

// growth is the ratio of two loads while the search is Bracketing.
const growth = 4

// Search chooses the loads of probes.
type Search struct {
	settings rv.Search
	state    State
	// next is the load of the next probe.
	next int64
	// lower is the highest load that held, upper the lowest one that did not; 0: none.
	lower, upper int64
	// bound is true if the generator was the bottleneck at upper, and not the target.
	bound bool
	// late is the lowest load at which the generator was the bottleneck; 0: none.
	late int64
	// probes counts all probes, those that are repeated too.
	probes  int
	outcome rv.SearchOutcome
	message string
}

// New returns a search that has no probes yet.
func New(s rv.Search) *Search {
	out := &Search{settings: s, state: Bracketing}
	out.next = out.clamp(s.Start)
	return out
}

// Replay returns a search after these probes.
func Replay(s rv.Search, probes []rv.ProbeResult) *Search {
	out := New(s)
	for i := range probes {
		out.Observe(probes[i].Outcome)
	}
	return out
}

// State returns what the search does.
func (s *Search) State() State { return s.state }

// Probes returns the number of probes so far, which is the index of the next one.
func (s *Search) Probes() int { return s.probes }

// Next returns the load of the next probe; false: the search has ended.
func (s *Search) Next() (int64, bool) { return s.next, s.state != Done }

// transitions has what a search does after a probe, by its state and by what the probe showed. A search that is Done
// does nothing. ProbeInvalid has no entry: the probe is repeated.
var transitions = map[State]map[rv.ProbeOutcome]func(*Search){
	Bracketing: {
		rv.ProbeHeld:           (*Search).grow,
		rv.ProbeFailed:         (*Search).shrink,
		rv.ProbeGeneratorBound: (*Search).shrink,
	},
	Bisecting: {
		rv.ProbeHeld:           (*Search).bisect,
		rv.ProbeFailed:         (*Search).bisect,
		rv.ProbeGeneratorBound: (*Search).bisect,
	},
	ConfirmingUpper: {
		rv.ProbeHeld:           (*Search).rise,
		rv.ProbeFailed:         (*Search).confirmLower,
		rv.ProbeGeneratorBound: (*Search).confirmLower,
	},
	Rising: {
		rv.ProbeHeld:           (*Search).movedUp,
		rv.ProbeFailed:         (*Search).found,
		rv.ProbeGeneratorBound: (*Search).found,
	},
	ConfirmingLower: {
		rv.ProbeHeld:           (*Search).found,
		rv.ProbeFailed:         (*Search).fall,
		rv.ProbeGeneratorBound: (*Search).found,
	},
	Falling: {
		rv.ProbeHeld:           (*Search).found,
		rv.ProbeFailed:         (*Search).movedDown,
		rv.ProbeGeneratorBound: (*Search).found,
	},
}

// Observe takes what the probe at Next showed.
func (s *Search) Observe(outcome rv.ProbeOutcome) {
	if s.state == Done {
		return
	}
	s.probes++
	if step := transitions[s.state][outcome]; step != nil {
		s.note(outcome)
		step(s)
	}
	if s.state != Done && s.probes >= s.settings.MaxProbes {
		s.end(rv.SearchIncomplete, "all %d probes were used before there was a result", s.probes)
		if s.late > 0 {
			s.message += "; the generator was the bottleneck at " + s.text(s.late)
		}
	}
}

// note sets the two loads while they are looked for. A confirmation changes them only if a load next to it agrees.
func (s *Search) note(outcome rv.ProbeOutcome) {
	generator := outcome == rv.ProbeGeneratorBound
	if generator && (s.late == 0 || s.next < s.late) {
		s.late = s.next
	}
	switch s.state {
	case Bracketing, Bisecting:
		if outcome == rv.ProbeHeld {
			s.lower = s.next
		} else {
			s.upper, s.bound = s.next, generator
		}
	case ConfirmingUpper: // the target is the cause if one of the two probes shows it
		if outcome != rv.ProbeHeld {
			s.bound = s.bound && generator
		}
	case ConfirmingLower:
		s.bound = s.bound || generator
	case Rising:
		if outcome != rv.ProbeHeld {
			s.lower, s.upper, s.bound = s.upper, s.next, generator
		}
	case Falling:
		switch outcome {
		case rv.ProbeHeld:
			s.lower, s.upper, s.bound = s.next, s.lower, false
		case rv.ProbeGeneratorBound:
			s.bound = true
		}
	}
}

// grow is after a probe that held.
func (s *Search) grow() {
	switch {
	case s.upper > 0:
		s.bisect()
	case s.lower == s.settings.Max:
		s.end(rv.SearchMaximumHeld, "%s held, the maximum of the search; the target may be able to do more", s.text(s.lower))
	default:
		s.next = s.clamp(times(s.lower, growth))
	}
}

// shrink is after a probe that did not hold.
func (s *Search) shrink() {
	switch {
	case s.lower > 0:
		s.bisect()
	case s.upper > s.settings.Min:
		s.next = s.clamp(s.upper / growth)
	case s.bound:
		s.end(rv.SearchGeneratorBound, "the generator was the bottleneck at %s, the minimum of the search", s.text(s.upper))
	default:
		s.end(rv.SearchNotFound, "no load held, not even %s, the minimum of the search", s.text(s.upper))
	}
}

// bisect chooses the load between the two, or ends the bisection if they are close enough.
func (s *Search) bisect() {
	s.state = Bisecting
	s.next = int64(math.Round(math.Sqrt(float64(s.lower) * float64(s.upper))))
	s.next = min(max(s.next, s.lower+1), s.upper-1)
	if s.upper-s.lower <= 1 || float64(s.upper) <= float64(s.lower)*(1+s.settings.Precision) {
		s.state, s.next = ConfirmingUpper, s.upper
	}
}

// rise is after the upper load held the second time.
func (s *Search) rise() {
	if s.upper >= s.settings.Max {
		s.lower, s.upper = s.upper, 0
		s.end(rv.SearchMaximumHeld, "%s held, the maximum of the search, which it had not the first time; the target may be able to do more", s.text(s.lower))
		return
	}
	s.state, s.next = Rising, s.clamp(max(s.upper+1, int64(math.Round(float64(s.upper)*(1+s.settings.Precision)))))
}

// confirmLower is after the upper load did not hold the second time either.
func (s *Search) confirmLower() { s.state, s.next = ConfirmingLower, s.lower }

// fall is after the lower load did not hold the second time. The step is half of the precision: the load is at the
// edge.
func (s *Search) fall() {
	if s.lower == s.settings.Min {
		s.contradict("%s, the minimum of the search, held first and failed later", s.text(s.lower))
		s.upper = s.lower
		return
	}
	s.state, s.next = Falling, s.clamp(min(s.lower-1, int64(math.Round(float64(s.lower)/(1+s.settings.Precision/2)))))
}

// found ends the search with the two loads.
func (s *Search) found() {
	if s.bound {
		s.end(rv.SearchGeneratorBound,
			"%s held, and the generator was the bottleneck at %s; the target may be able to do more", s.text(s.lower),
			s.text(s.upper))
		return
	}
	s.end(rv.SearchFound, "%s is the highest %s that held; %s failed", s.text(s.lower), s.noun(), s.text(s.upper))
}

// contradict ends a search whose probes contradict each other. The target is the cause only if the generator was never
// the bottleneck. At a load that the search confirms, or below it, the generator is the more likely cause.
func (s *Search) contradict(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	switch {
	case s.late == 0:
		s.end(rv.SearchMoved, "the capacity of the target changed during the search: %s", what)
	case s.late > max(s.upper, s.next):
		s.end(rv.SearchMoved, "the capacity of the target may have changed during the search: %s; the generator was the bottleneck at %s", what, s.text(s.late))
	default:
		s.end(rv.SearchGeneratorBound, "the generator was the bottleneck at %s, which can be why %s", s.text(s.late), what)
	}
}

func (s *Search) movedUp() {
	if s.bound { // the generator, not the target, could do more the second time
		s.lower, s.upper, s.bound, s.state = s.next, 0, false, Bracketing
		s.grow()
		return
	}
	s.contradict("%s failed first and held later, and %s held, too", s.text(s.upper), s.text(s.next))
	s.lower = s.next
}

func (s *Search) movedDown() {
	s.contradict("%s held first and failed later, and %s failed, too", s.text(s.lower), s.text(s.next))
	s.upper = s.next
}

func (s *Search) end(outcome rv.SearchOutcome, format string, args ...any) {
	s.state, s.outcome, s.message = Done, outcome, fmt.Sprintf(format, args...)
}

// Result returns the result with the probes that led to it. A search that has not ended is Incomplete.
func (s *Search) Result(probes []rv.ProbeResult) rv.SearchResult {
	out := rv.SearchResult{Outcome: s.outcome, Message: s.message, Concurrency: s.settings.Concurrency, Highest: s.lower,
		Lowest: s.upper, Probes: probes}
	if s.state != Done {
		out.Outcome, out.Message = rv.SearchIncomplete,
			fmt.Sprintf("the run ended after %d probes, before there was a result", s.probes)
	}
	return out
}

func (s *Search) clamp(load int64) int64 { return min(max(load, s.settings.Min), s.settings.Max) }

// times returns the product, or the largest number.
func times(a, b int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

func (s *Search) text(load int64) string { return s.settings.Text(load) }

// noun is the name of the load.
func (s *Search) noun() string {
	if s.settings.Concurrency {
		return "concurrency"
	}
	return "rate"
}
