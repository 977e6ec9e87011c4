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
			out[i].AppliedAt = s.inForceSince(out[i].Generation)
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

// inForceSince is the instant from which a generation, or one after it, is in force on every runner that
// still sends; nil: it is not.
func (s *scope) inForceSince(generation int64) *metav1.MicroTime {
	if s.view.Revision < generation {
		return nil
	}
	at := s.now
	for _, a := range s.view.Applied {
		if a.Revision >= generation {
			at = a.At
			break
		}
	}
	if at.After(s.now) {
		return nil
	}
	out := metav1.NewMicroTime(at.UTC().Truncate(microsecond))
	return &out
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
