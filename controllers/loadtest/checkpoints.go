package loadtest

import (
	"context"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// noteCheckpoints records for the status that the API server refuses the checkpoints of the run.
func (s *scope) noteCheckpoints(err error) {
	if text := refusal.Of(err); text != "" && s.Record.End == nil {
		s.Refuse(run.Refusal{What: "checkpoints", Text: text, Since: s.Now, Next: s.Now.Add(maxRetryInterval)})
	}
}

// running makes the collector the source of checkpoints.
type running struct{ registry *collect.Registry }

// Live implements checkpoint.Source.
func (r running) Live() []checkpoint.Key {
	var out []checkpoint.Key
	for _, of := range r.registry.Running() {
		out = append(out, checkpoint.Key{LoadTest: of.Name, Run: of.UID, Shard: of.Shard, Pod: of.Pod})
	}
	return out
}

// Latest implements checkpoint.Source.
func (r running) Latest(_ context.Context, key checkpoint.Key) (*runnerv1alpha1.Snapshot, time.Time) {
	return r.registry.Latest(collect.Running{Name: key.LoadTest, UID: key.Run, Shard: key.Shard, Pod: key.Pod})
}
