package loadtest

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
)

// endDeleted ends the load of a LoadTest that has a deletion timestamp. A finalizer, or a deletion in the
// foreground, can keep it for a long time, and the garbage collector deletes its Jobs only after that. So the operator
// deletes them: its collector may not know the runners, for example when the operator started after the deletion. A
// LoadTest that is deleted in the foreground waits for its Jobs, and so they wait for their pods.
func (r *reconciler) endDeleted(ctx context.Context, lt *v1alpha1.LoadTest) error {
	r.registry.Abort(client.ObjectKeyFromObject(lt), "")
	var jobs batchv1.JobList
	if err := r.observe.owned(ctx, lt.Namespace, lt.UID, &jobs); err != nil {
		return err
	}
	for i := range jobs.Items {
		for _, op := range decide.DeleteJobs(&jobs.Items[i]) {
			op.Foreground = slices.Contains(lt.Finalizers, metav1.FinalizerDeleteDependents)
			if err := r.perform.delete(ctx, op); err != nil {
				return err
			}
		}
	}
	return nil
}
