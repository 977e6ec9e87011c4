package loadtest

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// syncView takes over what the collector knows of a test that runs. A collector that does not know the run gets its record first.
func (r *reconciler) syncView(ctx context.Context, s *scope) (_ bool, err error) {
	view := r.registry.View(s.LoadTest.UID)
	if view == nil {
		if view, err = r.order(s); err != nil {
			return false, err
		}
	}
	s.See(view)
	s.noteCheckpoints(r.keeper.Problem(s.LoadTest.UID))
	r.diagnose(ctx, s)
	return true, nil
}

// syncCollector gives the collector the record as it is stored now. What the collector learned meanwhile brings another pass.
func (r *reconciler) syncCollector(_ context.Context, s *scope) (bool, error) {
	_, err := r.order(s)
	return err == nil, err
}

// syncRunning does what follows from the record.
func (r *reconciler) syncRunning(ctx context.Context, s *scope) (bool, error) {
	_, err := r.perform(ctx, s, decide.Running(s.Facts)...)
	return err == nil, err
}

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
