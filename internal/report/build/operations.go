package build

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// operation is the sum of the steps of a target that execute the same service operation.
type operation struct {
	target, name string
	counters     runnerv1alpha1.StepCounters
	responseTime histogram.H
}

// operationResults returns the figures of each service operation of each target. Targets, and the operations of a
// target, are in the order of their first steps. A step without an operation is an operation of its own, named as the
// step. It returns nil if no step has an operation.
func (s *sum) operationResults(plan *runnerv1alpha1.Plan) []runnerv1alpha1.OperationResult {
	if !HasOperations(plan) {
		return nil
	}
	type key struct{ target, name string }
	all, order := map[key]*operation{}, []*operation(nil)
	plan.EachStep(func(i int, chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		if step.Await != nil || chain.Phase != runnerv1alpha1.PhaseLoad {
			return
		}
		k := key{plan.Targets[step.Target].Name, OperationOf(chain, step)}
		o := all[k]
		if o == nil {
			o = &operation{target: k.target, name: k.name}
			all[k], order = o, append(order, o)
		}
		addStep(&o.counters, &s.counts.Steps[i], 1)
		o.responseTime.Merge(&s.times.steps[i][0])
	})
	first := map[string]int{}
	for i, o := range order {
		if _, known := first[o.target]; !known {
			first[o.target] = i
		}
	}
	slices.SortStableFunc(order, func(a, b *operation) int { return first[a.target] - first[b.target] })
	out := make([]runnerv1alpha1.OperationResult, 0, len(order))
	for _, o := range order {
		n := &o.counters
		out = append(out, runnerv1alpha1.OperationResult{
			Target: o.target, Operation: o.name, Outcomes: n.Outcomes, StepEvents: n.StepEvents,
			ErrorRate:   runnerv1alpha1.ErrorRate(ratio(n.Sent-n.Succeeded, n.Sent)),
			StatusCodes: n.StatusCodes, Problems: Problems(n.Problems), ResponseTime: o.responseTime.Times(),
		})
	}
	return out
}

// HasOperations returns whether a step of the plan has an operation.
func HasOperations(plan *runnerv1alpha1.Plan) bool {
	return slices.ContainsFunc(plan.Chains, func(c runnerv1alpha1.Chain) bool {
		return slices.ContainsFunc(c.Steps, func(s runnerv1alpha1.Step) bool { return s.Operation != "" })
	})
}

// OperationOf returns the name of the service operation of a step: CHAIN/STEP if the step has none.
func OperationOf(chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) string {
	if step.Operation != "" {
		return step.Operation
	}
	return chain.Name + "/" + step.Name
}

// checkOperations verifies that the operations have all requests of the steps.
func checkOperations(r *runnerv1alpha1.Report) (errs []error) {
	var all runnerv1alpha1.Outcomes
	for i := range r.Operations {
		o := &r.Operations[i]
		what := "operation " + o.Operation + " of " + o.Target
		errs = append(errs, sumsOf(what, &o.Outcomes), sumsTo(what+": statusCodes", o.StatusCodes, o.Done),
			atMost(what+": problems", problemCount(o.Problems), o.Done))
		all.Add(&o.Outcomes, 1)
	}
	if len(r.Operations) > 0 {
		errs = append(errs, equal("sent of all operations", all.Sent, r.Requests.Sent),
			equal("succeeded of all operations", all.Succeeded, r.Requests.Succeeded))
	}
	return errs
}

func problemCount(all []runnerv1alpha1.ProblemResult) (n int64) {
	for _, p := range all {
		n += p.Count
	}
	return n
}
