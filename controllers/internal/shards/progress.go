package shards

import (
	"maps"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/internal/version"
)

// Summarize sets Progress from the snapshots of the view alone.
func (v *View) Summarize(plan *runnerv1alpha1.Plan, lossTolerated bool) error {
	m := build.NewMerge(plan, plan.Shards)
	for s := range v.runners() {
		if s.Snapshot == nil {
			continue
		}
		if err := m.Add(s.Snapshot); err != nil {
			return err
		}
	}
	return v.summarize(m, lossTolerated)
}

// summarize sets Progress from a sum of all snapshots of the view.
func (v *View) summarize(m *build.Merge, lossTolerated bool) (err error) {
	in := build.Input{
		Version: version.Get().Version, Snapshots: v.Snapshots(lossTolerated), ClockOffsets: map[build.Runner]int64{},
		StartWall: v.StartedAt, Lost: v.lost(lossTolerated),
	}
	in.EndWall = v.lastRequest(in.Snapshots)
	for i := range v.Shards {
		if offset, known := v.Offsets[i]; known {
			in.ClockOffsets[v.Shards[i].runner()] = offset
		}
	}
	v.Progress, err = m.Report(in, v.Over())
	return err
}

// compare sets what the thresholds observed so far.
func (v *View) compare(l *verdict.Live) {
	v.Thresholds, v.Seen, v.Failed = l.Results(), l.Seen(), maps.Clone(l.Failed())
	if t, o, failed := l.Abort(); failed {
		v.Abort = &Abort{t.Name, o}
	}
}

// runners are all runners, former ones first.
func (v *View) runners() func(yield func(*Shard) bool) {
	return func(yield func(*Shard) bool) {
		for _, list := range [][]Shard{v.Former, v.Shards} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// Snapshots are those of all runners that have or had a share of the load. If losses are tolerated, a lost runner does
// not say why the test ended.
func (v *View) Snapshots(lossTolerated bool) []runnerv1alpha1.Snapshot {
	out := make([]runnerv1alpha1.Snapshot, 0, len(v.Former)+len(v.Shards))
	for s := range v.runners() {
		if s.Snapshot == nil || !s.Member {
			continue
		}
		snap := *s.Snapshot
		if s.Lost != nil && lossTolerated {
			snap.Stopped, snap.Problem, snap.Message = "", "", ""
		}
		out = append(out, snap)
	}
	return out
}

// lost are the runners that had a share of the load and were lost. If losses are tolerated, a runner that was reached
// again and has final counts is not among them: nothing is missing.
func (v *View) lost(lossTolerated bool) []build.Runner {
	var out []build.Runner
	for s := range v.runners() {
		if s.Lost != nil && s.Member && (!lossTolerated || s.State != Recovered) {
			out = append(out, s.runner())
		}
	}
	return out
}

// runner identifies the runner in a report.
func (s *Shard) runner() build.Runner {
	out := build.Runner{Shard: s.Index}
	if s.Snapshot != nil {
		out.Boot = s.Snapshot.Boot
	}
	return out
}

// lastRequest is the time of the last request of all; zero: not known.
func (v *View) lastRequest(snapshots []runnerv1alpha1.Snapshot) time.Time {
	var last time.Time
	for i := range snapshots {
		s := &snapshots[i]
		if s.EndedAt == 0 || v.StartedAt.IsZero() {
			continue
		}
		// All shards start at the same time, within the skew.
		if end := v.StartedAt.Add(build.SinceStart(s, s.EndedAt)); end.After(last) {
			last = end
		}
	}
	return last
}
