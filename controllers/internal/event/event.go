// Package event sends events about what happened to a LoadTest or a LoadTestSchedule.
package event

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// Events create and patch: one for each transition; patch counts repetitions.
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Event is an event before it is sent. Action is what the operator did.
type Event struct {
	Warning              bool
	Reason, Action, Note string
}

// Normal returns an event that needs no user.
func Normal(reason, action, note string) Event {
	return Event{Reason: reason, Action: action, Note: note}
}

// Warning returns an event that a user should see.
func Warning(reason, action, note string) Event {
	return Event{Warning: true, Reason: reason, Action: action, Note: note}
}

// maxNote is the API's bound on an event's note, in bytes.
const maxNote = 1024

// Send sends events about an object, and writes each to the log, which stays longer than an event.
func Send(ctx context.Context, recorder events.EventRecorder, about runtime.Object, all []Event) {
	for _, e := range all {
		kind, note := corev1.EventTypeNormal, shorten.To(e.Note, maxNote)
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		logr.FromContextOrDiscard(ctx).Info(e.Reason, "note", note)
		recorder.Eventf(about, nil, kind, e.Reason, e.Action, "%s", note)
	}
}
