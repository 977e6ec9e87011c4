package ttl

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
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

// TestScheduleNotesTheEndFirst: the LoadTest of a schedule is deleted when the status of the schedule has its end, because no later pass can know it.
func TestScheduleNotesTheEndFirst(t *testing.T) {
	at := metav1.NewTime(time.Unix(3600, 0).UTC())
	before := metav1.NewTime(at.Add(-time.Hour))
	noted := func(finished, passed metav1.Time) func(*v1alpha1.LoadTestSchedule) {
		return func(s *v1alpha1.LoadTestSchedule) {
			s.Status.LastFinished = &v1alpha1.FinishedLoadTest{ScheduledTime: finished}
			if !passed.IsZero() {
				s.Status.LastPassedTime = &passed
			}
		}
	}
	for _, tt := range []struct {
		name     string
		schedule func(*v1alpha1.LoadTestSchedule)
		outcome  string
		late     time.Duration
		deleted  bool
	}{
		{"no run before", func(*v1alpha1.LoadTestSchedule) {}, "Passed", 0, false},
		{"a run before", noted(before, before), "Passed", 0, false},
		{"this run", noted(at, at), "Passed", 0, true},
		{"this run failed", noted(at, before), "Failed", 0, true},
		{"a later run failed, this one passed", noted(metav1.NewTime(at.Add(time.Hour)), before), "Passed", 0, false},
		{"a later run failed, this one is the first that passed", noted(metav1.NewTime(at.Add(time.Hour)), metav1.Time{}), "Passed", 0, false},
		{"another schedule of its name", func(s *v1alpha1.LoadTestSchedule) { s.UID = "other" }, "Passed", 0, true},
		{"the schedule is gone", nil, "Passed", 0, true},
		{"a status that is not written", noted(before, before), "Passed", maxUnnoted, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			schedule := &v1alpha1.LoadTestSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hourly", UID: "uid"}}
			end := metav1.NewTime(at.Add(time.Minute))
			lt := &v1alpha1.LoadTest{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: "hourly-60", Labels: map[string]string{v1alpha1.LabelSchedule: "hourly"},
					Annotations:     map[string]string{v1alpha1.AnnotationScheduledTime: at.Format(time.RFC3339)},
					OwnerReferences: []metav1.OwnerReference{{Kind: "LoadTestSchedule", Name: "hourly", UID: "uid", Controller: ptr.To(true)}},
				},
				Spec:   v1alpha1.LoadTestSpec{TTLSecondsAfterFinished: ptr.To[int32](0)},
				Status: v1alpha1.LoadTestStatus{CompletionTime: &end, Verdict: &v1alpha1.Verdict{Outcome: tt.outcome}},
			}
			objects := []client.Object{lt}
			if tt.schedule != nil {
				tt.schedule(schedule)
				objects = append(objects, schedule)
			}
			s := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(s); err != nil {
				t.Fatal(err)
			}
			c := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
			r := &reconciler{client: c, clock: func() time.Time { return end.Add(tt.late) }}
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(lt)})
			if err != nil {
				t.Fatal(err)
			}
			gone := apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(lt), lt))
			if gone != tt.deleted || (result.RequeueAfter > 0) == tt.deleted {
				t.Errorf("deleted: %v, want %v; the next pass comes after %v", gone, tt.deleted, result.RequeueAfter)
			}
		})
	}
}
