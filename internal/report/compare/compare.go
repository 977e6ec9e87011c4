// Package compare compares the reports of two runs: A, the baseline, and B.
package compare

import (
	"fmt"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// Kind is the kind of a Comparison document.
const Kind = "Comparison"

// Default tolerances.
const (
	DefaultTolerance      = 0.1
	DefaultErrorTolerance = 0.001
)

// Options are the differences that do not count.
type Options struct {
	// Tolerance is for times and rates, as a share of the value of A. Example: with 0.1, a p99 of 11 ms in B is not
	// worse than a p99 of 10 ms in A.
	Tolerance float64
	// ErrorTolerance is for error rates, as a difference. Example: with 0.001, an error rate of 0.3% in B is not worse
	// than an error rate of 0.2% in A.
	ErrorTolerance float64
}

// Comparison is the result. It is a JSON document.
type Comparison struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// A and B are the runs.
	A Run `json:"a"`
	B Run `json:"b"`
	// Tolerance and ErrorTolerance are those of Options.
	Tolerance      rv.ErrorRate `json:"tolerance"`
	ErrorTolerance rv.ErrorRate `json:"errorTolerance"`
	// Outcome is Passed, Failed or Inconclusive.
	Outcome rv.Outcome `json:"outcome"`
	Message string     `json:"message"`
	// Remarks are differences of the runs that can explain different figures.
	Remarks []string `json:"remarks,omitempty"`
	Figures []Figure `json:"figures"`
}

// Run identifies one of the two runs.
type Run struct {
	// Source is the file or the LoadTest that the report was read from.
	Source    string     `json:"source"`
	Name      string     `json:"name"`
	Version   string     `json:"version,omitempty"`
	PlanHash  string     `json:"planHash,omitempty"`
	StartTime string     `json:"startTime,omitempty"`
	Outcome   rv.Outcome `json:"outcome"`
	Reason    string     `json:"reason"`
}

// Input is a report and the name of its file or LoadTest.
type Input struct {
	Source string
	Report *rv.Report
}

// Reports compares two reports whose figures build.Check has accepted.
func Reports(a, b Input, o Options) *Comparison {
	c := &Comparison{
		APIVersion: rv.APIVersion, Kind: Kind, A: a.run(), B: b.run(),
		Tolerance: rv.ErrorRate(o.Tolerance), ErrorTolerance: rv.ErrorRate(o.ErrorTolerance),
		Remarks: remarks(a.Report, b.Report), Figures: figures(a.Report, b.Report, o),
	}
	c.judge(a.Report, b.Report)
	return c
}

func (in Input) run() Run {
	r := in.Report
	return Run{
		Source: in.Source, Name: r.Name, Version: r.Version, PlanHash: r.PlanHash, StartTime: r.StartTime,
		Outcome: r.Verdict.Outcome, Reason: r.Verdict.Reason,
	}
}

// Writer returns the version that wrote a report, in words.
func Writer(r *rv.Report) string {
	if r.Version == "" {
		return "an unknown version of h2surge"
	}
	return "h2surge " + r.Version
}

// judge sets the outcome. If the generator of a run lagged, worse times and rates do not show that the target is worse.
// An error rate does, and so does the result of a search, which leaves out the probes that lagged.
func (c *Comparison) judge(a, b *rv.Report) {
	searched := a.Search != nil
	lagged := !searched && (Lagged(a) || Lagged(b))
	var worse []string
	judged, times, errorRates := 0, 0, 0
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.Result != NotJudged {
			judged++
			if f.Unit == Microseconds {
				times++
			}
		}
		if f.Result == Worse {
			worse = append(worse, f.String())
			if f.Unit == Ratio {
				errorRates++
			}
		}
	}
	unsound := append(c.A.unsound("A"), c.B.unsound("B")...)
	if why := incomparable(a.Search, b.Search); why != "" && len(unsound) == 0 {
		unsound = append(unsound, "the highest loads cannot be compared: "+why)
	}
	switch {
	case len(unsound) > 0:
		c.Outcome, c.Message = rv.OutcomeInconclusive, strings.Join(unsound, "; ")
	case len(worse) > 0:
		c.Outcome = rv.OutcomeFailed
		c.Message = fmt.Sprintf("%d of %d judged figures are worse in B than in A: %s", len(worse), judged, list(worse))
		if lagged && errorRates == 0 {
			c.Outcome, c.Message = rv.OutcomeInconclusive, c.Message+"; the generator lagged, so the target may not be the cause"
		}
	case times == 0 && !searched:
		c.Outcome = rv.OutcomeInconclusive
		c.Message = "no response time can be judged, because the runs have too few requests: p50 needs 20, p99 needs 1000"
	default:
		c.Outcome = rv.OutcomePassed
		c.Message = fmt.Sprintf("none of %d judged figures is worse in B than in A by more than %s (error rates: by more than %s)",
			judged, c.Tolerance, c.ErrorTolerance)
	}
}

// unsound is not empty for a run whose figures do not show how fast the target is. Those of a run that only lacked a
// baseline do.
func (r *Run) unsound(name string) []string {
	switch {
	case r.Reason == verdict.ReasonNotCompared:
	case r.Outcome == rv.OutcomeInconclusive, r.Outcome == rv.OutcomeError:
		return []string{fmt.Sprintf("the figures of %s cannot be compared, because its verdict is %s (%s)", name, r.Outcome,
			r.Reason)}
	}
	return nil
}

// maxListed is how many figures a message names.
const maxListed = 3

func list(all []string) string {
	out := strings.Join(all[:min(len(all), maxListed)], "; ")
	if more := len(all) - maxListed; more > 0 {
		out += fmt.Sprintf("; and %d more", more)
	}
	return out
}
