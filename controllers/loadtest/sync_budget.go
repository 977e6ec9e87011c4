package loadtest

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// poddisruptionbudgets: create and patch apply the budget of a running test, delete removes it at the end. The operator
// does not read budgets.
//
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=create;patch;delete

// noBudget is the number of runners in memory after the budget was deleted.
const noBudget = -1

// syncBudget keeps a PodDisruptionBudget while the test runs, so that a drain does not evict runners. It changes
// with the number of runners. A user can change or delete it: the operator applies it again only when the number changes.
func (r *reconciler) syncBudget(ctx context.Context, s *scope) (bool, error) {
	if s.TakenOver() {
		return true, nil
	}
	if s.LoadTest.Spec.Runner.PodDisruptionBudget == v1alpha1.PodDisruptionBudgetDisabled {
		err := r.deleteBudget(ctx, s)
		return err == nil, err
	}
	c := r.memory.of(s.LoadTest)
	n := decide.Protected(s.Facts)
	if n == c.budget || n == 0 {
		return true, nil
	}
	made, err := r.attempt(ctx, s, "PodDisruptionBudget "+desired.BudgetName(s.LoadTest), func() error {
		err := r.client.Apply(ctx, desired.Budget(s.LoadTest, n), fieldOwner)
		if apierrors.IsConflict(err) {
			return nil // a user changed it
		}
		return err
	})
	if made {
		c.budget = n
	}
	return err == nil, err
}

// deleteBudget deletes the budget of a run once. Store does it before the end is stored, so that no budget is left if the operator ends then.
func (r *reconciler) deleteBudget(ctx context.Context, s *scope) error {
	c := r.memory.of(s.LoadTest)
	if c.budget == noBudget {
		return nil
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: desired.BudgetMeta(s.LoadTest)}
	if err := r.delete(ctx, budget, "PodDisruptionBudget "+budget.Name); err != nil {
		return err
	}
	c.budget = noBudget
	return nil
}
