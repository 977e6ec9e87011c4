package verdict

import (
	"fmt"
	"maps"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Live compares thresholds while a test runs. It is not safe for concurrent use.
type Live struct {
	plan  *runnerv1alpha1.Plan
	watch *build.Watch
	// windows are the windows of each threshold so far.
	windows []worst
}

// worst is what the windows of a threshold come to: the comparison in the window that decides, with the result of the
// window with the worst value. If it failed, the first window that failed was after the time since the start.
type worst struct {
	comparison

	// shown is the window with the worst value.
	shown comparison
	after time.Duration
	// failedAt is when the last window that failed ended, since the start.
	failedAt time.Duration
}

func (w *worst) isKnown() bool { return w.result.Observed != runnerv1alpha1.ObservedNone }

// NewLive returns the comparisons of a run that begins with so many shards.
func NewLive(plan *runnerv1alpha1.Plan, shards int) *Live {
	l := &Live{plan: plan, watch: build.NewWatch(plan, shards), windows: make([]worst, len(plan.Thresholds))}
	for i := range l.windows {
		l.windows[i].comparison, _ = begin(&plan.Thresholds[i]) // an error is one of the plan, which Judge returns
		l.windows[i].result.Observed = runnerv1alpha1.ObservedNone
	}
	return l
}

// Restore notes that a threshold on windows failed before. It has failed, also if later windows pass.
func (l *Live) Restore(name string, o Observation) {
	for i := range l.windows {
		if w := &l.windows[i]; w.result.Name == name && w.result.Window != "" {
			w.saw(o)
			w.shown, w.after, w.failedAt = w.comparison, o.After, o.After
		}
	}
}

// Add adds a snapshot. It returns an error if the snapshot does not fit the plan or the one before.
func (l *Live) Add(s *runnerv1alpha1.Snapshot) error {
	if len(l.plan.Thresholds) == 0 {
		return nil
	}
	moved, err := l.watch.Add(s)
	if err != nil || !moved {
		return err
	}
	for i := range l.plan.Thresholds {
		t := &l.plan.Thresholds[i]
		f, whole := l.watch.Window(i)
		if !whole {
			continue
		}
		c, err := begin(t)
		if err == nil {
			err = c.compare(t, &f, l.watch.Observations(), l.inWindow(t))
		}
		if err != nil {
			return fmt.Errorf("threshold %s: %w", t.Name, err)
		}
		l.window(i, &c)
	}
	return nil
}

// window notes a window. A window without a value, such as one without responses, does not count.
func (l *Live) window(i int, c *comparison) {
	if c.result.Observed == runnerv1alpha1.ObservedNone {
		return
	}
	w := &l.windows[i]
	if !c.result.Passed {
		w.failedAt = l.watch.Elapsed()
	}
	known := w.isKnown()
	if !known || worse(c, &w.shown) {
		if !known || w.shown.result.Passed {
			w.after = l.watch.Elapsed()
		}
		w.shown = *c
	}
	if !known || decides(c, &w.comparison) {
		w.comparison = *c
	}
	w.result = w.shown.result
}

// worse compares two results of a threshold. A percentile among requests without a response is greater than all others.
func worse(c, than *comparison) bool {
	if c.unanswered != than.unanswered {
		return c.unanswered != c.isMinimum
	}
	return c.above > than.above
}

// decides returns whether a result decides over another one. Of two failures, it is the one that the operator's limit
// excuses the least, so that what it excuses hides nothing else; otherwise, the worse one.
func decides(c, over *comparison) bool {
	if spare := over.spare(); !c.result.Passed && !over.result.Passed && c.spare() != spare {
		return c.spare() < spare
	}
	return worse(c, over)
}

// Results returns what each threshold observed so far: in the worst window, or since the start. A value that is not
// known yet is ObservedNone.
func (l *Live) Results() []runnerv1alpha1.ThresholdResult {
	out := make([]runnerv1alpha1.ThresholdResult, 0, len(l.plan.Thresholds))
	for i := range l.plan.Thresholds {
		out = append(out, l.look(i).result)
	}
	return out
}

func (l *Live) look(i int) comparison {
	t := &l.plan.Thresholds[i]
	if t.Window > 0 {
		return l.windows[i].comparison
	}
	c, err := begin(t)
	if err == nil {
		f := l.watch.SoFar(i)
		err = c.compare(t, &f, l.watch.Observations(), figuresOf(l.plan, t))
	}
	if err != nil {
		c.result.Observed = runnerv1alpha1.ObservedNone
	}
	return c
}

// Failed returns the thresholds on windows that failed so far, by name.
func (l *Live) Failed() map[string]Observation {
	out := l.Seen()
	maps.DeleteFunc(out, func(_ string, o Observation) bool { return o.Passed })
	return out
}

// Seen returns what Judge needs of the windows: the worst window of each threshold.
func (l *Live) Seen() map[string]Observation {
	out := map[string]Observation{}
	for i := range l.windows {
		if w := &l.windows[i]; w.isKnown() {
			out[w.result.Name] = w.seen(w.after)
		}
	}
	return out
}

// Abort returns the first threshold that failed and ends the test, and false if no threshold does. It must fail after
// AbortAfter: a window that failed before ends nothing, also later. Neither does the last window.
func (l *Live) Abort() (runnerv1alpha1.ThresholdResult, Observation, bool) {
	for i := range l.plan.Thresholds {
		t := &l.plan.Thresholds[i]
		if !t.AbortOnFail || t.Window > 0 && l.watch.IsComplete() {
			continue
		}
		at := l.watch.Elapsed()
		if t.Window > 0 {
			at = l.windows[i].failedAt
		}
		if began, ok := l.watch.Begun(t.Of.Stage); !ok || at < began+t.AbortAfter {
			continue
		}
		if c := l.look(i); !c.result.Passed && c.result.Observed != runnerv1alpha1.ObservedNone {
			return c.result, c.seen(l.watch.Elapsed()), true
		}
	}
	return runnerv1alpha1.ThresholdResult{}, Observation{}, false
}

// AbortReason is the reason of a stop because of a threshold: "threshold fast failed after 1m20s (abortOnFail)".
func AbortReason(name string, after time.Duration) string {
	return fmt.Sprintf("threshold %s failed after %s (abortOnFail)", name, after.Round(time.Second))
}
