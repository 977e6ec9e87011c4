package loadtest

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// events list: only events say why a Job cannot create its pods, or why the kubelet cannot mount a volume. The
// operator reads those of one Job or pod that is in such a state, past the cache, at most every eventsInterval.
//
// +kubebuilder:rbac:groups="",resources=events,verbs=list

const (
	eventsInterval = 10 * time.Second
	// maxEvents bounds a list of events. The API server keeps them for an hour.
	maxEvents = 500
)

// quotedEvent is the last event of an object.
type quotedEvent struct {
	text string
	at   time.Time
}

// diagnose finds out what keeps pods from running.
func (o *observer) diagnose(ctx context.Context, f *run.Facts) {
	o.readEvents(ctx, f)
	f.Problem = run.Diagnose(f)
}

// readEvents reads why pods are missing or wait for their volumes, if they do for longer than they need. An error is
// logged and does not end the pass, because only a message depends on it.
func (o *observer) readEvents(ctx context.Context, f *run.Facts) {
	if f.MissingPods() != nil {
		f.PodsError = o.lastEvent(ctx, f, f.Job.UID, "FailedCreate",
			func(message string) string { return createError(f.Job, message) })
	}
	for _, pod := range f.Pods {
		if run.PodProblem(pod) == nil && f.MountProblem(pod) != nil {
			f.MountError = o.lastEvent(ctx, f, pod.UID, "FailedMount", mountError)
			return // the pods have the same volumes
		}
	}
}

// lastEvent returns the text of the last event of an object; empty: there is none.
func (o *observer) lastEvent(ctx context.Context, f *run.Facts, of types.UID, reason string,
	text func(string) string) string {
	c := o.memory.of(f.LoadTest)
	f.Again(eventsInterval)
	if have, ok := c.quoted[of]; ok && f.Now.Sub(have.at) < eventsInterval {
		return have.text
	}
	var list corev1.EventList
	err := o.reader.List(ctx, &list, client.InNamespace(f.LoadTest.Namespace), client.Limit(maxEvents),
		client.MatchingFields{"involvedObject.uid": string(of), "reason": reason})
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "Cannot list events", "object", of, "reason", reason)
	}
	c.quoted[of] = quotedEvent{text: lastOf(list.Items, text), at: f.Now}
	return c.quoted[of].text
}

// lastOf returns the newest text that is not empty.
func lastOf(all []corev1.Event, text func(string) string) string {
	slices.SortStableFunc(all, func(a, b corev1.Event) int {
		return cmp.Or(b.LastTimestamp.Compare(a.LastTimestamp.Time), cmp.Compare(a.Message, b.Message))
	})
	for i := range all {
		if t := text(all[i].Message); t != "" {
			return shorten.To(t, 1024)
		}
	}
	return ""
}

// createError is what the Job controller reports when the API server refuses a pod, without the name of the pod, which
// is another one each time: `pods "pcf-1-*" is forbidden: exceeded quota: q`.
func createError(job *batchv1.Job, message string) string {
	name := regexp.MustCompile(`"` + regexp.QuoteMeta(job.Name) + `-[0-9]+-[a-z0-9]+"`)
	return name.ReplaceAllLiteralString(strings.TrimPrefix(message, "Error creating: "), `"`+job.Name+`-*"`)
}

// mountError is what the kubelet reports about one volume: `MountVolume.SetUp failed for volume "h2surge-files" :
// configmap "users" not found`. It also reports a list of all volumes that it waits for, which has no cause.
func mountError(message string) string {
	if !strings.HasPrefix(message, "MountVolume.") {
		return ""
	}
	return message
}
