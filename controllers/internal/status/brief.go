package status

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// maxListed is the number of shards with a problem that status lists while the test runs.
const maxListed = 16

// Brief returns what the operator writes of a status. While the test runs, the result has the totals and the shards
// with a problem, so its size does not depend on the numbers of shards and steps. After the end it is the whole
// status.
func Brief(whole *v1alpha1.LoadTestStatus) *v1alpha1.LoadTestStatus {
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

// Urgent returns whether two statuses differ in more than figures and texts: in the phase, a condition, the state of a
// listed shard, the number of lost or desired shards, or a change of the spec.
func Urgent(before, after *v1alpha1.LoadTestStatus) bool {
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
