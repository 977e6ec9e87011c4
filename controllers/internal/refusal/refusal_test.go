package refusal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOf(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	status := func(code int32, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
	}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no error":            {nil, ""},
		"quota":               {apierrors.NewForbidden(maps, "x", errors.New("exceeded quota: q")), `configmaps "x" is forbidden: exceeded quota: q`},
		"wrapped":             {fmt.Errorf("creating ConfigMap x: %w", apierrors.NewForbidden(maps, "x", errors.New("no"))), `configmaps "x" is forbidden: no`},
		"invalid":             {apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "x", nil), `ConfigMap "x" is invalid`},
		"body too large":      {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "Request entity too large: limit is 3145728"},
		"etcd's limit":        {status(http.StatusInternalServerError, "etcdserver: request is too large"), "etcdserver: request is too large"},
		"webhook's own code":  {status(http.StatusTeapot, `admission webhook "a.b" denied the request: no`), `admission webhook "a.b" denied the request: no`},
		"webhook unreachable": {apierrors.NewInternalError(errors.New(`failed calling webhook "a.b": refused`)), `Internal error occurred: failed calling webhook "a.b": refused`},
		"no message":          {&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}}, "Forbidden"},
		"conflict":            {apierrors.NewConflict(maps, "x", errors.New("changed")), ""},
		"not found":           {apierrors.NewNotFound(maps, "x"), ""},
		"already exists":      {apierrors.NewAlreadyExists(maps, "x"), ""},
		"too many requests":   {apierrors.NewTooManyRequests("later", 1), ""},
		"unavailable":         {apierrors.NewServiceUnavailable("starting"), ""},
		"internal error":      {apierrors.NewInternalError(errors.New("etcd has no leader")), ""},
		"timeout":             {apierrors.NewTimeoutError("slow", 1), ""},
		"connection":          {errors.New("connection refused"), ""},
		"cancelled":           {context.Canceled, ""},
	} {
		if got := Of(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if got := OfQuota(tt.err); got != (name == "quota") {
			t.Errorf("%s: refused by a quota: %t", name, got)
		}
	}
}
