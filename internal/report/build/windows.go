package build

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// Windows makes a series of windows from the snapshots of a run. A window lasts a second, or longer if the run has
// more than MaxWindows seconds, or if snapshots come less often. Each window keeps its distributions (spectrum, at most
// 5 bytes for each distinct time), so that windows are joined without a loss. Each distribution of a snapshot is
// decoded once.
//
// It is not safe for concurrent use.
type Windows struct {
	clock[watched]

	plan   *runnerv1alpha1.Plan
	closed []window
	// width is an index into widths.
	width int
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

// watched are the distributions of a runner in its last snapshot.
type watched struct{ responseTime, lag runnerv1alpha1.Histogram }

type change struct {
	at    time.Duration
	rates []runnerv1alpha1.Rate
}

// NewWindows returns an empty series for a run that begins with a number of shards, which the command line sets to 1.
// The first window waits for their snapshots, for at most two seconds. Shards may join later, leave, and return.
func NewWindows(plan *runnerv1alpha1.Plan, shards int) *Windows {
	return &Windows{clock: newClock[watched](shards), plan: plan, changes: []change{{rates: plan.Rates}}}
}

// Change sets the rates that are active from an offset on, nil while the load is suspended. The offset must be later
// than those of earlier changes. The rates have the plan's stages.
func (w *Windows) Change(at time.Duration, rates []runnerv1alpha1.Rate) {
	w.changes = append(w.changes, change{at, rates})
}

// RatesChanged returns whether Change set other rates than those of the plan before the last stage ended. The probes of
// a search belong to the plan.
func (w *Windows) RatesChanged() bool {
	same := func(a, b runnerv1alpha1.Rate) bool { return a.SameRate(&b) }
	var last time.Duration
	for i := range w.plan.Rates {
		_, ended, _ := w.stage(i)
		last = max(last, ended)
	}
	return w.plan.Search == nil && slices.ContainsFunc(w.changes, func(c change) bool {
		return c.at < last && c.rates != nil && !slices.EqualFunc(c.rates, w.plan.Rates, same)
	})
}

// Add adds a snapshot, which must fit the plan (see Merge.Add). It does not keep the snapshot. Snapshots of a runner
// that has not begun, and those that were overtaken, change nothing. The error says that a distribution cannot be
// read.
func (w *Windows) Add(s *runnerv1alpha1.Snapshot) error { return w.add(s, nil) }

// add is Add, with a sum of the response times of all runners that are watched; nil: none.
func (w *Windows) add(s *runnerv1alpha1.Snapshot, total *histogram.H) error {
	p, isNew := w.find(s)
	if p == nil {
		return nil
	}
	since := &w.since
	if isNew && p.resumed { // what was before is given up
		since = &windowTimes{}
	}
	if err := w.adder.AddSince(s.ResponseTime, p.own.responseTime, total, &since.responseTime); err != nil {
		return fmt.Errorf("response time: %w", err)
	}
	p.own.responseTime = s.ResponseTime
	w.limit = max(w.limit, unansweredOf(w.plan, s, false).limit)
	lag := lagOf(s)
	// A lag that is not a later state adds nothing: it is only shown.
	if err := w.adder.AddSince(lag, p.own.lag, nil, &since.lag); err != nil && !errors.Is(err, histogram.ErrNotLater) {
		w.clock.add(p) // its response time was added
		return fmt.Errorf("lag: %w", err)
	}
	if p.own.lag = lag; s.State == runnerv1alpha1.StateDone {
		p.own = watched{} // nothing follows
	}
	w.look(p, s)
	if w.isDue(widths(w.width)) {
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

// close ends the open window and begins the next one.
func (w *Windows) close() {
	open := w.open()
	w.clock.close()
	w.since.responseTime.Reset()
	w.since.lag.Reset()
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
	for _, p := range w.runners {
		out.add(p)
	}
	out.responseTime, out.lag = spectrumOf(&w.since.responseTime), spectrumOf(&w.since.lag)
	w.setStage(&out)
	return out
}

// setStage sets the desired slots of a window, for the time that each stage was active, and the stage of the window:
// the one that was active longest.
func (w *Windows) setStage(o *window) {
	for i := range w.plan.Rates {
		begun, end, ok := w.stage(i)
		from, to := max(begun, o.from), min(end, o.to)
		if !ok || to <= from {
			continue
		}
		if to-from > o.inStage {
			r := &w.plan.Rates[i]
			o.inStage, o.name, o.warmUp = to-from, r.Name, r.WarmUp
		}
		o.loaded = max(o.loaded, to)
		slots, fast := w.slots(i, begun, from, to)
		o.slots += slots
		o.fast = o.fast || fast
	}
}

// stage i lasts, over all shards, from the first that began it to the last that ended it.
func (w *Windows) stage(i int) (begun, ended time.Duration, ok bool) {
	for _, p := range w.runners {
		s := p.last.snapshot()
		if !hasBegun(w.plan, &s, i) {
			continue
		}
		b := time.Duration(s.Stages[i].Begun)
		if !ok || b < begun {
			begun = b
		}
		ok = true
		ended = max(ended, time.Duration(end(&w.plan.Rates[i], &s, i)))
	}
	return begun, ended, ok
}

// slots returns how many slots of stage i, which began at an offset, became due between two later offsets, and
// whether the stage has no rate in requests a second.
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
