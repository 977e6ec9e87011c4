package loadtest

import (
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// order gives the collector what is stored, and returns its view.
func (r *reconciler) order(f *run.Facts) (*shards.View, error) {
	f.ShardsRevision = r.capacityRevision(f)
	d := shards.Desired{
		Name: f.Key(), UID: f.LoadTest.UID, Record: f.Record, Plan: f.Plan, Job: f.JobUID(), Ended: f.Ended,
		Policy: f.Policy(),
		Shards: decide.Capacity(f), ShardsRevision: f.ShardsRevision, Retention: desired.Retention(f.LoadTest),
		Pods: map[int]shards.Pod{},
	}
	for shard, pod := range f.Pods {
		d.Pods[shard] = f.Observe(pod)
	}
	for shard, pod := range f.Record.Pods {
		if d.Pods[shard].UID != pod.UID && f.StartDecided() && f.Record.Find(shard, pod.UID) == nil {
			d.Pods[shard] = shards.Pod{UID: pod.UID, Name: pod.Name, Node: pod.Node, Address: pod.Address, Gone: true}
		}
	}
	return r.registry.Ensure(d)
}

// capacityRevision returns the number of the last change of the capacity.
func (r *reconciler) capacityRevision(f *run.Facts) int64 {
	c := r.memory.of(f.LoadTest)
	if capacity := decide.Capacity(f); c.capacityRevision == 0 || c.capacity != capacity {
		c.capacity, c.capacityRevision = capacity, c.capacityRevision+1
	}
	return c.capacityRevision
}
