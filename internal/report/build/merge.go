package build

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Merge is the running sum of the distributions of a run, and its windows. Each distribution is decoded once, when it
// comes in, so that a report costs no more than adding up counters.
//
// It is not safe for concurrent use.
type Merge struct {
	plan    *runnerv1alpha1.Plan
	windows *Windows
	times   times
	runners map[Runner]*added
	of      []oneTime // memory of Add
}

// added is a runner whose distributions are part of a Merge.
type added struct {
	sequence uint64
	// done: the snapshot was final. Later ones are the same.
	done bool
	// last are the distributions of times.of. The windows have the response time.
	last []runnerv1alpha1.Histogram
}

// NewMerge returns an empty sum for a run that begins with so many shards; see NewWindows.
func NewMerge(plan *runnerv1alpha1.Plan, shards int) *Merge {
	return &Merge{plan: plan, windows: NewWindows(plan, shards), times: newTimes(plan), runners: map[Runner]*added{}}
}

// Windows are those of all snapshots so far.
func (m *Merge) Windows() *Windows { return m.windows }

// Add takes in a snapshot; it is not kept. One that was overtaken changes nothing. The error says why the snapshot
// does not fit the plan, cannot be read, or contradicts itself or an earlier one. Such a snapshot must not be part of
// a report.
func (m *Merge) Add(s *runnerv1alpha1.Snapshot) error {
	if err := checkCounts(m.plan, s); err != nil {
		return err
	}
	known := m.runners[runnerOf(s)]
	if known == nil {
		known = &added{}
		m.runners[runnerOf(s)] = known
	} else if s.Sequence <= known.sequence || known.done {
		return nil
	}
	if err := m.windows.add(s, &m.times.responseTime); err != nil {
		return err
	}
	m.of = m.times.of(s, m.of[:0])
	defer func() { clear(m.of) }() // it points into the snapshot
	for i, d := range m.of {
		if d.now == nil || d.now.Count == 0 { // a runner can leave it out
			continue
		}
		if known.last == nil {
			known.last = make([]runnerv1alpha1.Histogram, len(m.of)) // many leave all out until their end
		}
		if err := m.windows.adder.AddSince(*d.now, known.last[i], d.total, nil); err != nil {
			return d.failed(err)
		}
		known.last[i] = *d.now
	}
	if known.sequence = s.Sequence; s.State == runnerv1alpha1.StateDone {
		*known = added{sequence: s.Sequence, done: true}
	}
	return nil
}

// Progress is what a Merge knows of a run.
type Progress struct {
	Report *runnerv1alpha1.Report
	// Chains has the counters of each chain of the plan, which the report sums up.
	Chains []runnerv1alpha1.ChainCounters
	// ErrorRate is that of Live: it leaves out what is in flight.
	ErrorRate float64
}

// Report is like Build of the latest snapshots of all runners, which were added before. in.Snapshots need not have
// their distributions. The report has histograms and the times of shards only if complete is true; shards have times
// only if their snapshot has.
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
	sum.times = m.times.clone()
	r, err := report(&in, snapshots, sum, complete)
	if err != nil {
		return nil, err
	}
	if complete {
		r.Windows, r.WindowsFrom = m.windows.Complete()
	}
	return &Progress{Report: r, Chains: sum.counts.Chains, ErrorRate: liveErrors(&sum.counts.Counters)}, nil
}
