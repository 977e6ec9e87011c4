package build

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// Failures makes what a runner has counted fit to be shown and stored, and counts equal failures together.
func Failures(list []runnerv1alpha1.FailureCount) []runnerv1alpha1.FailureCount {
	var out failure.Counts
	out.AddAll(fitFailures(list))
	return out.List()
}

// fitFailures makes failures fit to be shown and stored: what targets and systems have said is UTF-8 of at
// most MaxFailureDetail octets.
func fitFailures(in []runnerv1alpha1.FailureCount) []runnerv1alpha1.FailureCount {
	out := make([]runnerv1alpha1.FailureCount, 0, len(in))
	for _, c := range in {
		c.Detail = fitText(c.Detail, runnerv1alpha1.MaxFailureDetail)
		c.Address = fitText(c.Address, runnerv1alpha1.MaxFailureDetail)
		out = append(out, c)
	}
	return out
}

// fitText returns valid UTF-8 of at most so many octets.
func fitText(s string, most int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	for len(s) > most {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	return s
}

// checkFailures verifies that failures of requests, which a version before them did not list, are all of the
// requests that were reset, lost and dropped, and not more than those that timed out.
func checkFailures(list []runnerv1alpha1.FailureCount, of *runnerv1alpha1.Outcomes, dropped int64) error {
	if len(list) == 0 {
		return nil
	}
	sums := map[runnerv1alpha1.FailureOf]int64{}
	for _, c := range list {
		if c.Count < 0 {
			return fmt.Errorf("failures: %s by %s is %d", c.Of, c.Cause, c.Count)
		}
		sums[c.Of] += c.Count
	}
	return errors.Join(
		equal("failures: reset", sums[runnerv1alpha1.FailureReset], of.Reset),
		equal("failures: connectionLost", sums[runnerv1alpha1.FailureConnectionLost], of.ConnectionLost),
		equal("failures: dropped", sums[runnerv1alpha1.FailureDropped], dropped),
		atMost("failures: timedOut", sums[runnerv1alpha1.FailureTimedOut], of.TimedOut))
}
