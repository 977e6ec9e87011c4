package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/build"
)

// operationLabels are the labels of descOperations: target, operation, outcome, status and cause.
type operationLabels [5]string

// collectOperations counts the requests of each service operation that have an outcome. It has no series if no request
// of the plan has an operation.
func collectOperations(to chan<- prometheus.Metric, plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
	if !build.HasOperations(plan) {
		return
	}
	counts := map[operationLabels]int64{}
	plan.EachStep(func(i int, chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		if i < len(s.Steps) && step.Await == nil && chain.Phase == runnerv1alpha1.PhaseLoad {
			countOperation(counts, operationLabels{plan.Targets[step.Target].Name, build.OperationOf(chain, step)}, &s.Steps[i])
		}
	})
	for labels, n := range counts {
		counter(to, descOperations, float64(n), labels[:]...)
	}
}

// countOperation adds the outcomes of a step. Each response is in one of them: those with problem details have their
// cause, the others none.
func countOperation(counts map[operationLabels]int64, of operationLabels, s *runnerv1alpha1.StepCounters) {
	add := func(n int64, outcome, status, cause string) {
		if n != 0 {
			of[2], of[3], of[4] = outcome, status, cause
			counts[of] += n
		}
	}
	for code, n := range s.StatusCodes {
		add(n, "response", code, "")
	}
	for name, n := range s.Problems {
		if status, cause, ok := build.ProblemOf(name); ok {
			add(-n, "response", strconv.Itoa(status), "")
			add(n, "response", strconv.Itoa(status), cause)
		}
	}
	for _, c := range s.Failures()[1:] { // without a response
		add(*c.N, c.Words("_"), "", "")
	}
}

// collectNotifications has the counts and the times of each listener.
func collectNotifications(to chan<- prometheus.Metric, plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
	for i := range s.Listeners {
		l, name := &s.Listeners[i], plan.Listeners[i].Name
		for _, o := range []struct {
			name string
			n    int64
		}{{"in_time", l.InTime}, {"late", l.Late}, {"duplicate", l.Duplicate}, {"unexpected", l.Unexpected},
			{"answered", l.Answered}} {
			counter(to, descNotifications, float64(o.n), name, o.name)
		}
		counter(to, descAwaited, float64(l.Awaited), name)
		counter(to, descMissing, float64(l.Missing), name)
		counter(to, descFailedNotifications, float64(l.FailedChecks), name)
		times, err := histogram.Decode(l.Time)
		if err != nil {
			to <- prometheus.NewInvalidMetric(descNotificationTime, err)
			continue
		}
		times.AddUnanswered(l.Measured.Missing, 0)
		to <- metricOf(descNotificationTime, times, name)
	}
}
