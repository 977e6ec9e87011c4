package loadtest

import (
	"context"
	"errors"
	"net/http"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// TestConflictOfAnApply: with force, only the UID of an object that was deleted can conflict.
func TestConflictOfAnApply(t *testing.T) {
	jobs := batchv1.Resource("jobs")
	ofFields := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}, "conflict")
	for name, tt := range map[string]struct {
		force  bool
		err    error
		passes bool
	}{
		"another owner of fields": {err: ofFields, passes: true},
		"not found":               {err: apierrors.NewNotFound(jobs, "a"), passes: true},
		"a quota":                 {err: apierrors.NewConflict(jobs, "a", errors.New("the object has been modified"))},
		"another UID": {force: true, err: apierrors.NewConflict(jobs, "a",
			errors.New("uid mismatch: the provided object specified uid x, and no existing object was found")), passes: true},
		"another error": {force: true, err: apierrors.NewGenericServerResponse(http.StatusBadGateway, "patch", jobs, "a", "", 0, true)},
	} {
		c := fake.NewClientBuilder().WithScheme(scheme()).WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return tt.err
			},
		}).Build()
		err := (&performer{client: c}).apply(t.Context(), decide.Operation{
			Apply: desired.ApplyScale(&batchv1.Job{}, 1), Manager: "a", Force: tt.force})
		if (err == nil) != tt.passes {
			t.Errorf("%s: error %v, want none: %t", name, err, tt.passes)
		}
	}
}
