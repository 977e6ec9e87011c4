package result

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// Windows turns the snapshots of a run, as they come in, into a series of windows of one second,
// and of more when the run is long. It holds the distributions of at most MaxWindows windows, up to 5 bytes
// for each distinct time in each (spectrum), so that those of longer windows are merged and not guessed.
// Each distribution of a snapshot is decoded once, when it comes in.
//
// It is not safe for concurrent use.
type Windows struct {
	plan    *runnerv1alpha1.Plan
	runners map[Runner]*watched
	// expected is how many shards there will be at the start, unless some are lost.
	expected int
	closed   []window
	// width is an index into widths.
	width int
	// from is the end of the last closed window, first the beginning of the first one.
	from, first time.Duration
	// changes of the rates, in the order of time; the first is the plan.
	changes []change
	// limit is the longest timeout of all unanswered requests so far.
	limit int64
	// since are the times of the open window.
	since windowTimes
	adder histogram.Adder
}

// windowTimes are the distributions of a window.
type windowTimes struct{ responseTime, lag histogram.H }

// watched is one runner: what it had counted when the last window was closed, and what it has now.
type watched struct {
	// base and last have no distributions; responseTime and lag are those of last.
	base, last        runnerv1alpha1.Snapshot
	responseTime, lag runnerv1alpha1.Histogram
	// silent: nothing was heard in the last window, so that the next ones do not wait for it.
	silent bool
}

func (p *watched) span() time.Duration { return offset(&p.last) - offset(&p.base) }

// over returns true if the runner's last snapshot was before the window, or if the runner sends no snapshots any more.
func (p *watched) over() bool {
	return p.base.State == runnerv1alpha1.StateDone || p.silent && p.span() == 0
}

// paused: the runner was suspended at either look, and nothing came due in between.
func (p *watched) paused() bool {
	return p.base.Suspended && p.last.Suspended && slotsOf(&p.base) == slotsOf(&p.last)
}

func slotsOf(s *runnerv1alpha1.Snapshot) (n int64) {
	for i := range s.Stages {
		n += s.Stages[i].Slots
	}
	return n
}

type change struct {
	at    time.Duration
	rates []runnerv1alpha1.Rate
}

const (
	// early is how much less than its width a window may last: looks are never exactly a second apart.
	early = 250 * time.Millisecond
	// missed: when the first look at a runner is later than this after its first turn, what was before
	// is given up, for it is not known when it was.
	missed = 5 * time.Second
)

// NewWindows returns an empty series for a run of the plan that begins with so many shards: on a laptop it
// is one, whatever the plan says. Others may join later, leave, and come back; only the first window waits
// for all of them, and for two seconds at most.
func NewWindows(plan *runnerv1alpha1.Plan, shards int) *Windows {
	return &Windows{plan: plan, runners: map[Runner]*watched{}, expected: shards, changes: []change{{rates: plan.Rates}}}
}

// Change sets the rates that are active from an offset on, nil while the load is suspended. The offset must be later than
// those of earlier changes. The rates have the plan's stages.
func (w *Windows) Change(at time.Duration, rates []runnerv1alpha1.Rate) {
	w.changes = append(w.changes, change{at, rates})
}

// Add adds a snapshot, which must fit the plan (see Merge.Add). It does not keep the snapshot. Snapshots of a runner that
// has not begun, and those that were overtaken, change nothing. The error says that a distribution
// cannot be read.
func (w *Windows) Add(s *runnerv1alpha1.Snapshot) error { return w.add(s, nil) }

