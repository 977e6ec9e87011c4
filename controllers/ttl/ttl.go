// Package ttl deletes LoadTests that have finished, when their TTL has passed. It reads spec, metadata and status only,
// and the status of the schedule of a LoadTest.
package ttl

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/upload"
)

// expiry returns when the operator deletes a LoadTest; zero: it stays, at least until it changes. Status shows the end
// before that, so that clients that wait for it see it.
func expiry(lt *v1alpha1.LoadTest, storage *configv1alpha1.ResultStorage) time.Time {
	ttl, finished := run.TTL(lt), finishedAt(lt)
	if ttl == nil || finished == nil || lt.DeletionTimestamp != nil || run.TTLIgnored(lt) || upload.Pending(lt, storage) {
		return time.Time{}
	}
	return finished.Add(time.Duration(*ttl) * time.Second)
}

// finishedAt returns when status first showed that the test has finished; nil: it does not show it. A test with an
// invalid spec has no completion time, because it did not run. An edit can fix the spec, so its condition must be that
// of the present spec.
func finishedAt(lt *v1alpha1.LoadTest) *metav1.Time {
	if t := lt.Status.CompletionTime; t != nil {
		return t
	}
	c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished)
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != lt.Generation {
		return nil
	}
	return &c.LastTransitionTime
}
