package cli

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/search"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// searching runs the probes of a search. It belongs to the goroutine that runs the execution.
type searching struct {
	plan   *rv.Plan
	live   *live
	search *search.Search
	probes []rv.ProbeResult
	// before are the counts when the current probe began; nil: no probe has begun.
	before *rv.Snapshot
	// until is the time from the start at which the current probe is over, except for its last responses.
	until time.Duration
	cpus  int
}

// lookEvery is how often the responses of a probe are awaited.
const lookEvery = 10 * time.Millisecond

// newSearching returns nil if the test has no search.
func newSearching(j *job, l *live) *searching {
	if j.plan.Search == nil {
		return nil
	}
	return &searching{plan: j.plan, live: l, search: search.New(*j.plan.Search), cpus: j.cpus}
}

// due returns whether the current probe can be over.
func (s *searching) due() bool { return s != nil && s.live.begun && s.live.elapsed() >= s.until }

// look begins the next probe if all requests of the current one have an outcome. It returns false if the search has
// ended.
func (s *searching) look(now *rv.Snapshot) (bool, error) {
	if !search.Waits(s.plan, s.search.Probes()+s.begun(), []rv.Snapshot{*now}) {
		return true, nil
	}
	if s.before != nil {
		if err := s.judge(now); err != nil {
			return false, err
		}
	}
	load, more := s.search.Next()
	if !more {
		return false, nil
	}
	if s.live.put(search.Rates(s.plan, s.live.rates, s.search.Probes(), load), false) {
		s.before = now
		s.until = s.live.elapsed() + s.plan.Search.Settle + s.plan.Search.Duration
	}
	return true, nil
}

// begun returns 1 while a probe runs that the search has not observed.
func (s *searching) begun() int {
	if s.before == nil {
		return 0
	}
	return 1
}

// judge adds the probe that has ended.
func (s *searching) judge(now *rv.Snapshot) error {
	load, _ := s.search.Next()
	p, err := search.Figures(s.plan, s.search.Probes(), load, []rv.Snapshot{*s.before}, []rv.Snapshot{*now},
		verdict.Facts{CPUs: s.cpus})
	if err != nil {
		return err
	}
	s.probes = append(s.probes, p)
	s.search.Observe(p.Outcome)
	s.live.shown.show(search.Line(s.plan.Search, len(s.probes), &p))
	return nil
}

// result returns the result so far; nil: the test has no search.
func (s *searching) result() *rv.SearchResult {
	if s == nil {
		return nil
	}
	out := s.search.Result(s.probes)
	return &out
}
