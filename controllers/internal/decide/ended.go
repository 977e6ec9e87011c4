package decide

import (
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// maxLoss bounds the message of a loss in octets: there can be one for each runner, and it may quote the runner.
const maxLoss = 256

// HasNews returns whether a runner ended that the record does not have, or whether one that was lost was reached again
// and has final counts.
func HasNews(f *run.Facts, shard int, seen *shards.Shard) bool {
	if !seen.State.Over() {
		return false
	}
	rec := f.Record.Find(shard, run.PodOf(f.Record, shard, seen))
	return rec == nil || rec.State == record.ShardLost && seen.State == shards.Recovered && seen.Snapshot != nil &&
		seen.Snapshot.Sequence > rec.Counts.Sequence
}

// EndedShard returns the entry of the record for a runner that ended, without its counts.
func EndedShard(f *run.Facts, shard int, seen *shards.Shard) record.Shard {
	rec := record.Shard{
		Index: shard, Pod: run.PodOf(f.Record, shard, seen), Name: seen.Pod.Name, Node: seen.Pod.Node,
		State: record.ShardDone, Member: seen.Member, Time: f.Now,
	}
	if last := f.Record.Pods[shard]; rec.Name == "" && last.UID == rec.Pod {
		rec.Name, rec.Node = last.Name, last.Node
	}
	if l := seen.Lost; l != nil {
		if seen.State != shards.Recovered {
			rec.State = record.ShardLost
		}
		rec.Time = l.Time
		rec.Loss = &record.Loss{Message: shorten.To(l.Message, maxLoss), Time: l.Time}
	}
	return rec
}

// WithoutCounts notes why a runner has no counts in the results.
func WithoutCounts(rec *record.Shard, why string) {
	loss := record.Loss{Message: "left", Time: rec.Time}
	if rec.Loss != nil {
		loss = *rec.Loss
	}
	rec.Loss = &loss
	loss.Message += "; its counts are missing: " + shorten.To(why, maxLoss)
}
