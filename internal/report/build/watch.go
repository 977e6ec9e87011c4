package build

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
	clock[watchedCounts]

	plan *runnerv1alpha1.Plan
	// of is the index into parts for each threshold. Part 0 is the run.
	of    []int
	parts []watchedPart
	// selections are those of the plan, and before them the response times of the run.
	selections []runnerv1alpha1.Selection
	sliding    []*sliding // by threshold; nil: no window
	adder      histogram.Adder
	// samples are those of the last snapshots, and observations the result of them; nil: not computed since.
	samples      map[Runner][]runnerv1alpha1.ObservationSamples
	observations []runnerv1alpha1.ObservationResult
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

// watchedCounts are the counts and distributions of each part in the last snapshot of a runner.
type watchedCounts struct {
	counts []tallies
	times  []runnerv1alpha1.Histogram
}

// interval is the length of an interval.
const interval = time.Second

// maxIntervals is the maximum number of intervals of a window. Longer windows have longer intervals.
const maxIntervals = 60

// NewWatch returns the figures of no snapshots, for a run that begins with so many shards.
func NewWatch(plan *runnerv1alpha1.Plan, shards int) *Watch {
	selections, of := plan.Selections()
	w := &Watch{
		plan: plan, of: make([]int, len(of)), parts: make([]watchedPart, 1+len(selections)),
		sliding:    make([]*sliding, len(of)),
		clock:      newClock[watchedCounts](shards),
		samples:    map[Runner][]runnerv1alpha1.ObservationSamples{},
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
			w.sliding[i] = &sliding{length: t.Window, step: max(interval, t.Window/maxIntervals)}
			w.parts[w.of[i]].hasIntervals = true
		}
	}
	return w
}

// Add adds a snapshot. One that was overtaken, or of a runner that has not begun, changes nothing. It returns true if
// the windows moved.
func (w *Watch) Add(s *runnerv1alpha1.Snapshot) (moved bool, err error) {
	if n := len(s.Selections); n != 0 && n != len(w.parts)-1 {
		return false, fmt.Errorf("it has %d selections, the plan has %d", n, len(w.parts)-1)
	}
	p, isNew := w.find(s)
	if p == nil {
		return false, nil
	}
	if isNew {
		p.own = watchedCounts{make([]tallies, len(w.parts)), make([]runnerv1alpha1.Histogram, len(w.parts))}
		w.clock.add(p)
	}
	for i := range w.parts {
		if err := w.addPart(p, s, i); err != nil {
			return false, err
		}
	}
	if s.State == runnerv1alpha1.StateDone {
		p.own = watchedCounts{} // nothing follows
	}
	w.look(p, s)
	w.observations = nil
	if len(s.Observations) > 0 && len(s.Observations) == len(w.plan.Observe) {
		w.samples[p.Runner] = s.Observations
	}
	if !w.isDue(interval) && !w.IsComplete() {
		return false, nil
	}
	w.close()
	return true, nil
}

