package loadtest

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// maxListed is the number of shards with a problem that status lists while the test runs.
const maxListed = 16

// brief returns what the operator writes of a status. While the test runs, the result has the totals and the shards with a
// problem, so its size does not depend on the numbers of shards and steps. After the end it is the whole status.
func brief(whole *v1alpha1.LoadTestStatus) *v1alpha1.LoadTestStatus {
	if whole.CompletionTime != nil {
		return whole
	}
	out := whole.DeepCopy()
	out.Runners = out.Runners[:0:0]
	// A lost shard comes before one that answers, and both before one that only waits for its share.
	for _, at := range []int{problemLost, problemMessage, problemJoining} {
		for i := range whole.Runners {
			if len(out.Runners) < maxListed && problemOf(&whole.Runners[i]) == at {
				out.Runners = append(out.Runners, whole.Runners[i])
			}
		}
	}
	slices.SortFunc(out.Runners, func(a, b v1alpha1.RunnerStatus) int { return cmp.Compare(a.Shard, b.Shard) })
	if out.Results != nil {
		for i := range out.Results.Chains {
			out.Results.Chains[i].Steps = nil
		}
	}
	return out
}

const (
	problemNone = iota
	problemLost
	problemMessage
	problemJoining
)

func problemOf(r *v1alpha1.RunnerStatus) int {
	switch {
	case r.State == stateLost:
		return problemLost
	case r.State == stateLeft:
		return problemNone
	case r.Message != "":
		return problemMessage
	case r.State == stateJoining:
		return problemJoining
	}
	return problemNone
}

// generatorOf sums up the health of the runners; nil: there are no runners.
func generatorOf(runners []v1alpha1.RunnerStatus) *v1alpha1.GeneratorStatus {
	if len(runners) == 0 {
		return nil
	}
	out := &v1alpha1.GeneratorStatus{}
	for i := range runners {
		r := &runners[i]
		if r.Exclusive && r.State != stateLeft {
			out.ExclusiveShards++
		}
		out.ThrottledMicroseconds += r.ThrottledMicroseconds
		if r.LagP99Microseconds > out.LagP99Microseconds {
			out.LagP99Microseconds, out.LagP99Shard = r.LagP99Microseconds, r.Shard
		}
	}
	return out
}

// pace bounds the writes of statuses. A status that differs from the stored one in figures only waits until the interval
// since the last write has passed. The interval is a second for up to ten running tests, and a tenth of a second for each
// of more, so there are at most ten such writes a second.
type pace struct {
	least time.Duration

	mu      sync.Mutex
	written map[types.NamespacedName]time.Time // of running tests; guarded by mu
}

// testsPerSecond is the number of statuses that are written in a second because of their figures.
const testsPerSecond = 10

// wait returns how long a write that is not urgent has to wait.
func (p *pace) wait(key types.NamespacedName, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.written[key]
	if !ok || now.Before(last) {
		return 0
	}
	interval := max(p.least, time.Duration(len(p.written))*time.Second/testsPerSecond)
	return max(0, last.Add(interval).Sub(now))
}

// wrote notes a write. A test that does not run any more does not count.
func (p *pace) wrote(key types.NamespacedName, st *v1alpha1.LoadTestStatus, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if st.StartTime == nil || st.CompletionTime != nil {
		delete(p.written, key)
		return
	}
	p.written[key] = now
}

func (p *pace) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.written, key)
}

// urgent returns whether two statuses differ in more than figures and texts: in the phase, a condition, the state of a
// listed shard, the number of lost or desired shards, or a change of the spec.
func urgent(before, after *v1alpha1.LoadTestStatus) bool {
	return !equality.Semantic.DeepEqual(withoutFigures(before), withoutFigures(after))
}

func withoutFigures(st *v1alpha1.LoadTestStatus) *v1alpha1.LoadTestStatus {
	out := *st
	out.Summary, out.Results, out.Generator, out.StartSkewMicroseconds = nil, nil, nil, nil
	out.Conditions = make([]metav1.Condition, len(st.Conditions))
	for i, c := range st.Conditions {
		c.Message = ""
		out.Conditions[i] = c
	}
	out.Thresholds = slices.Clone(st.Thresholds)
	for i := range out.Thresholds {
		out.Thresholds[i].Observed = ""
	}
	out.Runners = nil
	for i := range st.Runners {
		r := &st.Runners[i]
		out.Runners = append(out.Runners, v1alpha1.RunnerStatus{Shard: r.Shard, State: r.State, Member: r.Member})
	}
	if st.Shards != nil {
		out.Shards = &v1alpha1.ShardCounts{Desired: st.Shards.Desired, Lost: st.Shards.Lost}
	}
	return &out
}
