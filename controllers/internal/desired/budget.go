package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// BudgetName names the PodDisruptionBudget of a run. The UID makes it different from all others, because the operator
// does not read budgets.
func BudgetName(lt *v1alpha1.LoadTest) string { return lt.Name + "-runners-" + string(lt.UID)[:8] }

// Budget is the PodDisruptionBudget of a run, for server-side apply. The API server refuses to evict a runner while no
// more than runners of them are ready. It must be a number: the disruption controller cannot compute a percentage of
// the pods of a Job.
func Budget(lt *v1alpha1.LoadTest, runners int) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	ref := owner(lt)
	return policyv1ac.PodDisruptionBudget(BudgetName(lt), lt.Namespace).
		WithLabels(labels(lt, ComponentRunner)).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(ref.APIVersion).WithKind(ref.Kind).WithName(ref.Name).WithUID(ref.UID).WithController(true)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMinAvailable(intstr.FromInt(runners)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(RunnerLabels(lt))))
}

// BudgetMeta names the budget, to delete it.
func BudgetMeta(lt *v1alpha1.LoadTest) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: lt.Namespace, Name: BudgetName(lt)}
}
