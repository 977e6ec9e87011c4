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
func (r *reconciler) order(f *run.Facts) (*shards.View, error) {
	d := r.wanted(f)
	f.ShardsRevision = d.ShardsRevision
	if f.Record.Stop != nil {
		d.Stop = f.Record.Stop.Reason
	}
	return r.registry.Ensure(d)
}

// wanted is what the collector must know of the run. It shares nothing that changes.
func (r *reconciler) wanted(f *run.Facts) shards.Desired {
	d := shards.Desired{
		Name: f.Key(), UID: f.LoadTest.UID, Attempt: f.Record.Attempt, Job: f.JobUID(), Plan: f.Plan,
		Shards: decide.Capacity(f), ShardsRevision: r.capacityRevision(f), Rebalance: f.Policy() == v1alpha1.ShardLostRebalance,
		Failed:        f.FailedThresholds(),
		Probes:        f.Probes(),
		Changes:       f.Record.Updates(f.Plan.Rates),
		LossTolerated: f.ToleratesLoss(),
		LoadEnd:       f.Record.LoadEnd(f.Plan),
		Live:          f.Live(),
		Retention:     desired.Retention(f.LoadTest),
		Pods:          map[int]shards.Pod{}, Owners: map[int]types.UID{}, Recorded: recordedRunners(f), MayStart: f.StartDecided(), Stored: f.Record.End != nil,
	}
	for shard, pod := range f.Pods {
		d.Pods[shard] = f.Observe(pod)
	}
	for shard, pod := range f.Record.Pods {
		d.Owners[shard] = pod.UID
		if d.Pods[shard].UID != pod.UID && d.MayStart && f.Record.Find(shard, pod.UID) == nil {
			d.Pods[shard] = shards.Pod{UID: pod.UID, Name: pod.Name, Node: pod.Node, Address: pod.Address, Gone: true}
		}
	}
	return d
}

// capacityRevision returns the number of the last change of the capacity.
func (r *reconciler) capacityRevision(f *run.Facts) int64 {
	c := r.memory.of(f.LoadTest)
	if capacity := decide.Capacity(f); c.capacityRevision == 0 || c.capacity != capacity {
		c.capacity, c.capacityRevision = capacity, c.capacityRevision+1
	}
	return c.capacityRevision
}

// recordedRunners is what the collector must know of the runners that ended.
func recordedRunners(f *run.Facts) []shards.Recorded {
	out := make([]shards.Recorded, len(f.Ended))
	for i, e := range f.Ended {
		out[i] = shards.Recorded{Shard: e.Index, Pod: e.Pod, Member: e.Member, Loss: run.LossOf(e.Shard), Final: e.State == record.ShardDone, Snapshot: e.Snapshot, Address: e.Address}
	}
	return out
}
