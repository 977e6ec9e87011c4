// Package refusal recognises writes that the API server refuses until somebody changes the cluster: a quota, an
// admission policy or webhook, a missing right, an object that is too large or invalid. Errors that can pass without
// that, such as conflicts, timeouts and an API server that does not answer, are not refusals.
package refusal

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Of returns the API server's message if err is a refusal; empty: it is not.
func Of(err error) string {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return ""
	}
	message := status.Status().Message
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err):
	case denied(message), tooLarge(message), uncalled(message):
	default:
		return ""
	}
	if message == "" {
		return string(apierrors.ReasonForError(err))
	}
	return message
}

// OfQuota returns whether a ResourceQuota refused the write. It does so before it looks whether the object exists.
func OfQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(Of(err), "exceeded quota")
}

// denied returns whether an admission webhook refused the write. The webhook chooses the status code.
func denied(message string) bool {
	return strings.HasPrefix(message, "admission webhook ") && strings.Contains(message, " denied the request")
}

// tooLarge returns whether etcd refused the object for its size, which the API server answers with 500.
func tooLarge(message string) bool {
	return strings.Contains(message, "etcdserver: request is too large") || strings.Contains(message,
		"trying to send message larger than max")
}

// uncalled returns whether the API server could not call an admission webhook whose failure policy is Fail.
func uncalled(message string) bool {
	return strings.Contains(message, "failed calling webhook")
}
