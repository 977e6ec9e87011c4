package decide

import (
	"slices"
	"strconv"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// budget keeps a PodDisruptionBudget while the test runs, so that a drain does not evict runners. It changes with the
// number of runners. A user can change or delete it: the operator applies it again only when the number changes.
func budget(f *run.Facts) []Operation {
	if f.TakenOver() || f.View.Over() {
		return nil
	}
	if f.LoadTest.Spec.Runner.PodDisruptionBudget == v1alpha1.PodDisruptionBudgetDisabled {
		return []Operation{DeleteBudget(f)}
	}
	n := protected(f)
	if n == 0 {
		return nil
	}
	return []Operation{{
		What:  budgetName(f),
		Apply: desired.Budget(f.LoadTest, n), Manager: desired.FieldManager, Once: strconv.Itoa(n),
	}}
}

// DeleteBudget deletes the budget of a run. The operator does so before it stores the end, so that no budget is left if
// the operator ends then. That of a test without a record goes after it, see Finished.
func DeleteBudget(f *run.Facts) Operation {
	return Operation{What: budgetName(f),
		Delete: &policyv1.PodDisruptionBudget{ObjectMeta: desired.BudgetMeta(f.LoadTest)}, Once: gone}
}

func budgetName(f *run.Facts) string { return "PodDisruptionBudget " + desired.BudgetName(f.LoadTest) }

// protected returns how many runners have a share of the load, or had one and their counts are not stored.
func protected(f *run.Facts) int {
	n := 0
	for i := range f.View.Shards {
		sh := &f.View.Shards[i]
		if sh.Lost == nil && !f.IsRecorded(i, sh.Pod.UID) && (sh.Member || slices.Contains(f.View.Members, i)) {
			n++
		}
	}
	return n
}