// add is Add, with a sum of the response times of all runners that are watched; nil: none.
func (w *Windows) add(s *runnerv1alpha1.Snapshot, total *histogram.H) error {
	if s.StartedAt == 0 || offset(s) < 0 {
		return nil
	}
	known, since := w.runners[runnerOf(s)], &w.since
	switch {
	case known != nil && s.Sequence <= known.last.Sequence:
		return nil
	case known == nil:
		known = w.meet(s)
		if known.base.Sequence != 0 { // what was before is given up
			since = &windowTimes{}
		}
	}
	if err := w.adder.AddSince(s.ResponseTime, known.responseTime, total, &since.responseTime); err != nil {
		return fmt.Errorf("response time: %w", err)
	}
	known.responseTime = s.ResponseTime
	w.limit = max(w.limit, unansweredOf(w.plan, s, false).limit)
	w.runners[runnerOf(s)] = known
	lag := lagOf(s)
	// A lag that is not a later state adds nothing: it is only shown.
	if err := w.adder.AddSince(lag, known.lag, nil, &since.lag); err != nil && !errors.Is(err, histogram.ErrNotLater) {
		return fmt.Errorf("lag: %w", err)
	}
	known.last, known.lag, known.silent = slim(s), lag, false
	if w.isDue() {
		w.close()
	}
	return nil
}

// lagOf is in Histograms in the final snapshot.
func lagOf(s *runnerv1alpha1.Snapshot) runnerv1alpha1.Histogram {
	if s.Histograms != nil {
		return s.Histograms.Lag
	}
	return s.Lag
}

// meet decides from when on a runner is watched: from its first turn, which for one that joined is not the
// start of the test, if that was not long ago.
func (w *Windows) meet(s *runnerv1alpha1.Snapshot) *watched {
	if time.Duration(s.Clock-s.StartedAt) <= missed {
		return &watched{base: runnerv1alpha1.Snapshot{StartAt: s.StartAt, StartedAt: s.StartedAt, Clock: s.StartedAt, Suspended: s.Suspended}}
	}
	if len(w.runners) == 0 {
		w.from, w.first = offset(s), offset(s)
	}
	return &watched{base: slim(s)}
}

// slim is what windows need of a snapshot; steps may hold megabytes.
func slim(s *runnerv1alpha1.Snapshot) runnerv1alpha1.Snapshot {
	return runnerv1alpha1.Snapshot{
		Shard: s.Shard, Boot: s.Boot, Sequence: s.Sequence, Revision: s.Revision, State: s.State, Clock: s.Clock,
		StartAt: s.StartAt, StartedAt: s.StartedAt, EndedAt: s.EndedAt, Suspended: s.Suspended, Counters: s.Counters, Stages: s.Stages,
	}
}

// isDue: every shard that is awaited has been looked at late enough, or one of them so late that the
// others are not waited for.
func (w *Windows) isDue() bool {
	wanted := widths(w.width) - early
	all := len(w.runners) >= w.expected || len(w.closed) > 0
	for _, p := range w.runners {
		if p.span() >= 2*widths(w.width) {
			return w.end() > w.from
		}
		if !p.silent && p.last.State != runnerv1alpha1.StateDone && p.span() < wanted {
			all = false
		}
	}
	return all && w.end()-w.from >= wanted
}

// end is how far the shards are.
func (w *Windows) end() time.Duration {
	end := w.from
	for _, p := range w.runners {
		end = max(end, offset(&p.last))
	}
	return end
}

// close ends the open window and begins the next one.
func (w *Windows) close() {
	open := w.open()
	for _, p := range w.runners {
		p.silent = p.span() == 0
		p.base = p.last
	}
	w.since.responseTime.Reset()
	w.since.lag.Reset()
	w.from = w.end()
	w.closed = append(w.closed, open)
	for len(w.closed) > runnerv1alpha1.MaxWindows {
		w.width++
		w.closed = widen(w.closed, widths(w.width))
	}
}

// List returns the windows, the one that is still open included when something happened in it, and
// from when on there are some, in milliseconds; zero: from the start.
func (w *Windows) List() ([]runnerv1alpha1.Window, int64) {
	all := w.list()
	out := make([]runnerv1alpha1.Window, len(all))
	for i := range all {
		out[i] = all[i].figures()
	}
	for i := len(all) - 1; i >= 0; i-- {
		if o := &all[i]; o.loaded > 0 {
			if o.to-o.loaded > time.Duration(lateEnd) {
				out[i].LoadEnd = o.loaded.Milliseconds()
			}
			break
		}
	}
	return out, w.first.Milliseconds()
}

