package build

import (
	"errors"
	"fmt"
	"math"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Check verifies the sums of a report, its error rate and the order of its percentiles, and returns an error for each
// that is wrong. The rules also apply to a partial report, because they apply to each snapshot:
//
//	sent = done + timedOut + reset + connectionLost + inFlightAtEnd
//	done = succeeded + failedChecks
//
// for the totals, each step and each stage with figures. The steps and the measured stages add up to the totals, and
// the warm-up stages to warmUp.sent. Started chains are completed, aborted or unfinished. If failed checks and
// aborted chains are counted by name, the counts add up. Each notification has one outcome, and so has each step that
// awaited one. The causes of reset, lost and dropped requests add up, too. Each request that is done has a status
// code, and no count is greater than the number of sent requests.
func Check(r *runnerv1alpha1.Report) error {
	total := &r.Requests.Outcomes
	errs := []error{sumsOf("requests", total)}
	var steps runnerv1alpha1.Outcomes
	for i := range r.Steps {
		s := &r.Steps[i]
		what := fmt.Sprintf("step %s/%s", s.Chain, s.Step)
		errs = append(errs, sumsOf(what, &s.Outcomes),
			sumsTo(what+": failedBy", s.FailedBy, s.FailedChecks),
			sumsTo(what+": statusCodes", s.StatusCodes, s.Done),
			atMost(what+": problems", problemCount(s.Problems), s.Done),
			atMost(what+": response times", s.ResponseTime.Count, s.Sent))
		for _, n := range s.StepEvents.Counts() {
			errs = append(errs, atMost(what+": "+n.Name, *n.N, s.Sent))
		}
		steps.Add(&s.Outcomes, 1)
	}
	errs = append(errs, compareSums("of all steps", &steps, total))
	errs = append(errs, checkOperations(r)...)
	errs = append(errs, checkStages(r)...)
	var codes int64
	for _, n := range r.StatusCodes {
		codes += n
	}
	errs = append(errs,
		atMost("done", total.Done, codes),
		atMost("status codes", codes, total.Sent),
		equal("chains started", r.Chains.Started, r.Chains.Completed+r.Chains.Aborted+r.Chains.Unfinished),
		sumsTo("chains aborted by reason", r.Chains.AbortedBy, r.Chains.Aborted),
		atMost("succeeded after the load", r.Graceful.Succeeded, r.Graceful.Sent),
		atMost("succeeded in setup", r.Setup.Succeeded, r.Setup.Sent),
		atMost("succeeded in teardown", r.Teardown.Succeeded, r.Teardown.Sent),
		atMost("response times", r.ResponseTime.Count, total.Sent+r.Requests.Dropped))
	for i := range r.Listeners {
		l := &r.Listeners[i]
		errs = append(errs,
			equal("notifications of "+l.Name, l.Received, l.InTime+l.Late+l.Duplicate+l.Unexpected+l.Answered+l.Early+
				l.RefusedToken+l.RefusedCertificate),
			equal("steps that awaited "+l.Name, l.Awaited, l.InTime+l.Missing+l.WaitingAtEnd+l.Waiting),
			atMost("failed checks of "+l.Name, l.FailedChecks, l.InTime),
			atMost("measured steps that awaited "+l.Name, l.Measured.Awaited, l.Awaited),
			atMost("measured notifications of "+l.Name, l.Measured.InTime, l.InTime),
			atMost("measured notifications of "+l.Name+" that are missing", l.Measured.Missing, l.Missing),
			sumsTo("failed checks of "+l.Name+" by name", l.FailedBy, l.Measured.FailedChecks))
	}
	errs = append(errs, checkFailures(r.Failures, total, r.Requests.Dropped), checkRate(r))
	if t := &r.ResponseTime; !slices.IsSorted([]int64{t.P50, t.P90, t.P95, t.P99, t.P999, t.Max}) {
		errs = append(errs, errors.New("the percentiles of responseTime are not in ascending order"))
	}
	return errors.Join(errs...)
}

// checkRate compares the error rate with the counters.
func checkRate(r *runnerv1alpha1.Report) error {
	all := r.Requests.Sent + r.Requests.Dropped
	if all == 0 {
		return nil
	}
	rate := 1 - float64(r.Requests.Succeeded)/float64(all)
	if math.Abs(rate-float64(r.ErrorRate)) > 1e-9 {
		return fmt.Errorf("errorRate is %s, but the counters give %s", FormatPercent(float64(r.ErrorRate)),
			FormatPercent(rate))
	}
	return nil
}

func checkStages(r *runnerv1alpha1.Report) (errs []error) {
	var sent, dropped, warmUp int64
	var figures runnerv1alpha1.Outcomes
	complete := true
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.WarmUp {
			warmUp += s.Sent
			continue
		}
		sent += s.Sent
		dropped += s.Dropped
		if s.Figures == nil {
			complete = false
			continue
		}
		own := figuresOf(s)
		errs = append(errs, sumsOf("stage "+s.Name, &own),
			atMost("stage "+s.Name+": response times", s.Figures.ResponseTime.Count, s.Sent+s.Dropped))
		figures.Add(&own, 1)
	}
	if complete {
		errs = append(errs, compareSums("of all measured stages", &figures, &r.Requests.Outcomes))
	}
	return append(errs,
		equal("sent in measured stages", sent, r.Requests.Sent),
		equal("dropped in measured stages", dropped, r.Requests.Dropped),
		equal("sent in warm-up stages", warmUp, r.WarmUp.Sent))
}

// figuresOf returns the counts of a stage with figures.
func figuresOf(s *runnerv1alpha1.StageResult) runnerv1alpha1.Outcomes {
	f := s.Figures
	return runnerv1alpha1.Outcomes{
		Sent: s.Sent, Done: f.Done, Succeeded: f.Succeeded, FailedChecks: f.FailedChecks,
		TimedOut: f.TimedOut, Reset: f.Reset, ConnectionLost: f.ConnectionLost, InFlightAtEnd: f.InFlightAtEnd,
	}
}

// sumsOf checks the rules for one set of counters.
func sumsOf(what string, c *runnerv1alpha1.Outcomes) error {
	for _, n := range c.Counts() {
		if *n.N < 0 {
			return fmt.Errorf("%s: a counter is %d", what, *n.N)
		}
	}
	return errors.Join(
		equal(what+": sent", c.Sent, c.Done+c.TimedOut+c.Reset+c.ConnectionLost+c.InFlightAtEnd),
		equal(what+": done", c.Done, c.Succeeded+c.FailedChecks))
}

func compareSums(of string, sums, total *runnerv1alpha1.Outcomes) error {
	var errs []error
	want := total.Counts()
	for i, n := range sums.Counts() {
		errs = append(errs, equal(n.Name+" "+of, *n.N, *want[i].N))
	}
	return errors.Join(errs...)
}

func equal(what string, got, want int64) error {
	if got != want {
		return fmt.Errorf("%s is %d, want %d", what, got, want)
	}
	return nil
}

func atMost(what string, got, limit int64) error {
	if got > limit {
		return fmt.Errorf("%s is %d, want at most %d", what, got, limit)
	}
	return nil
}
