package loadtest

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// order gives the collector what is stored, and returns its view.
func (r *reconciler) order(s *scope) (*shards.View, error) {
	d := r.wanted(s)
	s.ShardsRevision = d.ShardsRevision
	if s.Record.Stop != nil {
		d.Stop = s.Record.Stop.Reason
	}
	return r.registry.Ensure(d)
}

// wanted is what the collector must know of the run. It shares nothing that changes.
func (r *reconciler) wanted(s *scope) shards.Desired {
	d := shards.Desired{
		Name: s.Key(), UID: s.LoadTest.UID, Attempt: s.Record.Attempt, Job: s.JobUID(), Plan: s.Plan,
		Shards: decide.Capacity(s.Facts), ShardsRevision: r.capacityRevision(s), Rebalance: s.Policy() == v1alpha1.ShardLostRebalance,
		Failed:        s.FailedThresholds(),
		Probes:        s.Probes(),
		Changes:       s.Record.Updates(s.Plan.Rates),
		LossTolerated: s.Policy() != v1alpha1.ShardLostFail,
		LoadEnd:       s.Record.LoadEnd(s.Plan),
		Live:          s.Live(),
		Retention:     desired.Retention(s.LoadTest),
		Pods:          map[int]shards.Pod{}, Owners: map[int]types.UID{}, Recorded: s.recordedRunners(), MayStart: s.StartDecided(), Stored: s.Record.End != nil,
	}
	for shard, pod := range s.Pods {
		d.Pods[shard] = s.Observe(pod)
	}
	for shard, pod := range s.Record.Pods {
		d.Owners[shard] = pod.UID
		if d.Pods[shard].UID != pod.UID && d.MayStart && s.Record.Find(shard, pod.UID) == nil {
			d.Pods[shard] = shards.Pod{UID: pod.UID, Name: pod.Name, Node: pod.Node, Address: pod.Address, Gone: true}
		}
	}
	return d
}

// capacityRevision returns the number of the last change of the capacity.
func (r *reconciler) capacityRevision(s *scope) int64 {
	c := r.memory.of(s.LoadTest)
	if capacity := decide.Capacity(s.Facts); c.capacityRevision == 0 || c.capacity != capacity {
		c.capacity, c.capacityRevision = capacity, c.capacityRevision+1
	}
	return c.capacityRevision
}

// recordedRunners is what the collector must know of the runners that ended.
func (s *scope) recordedRunners() []shards.Recorded {
	out := make([]shards.Recorded, len(s.Ended))
	for i, e := range s.Ended {
		out[i] = shards.Recorded{Shard: e.Index, Pod: e.Pod, Member: e.Member, Loss: run.LossOf(e.Shard), Final: e.State == record.ShardDone, Snapshot: e.Snapshot, Address: e.Address}
	}
	return out
}
