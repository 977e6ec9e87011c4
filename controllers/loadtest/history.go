package loadtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/internal/shard"
)

const (
	oneSecond   = time.Second
	microsecond = time.Microsecond // what the API keeps of an instant
	// maxChanges is the bound of status.changes.
	maxChanges = 32
)

// history is what status tells of changes: those recorded before, those of this pass, and since when they
// are in force. It is a record of what was, as the start time is.
func (s *scope) history() []v1alpha1.Change {
	out := slices.Concat(s.lt.Status.Changes, s.changes)
	for len(out) > maxChanges {
		i := dispensable(out)
		out = slices.Delete(out, i, i+1)
	}
	for i := range out {
		if out[i].AppliedAt == nil {
			out[i].AppliedAt = s.inForceSince(out[i:])
		}
	}
	return out
}

// dispensable is the oldest change that is neither the first nor the last of its subject, so that what a
// run began with and what it came to stay known; else the oldest of all.
func dispensable(changes []v1alpha1.Change) int {
	for i := range changes {
		same := func(c v1alpha1.Change) bool { return subject(&c) == subject(&changes[i]) }
		if slices.ContainsFunc(changes[:i], same) && slices.ContainsFunc(changes[i+1:], same) {
			return i
		}
	}
	return 0
}

// inForceSince is the instant from which the first of some changes, or one after it, is in force on every
// runner that still sends; nil: it is not.
func (s *scope) inForceSince(changes []v1alpha1.Change) *metav1.MicroTime {
	generation := changes[0].Generation
	if s.view.Generation < generation {
		return nil
	}
	dealt := func([]int) bool { return true }
	if changes[0].Field == fieldShards {
		dealt = func(members []int) bool { return s.dealtTo(members, changes) }
	}
	at := s.now
	i := slices.IndexFunc(s.view.Applied, func(a collect.Applied) bool { return a.Generation >= generation && dealt(a.Members) })
	switch {
	case i >= 0:
		at = s.view.Applied[i].At
	case changes[0].Field == fieldShards && (len(s.view.Applied) > 0 || !dealt(s.view.Members)):
		return nil // else another process has told it
	}
	if at.After(s.now) {
		return nil
	}
	out := metav1.NewMicroTime(at.UTC().Truncate(microsecond))
	return &out
}

// dealtTo: the members are those that one of some changes of the number of shards asks for. A lost shard
// need not be among them.
func (s *scope) dealtTo(members []int, changes []v1alpha1.Change) bool {
	lost := s.lost()
	for i := range changes {
		n, err := strconv.Atoi(changes[i].To)
		if changes[i].Field != fieldShards || err != nil {
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

// undone gives rates the values that they had before any change. It returns false when the last change
// did not lead to them: they are others than those that were in force.
func undone(rates []runnerv1alpha1.Rate, changes []v1alpha1.Change) ([]runnerv1alpha1.Rate, bool) {
	out := slices.Clone(rates)
	for i := range out {
		last := true
		for k := len(changes) - 1; k >= 0; k-- {
			if subject(&changes[k]) != stageField(i) {
				continue
			}
			if last && rateText(&out[i]) != changes[k].To {
				return nil, false
			}
			last = false
			var err error
			if out[i].Count, out[i].Period, err = parseRate(changes[k].From); err != nil {
				return nil, false
			}
		}
	}
	return out, true
}

// undoneShards is the number of shards before any change. It returns false when the last change did not
// lead to the present one.
func undoneShards(present int32, changes []v1alpha1.Change) (int32, bool) {
	original, last := int(present), true
	for k := len(changes) - 1; k >= 0; k-- {
		if changes[k].Field != fieldShards {
			continue
		}
		if last && changes[k].To != strconv.Itoa(original) {
			return 0, false
		}
		last = false
		var err error
		if original, err = strconv.Atoi(changes[k].From); err != nil {
			return 0, false
		}
	}
	return int32(original), true
}

// asStarted compiles a spec with the rates and the shards that it had before any change; nil: it is not the
// one that came to be by them.
func asStarted(name string, spec *v1alpha1.LoadTestSpec, changes []v1alpha1.Change) *runnerv1alpha1.Plan {
	shards, same := undoneShards(spec.Runner.Shards, changes)
	if !same {
		return nil
	}
	spec = spec.DeepCopy()
	spec.Runner.Shards = shards
	compiled, _, errs := compile.Compile(name, spec)
	if len(errs) > 0 {
		return nil
	}
	if compiled.Rates, same = undone(compiled.Rates, changes); !same {
		return nil
	}
	return compiled
}

// parseRate reads what rateText has written.
func parseRate(text string) (count int64, period time.Duration, err error) {
	number, per, found := strings.Cut(text, " per ")
	period = oneSecond
	if found {
		if period, err = time.ParseDuration(per); err != nil {
			return 0, 0, fmt.Errorf("period of %q: %w", text, err)
		}
	}
	if count, err = strconv.ParseInt(number, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("count of %q: %w", text, err)
	}
	return count, period, nil
}
