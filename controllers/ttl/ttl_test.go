package ttl

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestExpiry: a LoadTest is deleted a TTL after status showed its end, and not before its report is uploaded. A change that moves its expiry brings a
// pass, and another change of its status does not.
func TestExpiry(t *testing.T) {
	end := metav1.NewTime(time.Unix(1000, 0))
	never, due := time.Time{}, end.Add(time.Minute)
	finished := func(lt *v1alpha1.LoadTest) {
		lt.Status.CompletionTime, lt.Status.Report = &end, &v1alpha1.ReportStatus{ConfigMapRef: v1alpha1.ConfigMapReference{Name: "report"}}
	}
	condition := func(kind, reason string, status metav1.ConditionStatus, generation int64) func(*v1alpha1.LoadTest) {
		return func(lt *v1alpha1.LoadTest) {
			lt.Status.Conditions = append(lt.Status.Conditions, metav1.Condition{
				Type: kind, Status: status, Reason: reason, ObservedGeneration: generation, LastTransitionTime: end,
			})
		}
	}
	stored := func(reason string, status metav1.ConditionStatus) func(*v1alpha1.LoadTest) {
		return condition(v1alpha1.ConditionReportStored, reason, status, 2)
	}
	uploads := &configv1alpha1.ResultStorage{}
	for _, tt := range []struct {
		name    string
		storage *configv1alpha1.ResultStorage
		edits   []func(*v1alpha1.LoadTest)
		want    time.Time
	}{
		{"runs", nil, nil, never},
		{"ended", nil, []func(*v1alpha1.LoadTest){finished}, due},
		{"without a TTL", nil, []func(*v1alpha1.LoadTest){finished, func(lt *v1alpha1.LoadTest) { lt.Spec.TTLSecondsAfterFinished = nil }}, never},
		{"deleted", nil, []func(*v1alpha1.LoadTest){finished, func(lt *v1alpha1.LoadTest) { lt.DeletionTimestamp = &end }}, never},
		{"invalid", nil, []func(*v1alpha1.LoadTest){condition(v1alpha1.ConditionFinished, "", metav1.ConditionTrue, 2)}, due},
		{"invalid before an edit", nil, []func(*v1alpha1.LoadTest){condition(v1alpha1.ConditionFinished, "", metav1.ConditionTrue, 1)}, never},
		{"not finished", nil, []func(*v1alpha1.LoadTest){condition(v1alpha1.ConditionFinished, "", metav1.ConditionFalse, 2)}, never},
		{"before the upload", uploads, []func(*v1alpha1.LoadTest){finished}, never},
		{"first upload", uploads, []func(*v1alpha1.LoadTest){finished, stored(v1alpha1.ReasonUploading, metav1.ConditionUnknown)}, never},
		{"failed upload", uploads, []func(*v1alpha1.LoadTest){finished, stored(v1alpha1.ReasonUploadFailed, metav1.ConditionFalse)}, never},
		{"uploaded", uploads, []func(*v1alpha1.LoadTest){finished, stored(v1alpha1.ReasonUploaded, metav1.ConditionTrue)}, due},
		{"abandoned", uploads, []func(*v1alpha1.LoadTest){finished, stored(v1alpha1.ReasonUploadAbandoned, metav1.ConditionFalse)}, due},
		{"no report", uploads, []func(*v1alpha1.LoadTest){finished, func(lt *v1alpha1.LoadTest) { lt.Status.Report = nil }}, due},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: v1alpha1.LoadTestSpec{TTLSecondsAfterFinished: ptr.To[int32](60)}}
			lt := before.DeepCopy()
			for _, edit := range tt.edits {
				edit(lt)
			}
			if got := expiry(lt, tt.storage); !got.Equal(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			changes := (&reconciler{storage: tt.storage}).changes()
			if got := changes.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: lt}); got != !tt.want.IsZero() {
				t.Errorf("brings a pass: %v", got)
			}
			other := lt.DeepCopy()
			other.Status.ObservedGeneration = 7
			if changes.Update(event.UpdateEvent{ObjectOld: lt, ObjectNew: other}) {
				t.Error("another change of the status brings a pass")
			}
		})
	}
}
