// Package upload uploads the reports of LoadTests that have ended to the object storage of the configuration.
package upload

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Pending returns whether the report of a LoadTest must still be uploaded, so that the operator must not delete the
// LoadTest. storage is nil if the operator uploads no reports.
func Pending(lt *v1alpha1.LoadTest, storage *configv1alpha1.ResultStorage) bool {
	if storage == nil || lt.Status.CompletionTime == nil || lt.Status.Report == nil {
		return false
	}
	c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionReportStored)
	return c == nil || c.Status != metav1.ConditionTrue && c.Reason != v1alpha1.ReasonUploadAbandoned
}
