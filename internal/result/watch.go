package result

import (
	"fmt"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// Watch has the figures of each threshold of a plan while the test runs: those so far, and those of sliding windows. It
// decodes only the distributions that thresholds are on.
//
// The time is divided into intervals of about a second, each between two looks at all runners. A window is a number of
// consecutive intervals. It is not safe for concurrent use.
type Watch struct {
	plan *runnerv1alpha1.Plan
	// of is the index into parts for each threshold. Part 0 is the run.
	of    []int
	parts []watchedPart
	// selections are those of the plan, and before them the response times of the run.
	selections []runnerv1alpha1.Selection
	sliding    []*sliding // by threshold; nil: no window
	runners    map[Runner]*looked
	// expected is the number of shards at the start; the first interval waits for them.
	expected int
	from     time.Duration
	adder    histogram.Adder
}

// watchedPart is the sum over all runners: of the run, and since the last interval.
type watchedPart struct {
	counts, since         tallies
	time, timeSince       histogram.H
	hasTime, hasIntervals bool
}

// tallies are counts of a part.
type tallies struct {
	runnerv1alpha1.SelectionCounts

	retried, reconnects, chainsCompleted, chainsAborted int64
}

func (t *tallies) add(o *tallies, sign int64) {
	t.Add(&o.SelectionCounts, sign)
	t.retried, t.reconnects = t.retried+sign*o.retried, t.reconnects+sign*o.reconnects
	t.chainsCompleted, t.chainsAborted = t.chainsCompleted+sign*o.chainsCompleted, t.chainsAborted+sign*o.chainsAborted
}

// looked is a runner: when the last interval ended, and now.
type looked struct {
	base, last runnerv1alpha1.Snapshot // without distributions
	counts     []tallies
	times      []runnerv1alpha1.Histogram
	silent     bool
	// resumed is true if what the runner did before was not watched.
	resumed bool
}

// interval is the time between two looks at a runner.
func (p *looked) interval() time.Duration { return offset(&p.last) - offset(&p.base) }

// gone returns whether the runner had ended its load before the interval.
func (p *looked) gone() bool { return p.base.EndedAt != 0 || p.silent && p.interval() == 0 }

// steady returns whether the runner sent load in the whole interval.
func (p *looked) steady() bool {
	return p.interval() > 0 && p.last.EndedAt == 0 && !p.base.Suspended && !p.last.Suspended &&
		!p.base.LeaseExpired && !p.last.LeaseExpired && p.base.LeaseGaps == p.last.LeaseGaps && !p.resumed
}

const (
	// interval is how long an interval must be. Looks are not exactly a second apart.
	shortest = time.Second - early
	// longest: after it, an interval does not wait for more runners.
	longest = 2 * time.Second
	// maxIntervals is the maximum number of intervals of a window. Longer windows have longer intervals.
	maxIntervals = 60
)

// NewWatch returns the figures of no snapshots, for a run that begins with so many shards.
func NewWatch(plan *runnerv1alpha1.Plan, shards int) *Watch {
	selections, of := plan.Selections()
	w := &Watch{
		plan: plan, of: make([]int, len(of)), parts: make([]watchedPart, 1+len(selections)), sliding: make([]*sliding, len(of)),
		runners: map[Runner]*looked{}, expected: shards,
		selections: append([]runnerv1alpha1.Selection{{Time: runnerv1alpha1.MetricResponseTime}}, selections...),
	}
	for i := range selections {
		w.parts[1+i].hasTime = selections[i].Time != ""
	}
	for i := range plan.Thresholds {
		t := &plan.Thresholds[i]
		w.of[i] = 1 + of[i]
		if w.of[i] == 0 && t.Metric.IsTime() {
			w.parts[0].hasTime = true
		}
		if t.Window > 0 {
			w.sliding[i] = &sliding{length: t.Window, step: max(time.Second, t.Window/maxIntervals)}
			w.parts[w.of[i]].hasIntervals = true
		}
	}
	return w
}

// Add adds a snapshot. One that was overtaken, or of a runner that has not begun, changes nothing. It returns true if the
// windows moved.
func (w *Watch) Add(s *runnerv1alpha1.Snapshot) (moved bool, err error) {
	if s.StartedAt == 0 || offset(s) < 0 {
		return false, nil
	}
	if n := len(s.Selections); n != 0 && n != len(w.parts)-1 {
		return false, fmt.Errorf("it has %d selections, the plan has %d", n, len(w.parts)-1)
	}
	known := w.runners[runnerOf(s)]
	switch {
	case known != nil && s.Sequence <= known.last.Sequence:
		return false, nil
	case known == nil:
		known = w.meet(s)
		w.runners[runnerOf(s)] = known
	}
	for i := range w.parts {
		if err := w.addPart(known, s, i); err != nil {
			return false, err
		}
	}
	known.last, known.silent = brief(s), false
	if !w.isDue() {
		return false, nil
	}
	w.close()
	return true, nil
}

// meet notes a runner that is new. What a runner did long before is in no window.
func (w *Watch) meet(s *runnerv1alpha1.Snapshot) *looked {
	out := &looked{counts: make([]tallies, len(w.parts)), times: make([]runnerv1alpha1.Histogram, len(w.parts))}
	out.base = runnerv1alpha1.Snapshot{StartAt: s.StartAt, StartedAt: s.StartedAt, Clock: s.StartedAt, Suspended: s.Suspended}
	if time.Duration(s.Clock-s.StartedAt) > missed {
		out.base, out.resumed = brief(s), true
		w.from = max(w.from, offset(s))
	}
	return out
}

// brief is what Watch needs of a snapshot later.
func brief(s *runnerv1alpha1.Snapshot) runnerv1alpha1.Snapshot {
	out := slim(s)
	out.LeaseExpired, out.LeaseGaps = s.LeaseExpired, s.LeaseGaps
	return out
}

func (w *Watch) addPart(known *looked, s *runnerv1alpha1.Snapshot, i int) error {
	part := &w.parts[i]
	if i > 0 && len(s.Selections) == 0 {
		return nil
	}
	now, h := w.tally(s, i)
	part.counts.add(&now, 1)
	part.counts.add(&known.counts[i], -1)
	var since *histogram.H
	if part.hasIntervals && !known.resumed {
		part.since.add(&now, 1)
		part.since.add(&known.counts[i], -1)
		since = &part.timeSince
	}
	known.counts[i] = now
	if !part.hasTime || h.Count == 0 { // a stored snapshot can lack it
		return nil
	}
	if err := w.adder.AddSince(*h, known.times[i], &part.time, since); err != nil {
		return fmt.Errorf("time of threshold figures %d: %w", i, err)
	}
	known.times[i] = *h
	return nil
}

// tally returns the counts and the distribution of a part in a snapshot.
func (w *Watch) tally(s *runnerv1alpha1.Snapshot, part int) (tallies, *runnerv1alpha1.Histogram) {
	if part > 0 {
		sel := &s.Selections[part-1]
		out := tallies{SelectionCounts: sel.SelectionCounts}
		out.addRun(s)
		return out, &sel.Time
	}
	c := &s.Counters
	out := tallies{SelectionCounts: runnerv1alpha1.SelectionCounts{
		Sent: c.Sent, Done: c.Done, Succeeded: c.Succeeded, TimedOut: c.TimedOut, Reset: c.Reset,
		ConnectionLost: c.ConnectionLost, Dropped: c.Dropped, InClass: c.Done,
	}}
	for i := range s.Stages {
		if i < len(w.plan.Rates) && !w.plan.Rates[i].WarmUp {
			out.SentInDrain += s.Stages[i].SentInDrain
		}
	}
	out.addRun(s)
	return out, &s.ResponseTime
}

// addRun adds the counts that are of the run only.
func (t *tallies) addRun(s *runnerv1alpha1.Snapshot) {
	t.retried, t.reconnects = s.Counters.Retried, s.Counters.Reconnects
	for i := range s.Chains {
		t.chainsCompleted += s.Chains[i].Completed
		t.chainsAborted += s.Chains[i].Aborted
	}
}

// isDue returns whether the interval ends: all runners were looked at, or one of them so late that the others are not
// waited for.
func (w *Watch) isDue() bool {
	end := w.end()
	all := len(w.runners) >= w.expected
	for _, p := range w.runners {
		switch {
		case p.interval() >= longest:
			return end > w.from
		case !p.gone() && p.last.State != runnerv1alpha1.StateDone && p.interval() < shortest:
			all = false
		}
	}
	return all && end-w.from >= shortest
}

func (w *Watch) end() time.Duration {
	end := w.from
	for _, p := range w.runners {
		end = max(end, offset(&p.last))
	}
	return end
}

// close ends the interval, and moves the windows. An interval with warm-up, a pause, a runner that ended, or a runner that
// did not answer is in no window.
func (w *Watch) close() {
	end := w.end()
	start, measured := w.Begun("")
	steady := measured && w.from >= start
	loaded := false
	for _, p := range w.runners {
		if p.gone() {
			continue
		}
		loaded = true
		steady = steady && p.steady()
	}
	for i, s := range w.sliding {
		if s == nil {
			continue
		}
		part := &w.parts[w.of[i]]
		if !steady || !loaded {
			s.reset()
			continue
		}
		s.add(end-w.from, &part.since, &part.timeSince)
	}
	for i := range w.parts {
		w.parts[i].since = tallies{}
		w.parts[i].timeSince.Reset()
	}
	for _, p := range w.runners {
		p.silent = p.interval() == 0
		p.base, p.resumed = p.last, false
	}
	w.from = end
}

// Begun returns when the first measured stage began, or the measured stage with a name, and false if it did not begin.
func (w *Watch) Begun(stage string) (at time.Duration, ok bool) {
	for i := range w.plan.Rates {
		if w.plan.Rates[i].WarmUp || stage != "" && w.plan.Rates[i].Name != stage {
			continue
		}
		for _, p := range w.runners {
			if !hasBegun(w.plan, &p.last, i) {
				continue
			}
			if b := time.Duration(p.last.Stages[i].Begun); !ok || b < at {
				at, ok = b, true
			}
		}
	}
	return at, ok
}

// Elapsed returns the time since the start.
func (w *Watch) Elapsed() time.Duration { return w.end() }

// SoFar returns the figures of a threshold since the start, without requests in flight.
func (w *Watch) SoFar(threshold int) Figures {
	part, name := &w.parts[w.of[threshold]], w.plan.Thresholds[threshold].Of.Stage
	snapshots := make([]runnerv1alpha1.Snapshot, 0, len(w.runners))
	for _, p := range w.runners {
		snapshots = append(snapshots, p.last)
	}
	window := time.Duration(rate(w.plan, snapshots).WindowSeconds * float64(time.Second))
	for i := range w.plan.Rates {
		if name != "" && w.plan.Rates[i].Name == name {
			window = addStage(w.plan, snapshots, i).window
		}
	}
	h := histogram.New()
	h.Merge(&part.time)
	return w.figuresOf(w.of[threshold], &part.counts, window, h)
}

// Window returns the figures of the present window of a threshold, and false if there is no whole window.
func (w *Watch) Window(threshold int) (Figures, bool) {
	s := w.sliding[threshold]
	if s == nil || !s.whole() {
		return Figures{}, false
	}
	counts, h := s.sum()
	return w.figuresOf(w.of[threshold], &counts, s.lasts, h), true
}

// figuresOf returns the figures of a part. It leaves out requests without an outcome.
func (w *Watch) figuresOf(part int, c *tallies, window time.Duration, h *histogram.H) Figures {
	u := unansweredBy(w.plan, &w.selections[part], &c.SelectionCounts, false)
	u.addTo(h)
	out := Figures{
		Requests: requestsOf(&c.SelectionCounts), InClass: c.InClass, Reconnects: c.reconnects,
		ChainsCompleted: c.chainsCompleted, ChainsAborted: c.chainsAborted, Notifications: notificationsOf(&c.SelectionCounts),
		Rate: perSecond(c.Sent-c.SentInDrain, window), Seconds: window.Seconds(),
		time: func(runnerv1alpha1.Metric) (*histogram.H, error) { return h, nil },
	}
	out.Requests.Retried = c.retried
	out.Requests.Sent -= out.Requests.InFlightAtEnd
	out.Requests.InFlightAtEnd = 0
	return out
}

// sliding is a window that moves in steps.
type sliding struct {
	length, step time.Duration
	// open is the step that is not complete, and steps are those of the window, oldest first.
	open  slidingStep
	steps []slidingStep
	// lasts is the sum of the lengths of steps. moved is true if a step was added since the last look.
	lasts time.Duration
	moved bool
}

type slidingStep struct {
	lasts  time.Duration
	counts tallies
	time   spectrum
}

func (s *sliding) reset() { *s = sliding{length: s.length, step: s.step} }

// add adds an interval. It completes a step if the step is long enough.
func (s *sliding) add(lasts time.Duration, counts *tallies, h *histogram.H) {
	s.moved = false
	s.open.lasts += lasts
	s.open.counts.add(counts, 1)
	s.open.time = joined(s.open.time, spectrumOf(h))
	if s.open.lasts < s.step-early {
		return
	}
	s.steps, s.lasts, s.moved = append(s.steps, s.open), s.lasts+s.open.lasts, true
	s.open = slidingStep{}
	for s.lasts-s.steps[0].lasts >= s.length-early {
		s.lasts -= s.steps[0].lasts
		s.steps = s.steps[1:]
	}
}

// whole returns whether a window ended with the last interval.
func (s *sliding) whole() bool { return s.moved && s.lasts >= s.length-early }

func (s *sliding) sum() (counts tallies, h *histogram.H) {
	h = histogram.New()
	for i := range s.steps {
		counts.add(&s.steps[i].counts, 1)
		for c := s.steps[i].time.first(); c.more; c.next() {
			h.RecordN(c.highest, c.count)
		}
	}
	return counts, h
}