func (w *Watch) addPart(p *looked[watchedCounts], s *runnerv1alpha1.Snapshot, i int) error {
	part := &w.parts[i]
	if i > 0 && len(s.Selections) == 0 {
		return nil
	}
	now, h := w.tally(s, i)
	part.counts.add(&now, 1)
	part.counts.add(&p.own.counts[i], -1)
	var since *histogram.H
	if part.hasIntervals && !p.resumed {
		part.since.add(&now, 1)
		part.since.add(&p.own.counts[i], -1)
		since = &part.timeSince
	}
	p.own.counts[i] = now
	if !part.hasTime || h.Count == 0 { // a stored snapshot can lack it
		return nil
	}
	if err := w.adder.AddSince(*h, p.own.times[i], &part.time, since); err != nil {
		return fmt.Errorf("time of threshold figures %d: %w", i, err)
	}
	p.own.times[i] = *h
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

// close ends the interval, and moves the windows. An interval with warm-up, a pause, a runner that left, or a runner
// that did not answer is in no window. An interval lasts as long as it is between two looks at a runner, on average: in
// the first one, the looks at different runners can be seconds apart.
func (w *Watch) close() {
	start, measured := w.Begun("")
	steady, ended := measured && w.from >= start, false
	var spans time.Duration // of the loaded runners
	loaded := 0
	for _, p := range w.runners {
		if p.base.endedAt != 0 || p.isOver() { // its load ended before the interval
			continue
		}
		loaded++
		spans += p.loadSpan()
		steady, ended = steady && p.isSteady(), ended || p.last.endedAt != 0
	}
	for i, s := range w.sliding {
		if s == nil {
			continue
		}
		if s.ended && loaded > 0 && !ended {
			s.reset() // a runner left, and the others continue
		}
		if s.ended = s.ended || ended; !steady || loaded == 0 && !s.ended {
			s.reset()
			continue
		}
		part := &w.parts[w.of[i]]
		s.add(spans/time.Duration(max(loaded, 1)), &part.since, &part.timeSince)
	}
	for i := range w.parts {
		w.parts[i].since = tallies{}
		w.parts[i].timeSince.Reset()
	}
	w.clock.close()
}

// Begun returns when the first measured stage began, or the measured stage with a name, and false if it did not begin.
func (w *Watch) Begun(stage string) (at time.Duration, ok bool) {
	for i := range w.plan.Rates {
		if w.plan.Rates[i].WarmUp || stage != "" && w.plan.Rates[i].Name != stage {
			continue
		}
		for _, p := range w.runners {
			s := p.last.snapshot()
			if !hasBegun(w.plan, &s, i) {
				continue
			}
			if b := time.Duration(s.Stages[i].Begun); !ok || b < at {
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
		snapshots = append(snapshots, p.last.snapshot())
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

// Observations returns those of the plan so far.
func (w *Watch) Observations() []runnerv1alpha1.ObservationResult {
	if w.observations == nil {
		snapshots := make([]runnerv1alpha1.Snapshot, 0, len(w.runners))
		for _, p := range w.runners {
			s := p.last.snapshot()
			s.Observations = w.samples[p.Runner]
			snapshots = append(snapshots, s)
		}
		w.observations = observations(w.plan, snapshots)
	}
	return w.observations
}

// Window returns the figures of the present window of a threshold, and false if there is no whole window. The last
// window of the load is whole when each request has its outcome. It has no figures of the load itself.
func (w *Watch) Window(threshold int) (Figures, bool) {
	s, t := w.sliding[threshold], &w.plan.Thresholds[threshold]
	ofLoad := t.Metric == runnerv1alpha1.MetricRate || t.Metric == runnerv1alpha1.MetricObserved
	if s == nil || !s.whole() || s.ended && (ofLoad || !w.IsComplete()) {
		return Figures{}, false
	}
	counts, h := s.sum()
	out := w.figuresOf(w.of[threshold], &counts, s.lasts, h)
	if s.ended && t.Max != "" && t.Metric.OfRequests() {
		q := requestsOf(&counts.SelectionCounts)
		out.Earlier = max(0, -q.InFlightAtEnd)
	}
	return out, true
}

// figuresOf returns the figures of a part. It leaves out requests without an outcome.
func (w *Watch) figuresOf(part int, c *tallies, window time.Duration, h *histogram.H) Figures {
	u := unansweredBy(w.plan, &w.selections[part], &c.SelectionCounts, false)
	u.addTo(h)
	out := Figures{
		Requests: requestsOf(&c.SelectionCounts), InClass: c.InClass, Reconnects: c.reconnects,
		ChainsCompleted: c.chainsCompleted, ChainsAborted: c.chainsAborted,
		Notifications: notificationsOf(&c.SelectionCounts),
		Rate:          perSecond(c.Sent-c.SentInDrain, window), Seconds: window.Seconds(),
		time: func(runnerv1alpha1.Metric) (*histogram.H, error) { return h, nil },
	}
	out.Requests.Retried = c.retried
	out.LeaveOutInFlight()
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
	// ended is true if the load has ended in the window, and what follows is in it.
	ended bool
}

type slidingStep struct {
	lasts  time.Duration
	counts tallies
	time   spectrum
}

func (s *sliding) reset() { *s = sliding{length: s.length, step: s.step} }

// add adds an interval. It completes a step if the step is long enough, or if the load has ended.
func (s *sliding) add(lasts time.Duration, counts *tallies, h *histogram.H) {
	s.moved = false
	s.open.lasts += lasts
	s.open.counts.add(counts, 1)
	s.open.time = joined(s.open.time, spectrumOf(h))
	if s.open.lasts < s.step-early && !s.ended {
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
