package verdict

import (
	"fmt"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Compared is a threshold with a baseline. Package baseline compares.
type Compared struct {
	Result runnerv1alpha1.ThresholdResult
	// IsMinimum is true if a lower value is worse, as that of a rate.
	IsMinimum bool
	// Unanswered is true if a time is among requests without a response. Above is by how much another time is above its
	// maximum, in microseconds.
	Unanswered bool
	Above      float64
	// Max is the greatest value that passes: an error rate, or a time in microseconds.
	Max float64
}

func (c *Compared) comparison(r *runnerv1alpha1.Report) (comparison, error) {
	out := comparison{result: c.Result, isMinimum: c.IsMinimum, unanswered: c.Unanswered, above: c.Above}
	if c.Result.Of != (runnerv1alpha1.Selector{}) {
		return out, nil // a dropped request has no step
	}
	f, err := build.FiguresOf(r, -1)
	if err != nil {
		return out, err
	}
	return out, out.findDrops(&f, c.Max)
}

// notCompared is the verdict of a run that has nothing to compare with.
func notCompared(in *input) *runnerv1alpha1.Verdict {
	var names []string
	for i := range in.thresholds {
		if t := &in.thresholds[i].result; t.NotCompared() != "" {
			names = append(names, t.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonNotCompared, "%s", strings.Join(names, "; "))
}

// comparedWith returns the end of the message of a run that passed: the baselines that it was compared with.
func (in *input) comparedWith() string {
	var names []string
	for i := range in.thresholds {
		if b := in.thresholds[i].result.Baseline; b != nil {
			name := b.Name
			if b.StartTime != "" {
				name += " of " + b.StartTime
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; compared with %s", strings.Join(names, ", "))
}
