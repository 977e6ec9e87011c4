package decide

import (
	"cmp"
	"maps"
	"slices"

	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// change takes over the change that the collector proposes. The runners get it after it is stored.
func change(f *run.Facts, next *record.Record) {
	p, newest := f.View.Proposal, f.Record.Newest()
	if p == nil || next.Stop != nil || newest == nil || p.Revision != newest.Revision+1 {
		return
	}
	next.Accepted(f.View.Revision())
	next.Append(record.Change{
		Revision: p.Revision, Generation: p.Generation, At: p.At, Members: p.Members, Rates: record.RatesOf(p.Rates),
		Suspended: p.Suspended, DecidedAt: f.MicroTime(),
	})
	if f.View.Begins {
		next.Search.Begun = p.Revision
	}
	joined := slices.DeleteFunc(slices.Clone(p.Members), func(shard int) bool {
		return slices.Contains(newest.Members, shard)
	})
	pods := map[int]record.Pod{}
	maps.Copy(pods, next.Pods)
	maps.Copy(pods, podsOf(f, joined))
	next.Pods = pods
}

// recordEnded takes over runners that ended.
func recordEnded(next *record.Record, ended []record.Shard) {
	for _, rec := range ended {
		if have := next.Find(rec.Index, rec.Pod); have != nil {
			have.State, have.Counts = rec.State, rec.Counts
		} else {
			next.Shards = append(next.Shards, rec)
		}
	}
}

// Next makes all decisions of a pass in a copy of the record. The runners that ended come first, because a loss can end
// the test.
func Next(f *run.Facts, next *record.Record, ended []record.Shard) error {
	recordEnded(next, ended)
	live(f, next)
	thresholds(f, next)
	if err := stop(f, next); err != nil {
		return err
	}
	if err := probe(f, next); err != nil {
		return err
	}
	change(f, next)
	applied(f, next)
	return loadEnded(f, next)
}

// stop decides an early end. The threshold that ends the test replaces its own earlier failure.
func stop(f *run.Facts, next *record.Record) error {
	if next.Stop != nil {
		return nil
	}
	reason := cmp.Or(StopReason(f), stopByLosses(f, next))
	if a := f.View.Abort; reason == "" && a != nil && next.State == record.Running {
		reason = verdict.AbortReason(a.Name, a.After)
		failed := record.ThresholdOf(a.Name, a.Observation)
		failed.Abort = true
		same := func(t record.Threshold) bool { return t.Name == a.Name }
		next.Thresholds = append(slices.DeleteFunc(next.Thresholds, same), failed)
	}
	if reason == "" {
		return nil
	}
	next.Stop = &record.Stop{Reason: reason, Time: f.MicroTime()}
	return next.On(record.EventStop)
}

// loadEnded decides that all runners sent their last request.
func loadEnded(f *run.Facts, next *record.Record) error {
	if next.State == record.Finishing || run.Loading(f) {
		return nil
	}
	return next.On(record.EventLoadEnded)
}

// podsOf are the pods of runners that get a share, as another operator needs them if they are deleted. They are those
// that the collector asked: a pod that was deleted by force leaves its process, and another pod has its index.
func podsOf(f *run.Facts, members []int) map[int]record.Pod {
	out := map[int]record.Pod{}
	for _, shard := range members {
		seen := &f.View.Shards[shard].Pod
		out[shard] = record.Pod{UID: seen.UID, Name: seen.Name, Node: seen.Node, Address: seen.Address}
	}
	return out
}
