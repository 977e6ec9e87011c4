package loadtest

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// syncView takes over what the collector knows of a test that runs. A collector that does not know the run gets its record first.
func (r *reconciler) syncView(ctx context.Context, s *scope) (_ bool, err error) {
	view := r.registry.View(s.lt.UID)
	if view == nil {
		if view, err = r.order(s); err != nil {
			return false, err
		}
	}
	s.see(view)
	s.noteCheckpoints(r.keeper.Problem(s.lt.UID))
	r.diagnose(ctx, s)
	return true, nil
}

// syncCollector gives the collector the record as it is stored now. What the collector learned meanwhile brings another pass.
func (r *reconciler) syncCollector(_ context.Context, s *scope) (bool, error) {
	_, err := r.order(s)
	return err == nil, err
}

// order gives the collector what is stored, and returns its view.
func (r *reconciler) order(s *scope) (*collect.View, error) {
	d := r.wanted(s)
	if s.run.Stop != nil {
		d.Stop = s.run.Stop.Reason
	}
	return r.registry.Ensure(d)
}

// see takes over a view, with the report of what is known by now.
func (s *scope) see(view *collect.View) {
	s.view = view
	if view.Progress == nil {
		return
	}
	report := *view.Progress.Report
	report.PlanHash = s.planHash
	s.report, s.errorsSoFar, s.chains = &report, view.Progress.ErrorRate, view.Progress.Chains
}

// decideChange takes over the change that the collector proposes. The runners get it after it is stored.
func (s *scope) decideChange(run *record.Record) {
	p, newest := s.view.Proposal, s.run.Newest()
	if p == nil || run.Stop != nil || newest == nil || p.Revision != newest.Revision+1 {
		return
	}
	run.Accepted(s.view.Revision())
	run.Append(record.Change{
		Revision: p.Revision, Generation: p.Generation, At: p.At, Members: p.Members, Rates: record.RatesOf(p.Rates),
		Suspended: p.Suspended, DecidedAt: s.microTime(),
	})
	if s.view.Begins {
		begin(run, p.Revision)
	}
	if run.Pods == nil {
		run.Pods = map[int]record.Pod{}
	}
	for shard, pod := range s.podsOf() {
		if slices.Contains(p.Members, shard) && !slices.Contains(newest.Members, shard) {
			run.Pods[shard] = pod
		}
	}
}

// wanted is what the collector must know of the run. It shares nothing that changes.
func (r *reconciler) wanted(s *scope) collect.Desired {
	d := collect.Desired{
		Name: s.key(), UID: s.lt.UID, Attempt: s.run.Attempt, Job: s.jobUID(), Plan: s.plan,
		Shards: s.capacity(), ShardsRevision: r.capacityRevision(s), Rebalance: s.policy() == v1alpha1.ShardLostRebalance,
		Failed:        s.failedThresholds(),
		Probes:        s.probes(),
		Changes:       s.run.Updates(s.plan.Rates),
		LossTolerated: s.policy() != v1alpha1.ShardLostFail,
		LoadEnd:       s.run.LoadEnd(s.plan),
		Live:          s.live(),
		Retention:     desired.Retention(s.lt),
		Pods:          map[int]collect.Pod{}, Owners: map[int]types.UID{}, Recorded: s.recordedRunners(), MayStart: s.startDecided(), Stored: s.end != nil,
	}
	for shard, pod := range s.pods {
		d.Pods[shard] = s.observe(pod)
	}
	for shard, pod := range s.run.Pods {
		d.Owners[shard] = pod.UID
		if d.Pods[shard].UID != pod.UID && d.MayStart && s.run.Find(shard, pod.UID) == nil {
			d.Pods[shard] = collect.Pod{UID: pod.UID, Name: pod.Name, Node: pod.Node, Address: pod.Address, Gone: true}
		}
	}
	return d
}
