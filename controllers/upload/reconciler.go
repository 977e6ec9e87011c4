package upload

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/controllers/internal/storage"
)

// Rights to upload a report.
//   - loadtests get, list and watch: the cache of the manager. configmaps get: the report. loadtestruns get: the digest
//     of the report.
//   - loadtests/status patch: condition ReportStored and report.url.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=get;list;watch
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests/status,verbs=patch
// +kubebuilder:rbac:groups=internal.h2surge.io,resources=loadtestruns,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get

// reconciler uploads reports. It keeps nothing of a report after its upload: a process that restarts uploads the same
// files again.
type reconciler struct {
	client  client.Client // asks before each write whether this process leads
	reader  client.Reader // past the cache, which has no reports
	cfg     *configv1alpha1.ResultStorage
	storage *storage.Storage
	clock   func() time.Time
	// failures counts the failed uploads in a row of each LoadTest, and makes the waits between them.
	failures workqueue.TypedRateLimiter[reconcile.Request]
}

// errDeleted is the error of a report that does not exist any more.
var errDeleted = errors.New("was deleted")

// Reconcile uploads the report of one LoadTest, and shows the result in its status. It returns the error of a failed
// upload, so that the work queue repeats it, until the deadline has passed.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lt := &v1alpha1.LoadTest{}
	if err := r.client.Get(ctx, req.NamespacedName, lt); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !Pending(lt, r.cfg) || lt.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	if meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionReportStored) == nil {
		if err := r.show(ctx, lt, "", v1alpha1.ReasonUploading, "The operator uploads the report"); err != nil {
			return ctrl.Result{}, err
		}
	}
	url, err := r.upload(ctx, lt)
	n := r.failures.NumRequeues(req) + 1
	switch {
	case err == nil:
		err = r.show(ctx, lt, url, v1alpha1.ReasonUploaded, "The storage has report.html, report.csv and report.json")
	case errors.Is(err, errDeleted):
		err = r.show(ctx, lt, "", v1alpha1.ReasonUploadAbandoned, "The report is not uploaded: "+err.Error())
	case r.isLate(lt):
		err = r.show(ctx, lt, "", v1alpha1.ReasonUploadAbandoned,
			fmt.Sprintf("The report is not uploaded: the operator stopped after %d uploads: %v", n, err))
	default:
		err = errors.Join(err, r.show(ctx, lt, "", v1alpha1.ReasonUploadFailed,
			fmt.Sprintf("Upload %d failed, and the operator tries again: %v", n, err)))
	}
	return ctrl.Result{}, err
}

// isLate returns whether the deadline has passed. It counts from the first upload that failed, which is the last change
// of the condition's status: the test can have ended long before, when the configuration had no storage.
func (r *reconciler) isLate(lt *v1alpha1.LoadTest) bool {
	c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionReportStored)
	return c != nil && c.Status == metav1.ConditionFalse &&
		!r.clock().Before(c.LastTransitionTime.Add(r.cfg.Deadline.Duration))
}

// upload returns the URL of the uploaded report. Each upload of a run writes the same objects.
func (r *reconciler) upload(ctx context.Context, lt *v1alpha1.LoadTest) (string, error) {
	stored, err := record.Read(ctx, r.reader, lt)
	if err != nil {
		return "", err
	}
	if stored == nil {
		return "", fmt.Errorf("LoadTestRun %s %w", desired.RunName(lt), errDeleted)
	}
	cm := &corev1.ConfigMap{}
	err = r.reader.Get(ctx, client.ObjectKey{Namespace: lt.Namespace, Name: lt.Status.Report.ConfigMapRef.Name}, cm)
	if apierrors.IsNotFound(err) || err == nil && !desired.IsReport(cm, stored.Report) {
		return "", fmt.Errorf("ConfigMap %s %w", lt.Status.Report.ConfigMapRef.Name, errDeleted)
	}
	if err != nil {
		return "", fmt.Errorf("reading the report: %w", err)
	}
	raw, report, err := desired.DecodeReport(cm)
	if err != nil {
		return "", fmt.Errorf("decoding the report: %w", err)
	}
	run := configv1alpha1.ResultRun{Namespace: lt.Namespace, Name: lt.Name, UID: string(lt.UID),
		Start: lt.Status.CompletionTime.Time}
	if t := lt.Status.StartTime; t != nil {
		run.Start = t.Time
	}
	return r.storage.Upload(ctx, run, raw, report)
}

// statusOf has the status of condition ReportStored for each of its reasons.
var statusOf = map[string]metav1.ConditionStatus{
	v1alpha1.ReasonUploading: metav1.ConditionUnknown, v1alpha1.ReasonUploaded: metav1.ConditionTrue,
	v1alpha1.ReasonUploadFailed: metav1.ConditionFalse, v1alpha1.ReasonUploadAbandoned: metav1.ConditionFalse,
}

// show writes condition ReportStored and report.url. All other parts of the status are those that the API server has:
// they are of another controller, so a write that is based on an old status is repeated.
func (r *reconciler) show(ctx context.Context, lt *v1alpha1.LoadTest, url, reason, message string) error {
	uid := lt.UID
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		written := lt.DeepCopy()
		if written.Status.Report != nil {
			written.Status.Report.URL = url
		}
		meta.SetStatusCondition(&written.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionReportStored, Status: statusOf[reason], Reason: reason, Message: shorten.To(message,
				run.MaxMessage),
			ObservedGeneration: lt.Generation, LastTransitionTime: metav1.NewTime(r.clock()),
		})
		err := r.client.Status().Patch(ctx, written, client.MergeFromWithOptions(lt, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			*lt = *written
			return nil
		}
		if apierrors.IsConflict(err) {
			if err := r.reader.Get(ctx, client.ObjectKeyFromObject(lt), lt); err != nil || lt.UID != uid {
				return err
			}
		}
		return err
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}
