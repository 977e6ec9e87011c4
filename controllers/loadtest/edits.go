package loadtest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/internal/shard"
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

// dispensable returns the index of the oldest edit that is neither the first nor the last of its field; if there is none,
// that of the oldest.
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

// decideApplied notes since when edits have effect on all runners.
func (s *scope) decideApplied(run *record.Record) {
	for i := range run.Edits {
		if run.Edits[i].AppliedAt == nil {
			run.Edits[i].AppliedAt = s.appliedSince(run.Edits[i:])
		}
	}
}

// appliedSince is the time from which the first of some edits, or a later one that replaced it, has effect on every
// runner that still sends; nil: it has none yet.
func (s *scope) appliedSince(edits []record.Edit) *metav1.MicroTime {
	generation := edits[0].Generation
	if s.view.Generation < generation {
		return nil
	}
	distributed := func([]int) bool { return true }
	if edits[0].Field == fieldShards {
		distributed = func(members []int) bool { return s.distributedTo(members, edits) }
	}
	at := s.now
	i := slices.IndexFunc(s.view.Applied, func(a collect.Applied) bool { return a.Generation >= generation && distributed(a.Members) })
	switch {
	case i >= 0:
		at = s.view.Applied[i].At
	case edits[0].Field == fieldShards && (len(s.view.Applied) > 0 || !distributed(s.view.Members)):
		return nil // otherwise a former operator sent it
	}
	if at.After(s.now) {
		return nil
	}
	out := metav1.NewMicroTime(at.UTC().Truncate(time.Microsecond))
	return &out
}

// distributedTo returns whether the members are those that one of some edits of the number of shards asks for. A lost
// shard need not be among them.
func (s *scope) distributedTo(members []int, edits []record.Edit) bool {
	lost := s.lost()
	for i := range edits {
		n := edits[i].To.Shards
		if edits[i].Field != fieldShards {
			continue
		}
		beyond := slices.ContainsFunc(members, func(m int) bool { return m >= n })
		missing := slices.ContainsFunc(shard.All(n), func(m int) bool {
			return !slices.Contains(members, m) && !slices.ContainsFunc(lost, func(r result.Runner) bool { return r.Shard == m })
		})
		if !beyond && !missing {
			return true
		}
	}
	return false
}

// changesShown are edits as status shows them.
func changesShown(edits []record.Edit) []v1alpha1.Change {
	var out []v1alpha1.Change
	for i := range edits {
		e := &edits[i]
		out = append(out, v1alpha1.Change{
			Generation: e.Generation, Time: e.Time, Field: e.Field, From: valueText(e, e.From), To: valueText(e, e.To), AppliedAt: e.AppliedAt,
		})
	}
	return out
}

func valueText(e *record.Edit, v record.Value) string {
	switch {
	case v.Rate != nil && v.Rate.Period == 0 && v.Rate.Count == 0:
		return "every stream" // of a closed loop
	case v.Rate != nil:
		return rateText(v.Rate)
	case e.Field == fieldShards:
		return strconv.Itoa(v.Shards)
	}
	return strconv.FormatBool(v.Suspended)
}

// rateText is such as "5000", "1 per 1m0s" or "100 to 5000".
func rateText(r *record.Rate) string {
	text := strconv.FormatInt(r.Count, 10)
	if r.Ramp {
		text = fmt.Sprintf("%d to %d", r.RampFrom, r.Count)
	}
	if r.Period != time.Second && r.Period != 0 {
		text += " per " + r.Period.String()
	}
	return text
}
