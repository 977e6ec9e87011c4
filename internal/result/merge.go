package result

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// Merge is the running sum of the distributions of a run, and its windows. Each distribution is decoded once, when it comes
// in, so that a report costs no more than adding up counters.
//
// It is not safe for concurrent use.
type Merge struct {
	plan    *runnerv1alpha1.Plan
	windows *Windows
	times   distributions
	steps   []stepTimes
	targets []targetTimes
	// selections are the distributions of selectionsOf. The first forThresholds are those of thresholds.
	selections    []histogram.H
	forThresholds int
	// listeners are the distributions of the listeners of the plan.
	listeners []histogram.H
	runners   map[Runner]*added
}

// added are the distributions of a runner that are part of a Merge, apart from its response time, which the windows have.
type added struct {
	sequence uint64
	// done: the snapshot was final. Later ones are the same.
	done       bool
	final      [finals]runnerv1alpha1.Histogram
	steps      [][runnerv1alpha1.StepDistributions]runnerv1alpha1.Histogram
	targets    [][runnerv1alpha1.TargetDistributions]runnerv1alpha1.Histogram
	selections []runnerv1alpha1.Histogram
	listeners  []runnerv1alpha1.Histogram
}

// NewMerge returns an empty sum for a run that begins with so many shards; see NewWindows.
func NewMerge(plan *runnerv1alpha1.Plan, shards int) *Merge {
	selections, forThresholds := selectionsOf(plan)
	return &Merge{
		plan: plan, windows: NewWindows(plan, shards),
		steps: make([]stepTimes, countSteps(plan)), targets: make([]targetTimes, len(plan.Targets)), runners: map[Runner]*added{},
		selections: make([]histogram.H, len(selections)), forThresholds: forThresholds, listeners: make([]histogram.H, len(plan.Listeners)),
	}
}

// Windows are those of all snapshots so far.
func (m *Merge) Windows() *Windows { return m.windows }

// Add takes in a snapshot; it is not kept. One that was overtaken changes nothing. The error says why the snapshot
// does not fit the plan, cannot be read, or contradicts itself or an earlier one. Such a snapshot must not be part of a report.
func (m *Merge) Add(s *runnerv1alpha1.Snapshot) error {
	if err := checkCounts(m.plan, s); err != nil {
		return err
	}
	known := m.runners[runnerOf(s)]
	if known == nil {
		known = &added{
			steps:      make([][runnerv1alpha1.StepDistributions]runnerv1alpha1.Histogram, len(m.steps)),
			targets:    make([][runnerv1alpha1.TargetDistributions]runnerv1alpha1.Histogram, len(m.targets)),
			selections: make([]runnerv1alpha1.Histogram, len(m.selections)),
			listeners:  make([]runnerv1alpha1.Histogram, len(m.listeners)),
		}
		m.runners[runnerOf(s)] = known
	} else if s.Sequence <= known.sequence || known.done {
		return nil
	}
	if err := m.windows.add(s, &m.times.responseTime); err != nil {
		return err
	}
	for i := range s.Steps {
		for k, now := range s.Steps[i].Distributions() {
			if err := m.update(&m.steps[i][k], &known.steps[i][k], now); err != nil {
				return fmt.Errorf("%s of step %d: %w", stepTimeNames[k], i, err)
			}
		}
	}
	for i := range s.Targets {
		for k, now := range s.Targets[i].Distributions() {
			if err := m.update(&m.targets[i][k], &known.targets[i][k], now); err != nil {
				return fmt.Errorf("%s of target %d: %w", targetTimeNames[k], i, err)
			}
		}
	}
	for i, c := range selectionsIn(s, m.forThresholds) {
		if err := m.update(&m.selections[i], &known.selections[i], &c.Time); err != nil {
			return fmt.Errorf("time of selection %d: %w", i, err)
		}
	}
	for i := range s.Listeners {
		if err := m.update(&m.listeners[i], &known.listeners[i], &s.Listeners[i].Time); err != nil {
			return fmt.Errorf("time of listener %d: %w", i, err)
		}
	}
	if s.Histograms != nil {
		for i, d := range m.times.final() {
			name, now := finalOf(s.Histograms, i)
			if err := m.windows.adder.AddSince(*now, known.final[i], d, nil); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			known.final[i] = *now
		}
	}
	if known.sequence = s.Sequence; s.State == runnerv1alpha1.StateDone {
		*known = added{sequence: s.Sequence, done: true}
	}
	return nil
}

// update replaces a runner's part of a sum by a later state. A runner can leave the times of steps and targets out.
func (m *Merge) update(total *histogram.H, known, now *runnerv1alpha1.Histogram) error {
	if now.Count == 0 {
		return nil
	}
	err := m.windows.adder.AddSince(*now, *known, total, nil)
	if err == nil {
		*known = *now
	}
	return err
}

// Progress is what a Merge knows of a run.
type Progress struct {
	Report *runnerv1alpha1.Report
	// Chains has the counters of each chain of the plan, which the report sums up.
	Chains []runnerv1alpha1.ChainCounters
	// ErrorRate is that of Live: it leaves out what is in flight.
	ErrorRate float64
}

// Report is like Build of the latest snapshots of all runners, which were added before. in.Snapshots need not have their
// distributions. The report has histograms and the times of shards only if complete is true; shards have times only if their snapshot has.
func (m *Merge) Report(in Input, complete bool) (*Progress, error) {
	in.Plan = m.plan
	snapshots := latest(in.Snapshots)
	sum := newSum(m.plan)
	for i := range snapshots {
		if err := checkShape(m.plan, &snapshots[i]); err != nil {
			return nil, fmt.Errorf("snapshot of shard %d: %w", snapshots[i].Shard, err)
		}
		sum.addCounters(&snapshots[i])
	}
	sum.times, sum.targets = m.times, m.targets
	for i := range sum.selections {
		sum.selections[i].time = m.selections[i]
	}
	for i := range sum.listeners {
		sum.listeners[i].time = m.listeners[i]
	}
	for i := range sum.steps {
		sum.steps[i].times = m.steps[i]
	}
	r, err := report(&in, snapshots, sum, complete)
	if err != nil {
		return nil, err
	}
	if complete {
		r.Windows, r.WindowsFrom = m.windows.Complete()
	}
	return &Progress{Report: r, Chains: sum.chains, ErrorRate: liveErrors(&sum.counters)}, nil
}