// Complete is List, with the distribution of each window.
func (w *Windows) Complete() ([]runnerv1alpha1.Window, int64) {
	out, from := w.List()
	for i, o := range w.list() {
		h := o.responseTime.histogram()
		h.AddUnanswered(o.unanswered(), o.limit)
		out[i].Histogram = h.Encode()
	}
	return out, from
}

func (w *Windows) list() []window {
	all := slices.Clone(w.closed)
	open := w.open()
	switch {
	case open.to > open.from:
		all = append(all, open)
	case len(all) > 0 && open.shards > 0: // looked at later, but as of the same instant
		all[len(all)-1].join(&open)
	}
	for width := w.width + 1; len(all) > runnerv1alpha1.MaxWindows; width++ {
		all = widen(all, widths(width))
	}
	return all
}

// open is the window since the last one.
func (w *Windows) open() window {
	out := window{from: w.from, to: w.end(), limit: w.limit}
	for _, r := range slices.SortedFunc(maps.Keys(w.runners), compare) {
		out.add(w.runners[r])
	}
	out.responseTime, out.lag = spectrumOf(&w.since.responseTime), spectrumOf(&w.since.lag)
	w.setStage(&out)
	return out
}

// setStage sets the desired slots of a window, for the time that each stage was active, and the stage of the window: the one
// that was active longest.
func (w *Windows) setStage(o *window) {
	for i := range w.plan.Rates {
		begun, end, ok := w.stage(i)
		from, to := max(begun, o.from), min(end, o.to)
		if !ok || to <= from {
			continue
		}
		if to-from > o.inStage {
			o.stage, o.inStage = i, to-from
		}
		o.loaded = max(o.loaded, to)
		slots, fast := w.slots(i, begun, from, to)
		o.slots += slots
		o.fast = o.fast || fast
	}
	if o.inStage == 0 {
		o.stage = -1
	} else {
		o.name, o.warmUp = w.plan.Rates[o.stage].Name, w.plan.Rates[o.stage].WarmUp
	}
}

// stage i lasts, over all shards, from the first that began it to the last that ended it.
func (w *Windows) stage(i int) (begun, ended time.Duration, ok bool) {
	for _, p := range w.runners {
		if !hasBegun(w.plan, &p.last, i) {
			continue
		}
		b := time.Duration(p.last.Stages[i].Begun)
		if !ok || b < begun {
			begun = b
		}
		ok = true
		ended = max(ended, time.Duration(end(&w.plan.Rates[i], &p.last, i)))
	}
	return begun, ended, ok
}

// slots returns how many slots of stage i, which began at an offset, became due between two later offsets, and whether the
// stage has no rate in requests a second.
func (w *Windows) slots(i int, begun, from, to time.Duration) (slots float64, fast bool) {
	var active time.Duration // how long the stage was not suspended before the change
	for k, c := range w.changes {
		since, until := max(begun, c.at), to
		if k+1 < len(w.changes) {
			until = min(to, w.changes[k+1].at)
		}
		if c.rates == nil || until <= since {
			continue
		}
		if r := &c.rates[i]; until > from {
			slots += slotsAt(r, active+until-since) - slotsAt(r, active+max(from, since)-since)
			fast = fast || r.ClosedLoop || r.ChainsPerSecond
		}
		active += until - since
	}
	return slots, fast
}

// widths are the lengths of windows, from one second up.
func widths(i int) time.Duration {
	seconds := []time.Duration{1, 2, 5, 10, 20, 30, 60}
	if i < len(seconds) {
		return seconds[i] * time.Second
	}
	return time.Minute << (i - len(seconds) + 1)
}

// widen merges neighbours whose middles are in the same multiple of the width.
func widen(all []window, width time.Duration) []window {
	var out []window
	cell := time.Duration(math.MinInt64)
	for i := range all {
		in := (all[i].from + all[i].to) / 2 / width
		if in == cell {
			out[len(out)-1].join(&all[i])
			continue
		}
		cell = in
		out = append(out, all[i])
	}
	return out
}
