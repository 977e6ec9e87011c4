package decide

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/report/build"
)

// maxChanges bounds Record.Edits and status.changes.
const maxChanges = 32

// bounded removes edits until there are at most maxChanges.
func bounded(edits []record.Edit) []record.Edit {
	for len(edits) > maxChanges {
		i := dispensable(edits)
		edits = slices.Delete(edits, i, i+1)
	}
	return edits
}

// dispensable returns the index of the oldest edit that is neither the first nor the last of its field; if there is
// none, that of the oldest.
func dispensable(edits []record.Edit) int {
	for i := range edits {
		same := func(e record.Edit) bool { return sameSubject(&e, &edits[i]) }
		if slices.ContainsFunc(edits[:i], same) && slices.ContainsFunc(edits[i+1:], same) {
			return i
		}
	}
	return 0
}

// sameSubject returns whether two edits are of the same stage, or of the same field. A rate has two fields.
func sameSubject(a, b *record.Edit) bool {
	if a.Stage != nil && b.Stage != nil {
		return *a.Stage == *b.Stage
	}
	return a.Stage == nil && b.Stage == nil && a.Field == b.Field
}

// applied notes since when edits have effect on all runners.
func applied(f *run.Facts, next *record.Record) {
	for i := range next.Edits {
		if next.Edits[i].AppliedAt == nil {
			next.Edits[i].AppliedAt = appliedSince(f, next.Edits[i:])
		}
	}
}

// appliedSince is the time from which the first of some edits, or a later one that replaced it, has effect on every
// runner that still sends; nil: it has none yet, or the load ended before.
func appliedSince(f *run.Facts, edits []record.Edit) *metav1.MicroTime {
	generation := edits[0].Generation
	if f.View.Generation < generation {
		return nil
	}
	distributed := func([]int) bool { return true }
	if edits[0].Field == run.FieldShards {
		distributed = func(members []int) bool { return distributedTo(f, members, edits) }
	}
	at := f.Now
	i := slices.IndexFunc(f.View.Applied,
		func(a shards.Applied) bool { return a.Generation >= generation && distributed(a.Members) })
	switch {
	case i >= 0:
		at = f.View.Applied[i].At
		if end, known := f.Record.LastDue(f.Plan); known && f.View.Applied[i].Since >= end {
			return nil
		}
	case edits[0].Field == run.FieldShards && (len(f.View.Applied) > 0 || !distributed(f.View.Members)):
		return nil // otherwise a former operator sent it
	}
	if at.After(f.Now) {
		return nil
	}
	out := metav1.NewMicroTime(at.UTC().Truncate(time.Microsecond))
	return &out
}

// distributedTo returns whether the members are those that one of some edits of the number of shards asks for. A lost
// shard need not be among them.
func distributedTo(f *run.Facts, members []int, edits []record.Edit) bool {
	lost := f.Lost()
	for i := range edits {
		n := edits[i].To.Shards
		if edits[i].Field != run.FieldShards {
			continue
		}
		beyond := slices.ContainsFunc(members, func(m int) bool { return m >= n })
		missing := slices.ContainsFunc(split.All(n), func(m int) bool {
			return !slices.Contains(members, m) && !slices.ContainsFunc(lost, func(r build.Runner) bool { return r.Shard == m })
		})
		if !beyond && !missing {
			return true
		}
	}
	return false
}

// live takes over what the spec changed.
func live(f *run.Facts, next *record.Record) {
	if len(f.Edits) == 0 {
		return
	}
	next.Live = record.Live{
		Generation: f.LoadTest.Generation, Rates: record.RatesOf(f.Present.Rates), Shards: f.Present.Shards,
		Suspended: f.LoadTest.Spec.Suspend,
	}
	next.Edits = bounded(append(next.Edits, f.Edits...))
}

// EditsOf compares the spec with the record.
func EditsOf(f *run.Facts, now *run.Present) (out []record.Edit) {
	live := &f.Record.Live
	edit := func(field string, stage *int, from, to record.Value) {
		out = append(out, record.Edit{Generation: f.LoadTest.Generation, Time: f.MicroTime(), Field: field, Stage: stage,
			From: from, To: to})
	}
	for i, to := range record.RatesOf(now.Rates) {
		if from := live.Rates[i]; from != to {
			edit(rateField(&f.LoadTest.Spec, i), &i, record.Value{Rate: &from}, record.Value{Rate: &to})
		}
	}
	if now.Shards != live.Shards {
		edit(run.FieldShards, nil, record.Value{Shards: live.Shards}, record.Value{Shards: now.Shards})
	}
	if f.LoadTest.Spec.Suspend != live.Suspended {
		edit(run.FieldSuspend, nil, record.Value{Suspended: live.Suspended}, record.Value{Suspended: f.LoadTest.Spec.Suspend})
	}
	return out
}

// rateField returns the path of the rate of a stage of the plan, in the spec. The plan has the stages of spec.rates
// first, then those of each chain.
func rateField(spec *v1alpha1.LoadTestSpec, i int) string {
	rates, at := spec.Rates, "rates"
	for k := 0; i >= len(rates) && k < len(spec.Chains); k++ {
		i -= len(rates)
		rates, at = spec.Chains[k].Rates, fmt.Sprintf("chains[%d].rates", k)
	}
	mode := "requestsPerSecond"
	switch {
	case i < len(rates) && rates[i].RequestsPer != nil:
		mode = "requestsPer"
	case i < len(rates) && rates[i].ChainsPerSecond != nil:
		mode = "chainsPerSecond"
	case i < len(rates) && rates[i].ClosedLoop != nil:
		mode = "closedLoop.concurrency"
	}
	return fmt.Sprintf("%s[%d].%s", at, i, mode)
}
