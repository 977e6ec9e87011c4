package loadtest

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
)

// syncConnect lets the collector connect to the runners, and decides which shards the test starts with.
func (r *reconciler) syncConnect(ctx context.Context, s *scope) (bool, error) {
	if s.job == nil || s.planError != nil {
		return true, nil
	}
	if jobSuspended(s.job) {
		r.registry.Forget(s.lt.UID) // a queue ended the runners that it had; they are not lost
		return true, nil
	}
	s.glance(r.registry.View(s.lt.UID))
	if s.run.State == state.Preparing {
		if err := r.chooseStarters(ctx, s); err != nil {
			return false, err
		}
	}
	return true, r.order(ctx, s)
}

// syncCollector stores the decisions that the collector acts on, gives them to the collector, and takes over what the collector knows.
func (r *reconciler) syncCollector(ctx context.Context, s *scope) (bool, error) {
	s.noteCheckpoints(r.keeper.Problem(s.lt.UID))
	return true, r.look(ctx, s)
}

func (r *reconciler) look(ctx context.Context, s *scope) error {
	s.glance(r.registry.View(s.lt.UID))
	if s.behind {
		return nil
	}
	if err := r.decideForCollector(ctx, s); err != nil {
		return err
	}
	return r.order(ctx, s)
}

// order gives the collector what is stored, and takes over its view.
func (r *reconciler) order(ctx context.Context, s *scope) error {
	d := r.wanted(s)
	if s.run.Stop != nil {
		d.Stop = s.run.Stop.Reason
	}
	view, err := r.registry.Ensure(d)
	if err != nil {
		return err
	}
	s.see(view)
	r.readEvents(ctx, s)
	s.problem = diagnose(s)
	return nil
}

// glance takes over the view before the collector gets its orders; nil: there is none. What follows from it goes to the collector at once.
func (s *scope) glance(view *collect.View) {
	if view != nil {
		s.see(view)
	}
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

// decideForCollector stores the decisions that the collector acts on.
func (r *reconciler) decideForCollector(ctx context.Context, s *scope) error {
	if err := r.decideThresholds(ctx, s); err != nil {
		return err
	}
	if reason := s.stop(); reason != "" && s.run.Stop == nil {
		return r.decide(ctx, s, func(run *record.Record) error {
			run.Stop = &record.Stop{Reason: reason, Time: s.microTime()}
			if a := s.aborting(); a != nil && reason == a.reason() {
				run.Thresholds = append(withoutThreshold(run.Thresholds, a.Name), record.Threshold{Name: a.Name, Observed: a.Observed, After: a.After, Abort: true})
			}
			return run.On(state.Stop)
		})
	}
	if err := r.decideProbe(ctx, s); err != nil {
		return err
	}
	return r.decideChange(ctx, s)
}

// decideChange stores the change that the collector proposes. The runners get it after that.
func (r *reconciler) decideChange(ctx context.Context, s *scope) error {
	p, newest := s.view.Proposal, s.run.Newest()
	if p == nil || s.run.Stop != nil || newest == nil || p.Revision != newest.Revision+1 {
		return nil
	}
	return r.decide(ctx, s, func(run *record.Record) error {
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
		for shard, pod := range r.podsOf(s) {
			if slices.Contains(p.Members, shard) && !slices.Contains(newest.Members, shard) {
				run.Pods[shard] = pod
			}
		}
		return nil
	})
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
		Retention:     desired.Retention(s.lt),
		Pods:          map[int]collect.Pod{}, Owners: map[int]types.UID{}, Recorded: s.recordedRunners(), MayStart: s.startDecided(), Stored: s.end != nil,
	}
	if d.Live = s.live; d.Live.Generation == 0 {
		d.Live = s.beforeStart()
	}
	for shard, pod := range s.pods {
		d.Pods[shard] = r.observe(pod)
	}
	for shard, pod := range s.run.Pods {
		d.Owners[shard] = pod.UID
		if d.Pods[shard].UID != pod.UID && d.MayStart && s.run.Find(shard, pod.UID) == nil {
			d.Pods[shard] = collect.Pod{UID: pod.UID, Name: pod.Name, Node: pod.Node, Address: pod.Address, Gone: true}
		}
	}
	return d
}
