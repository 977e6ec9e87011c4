package loadtest

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers/internal/pages"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// events list: only events say why a Job cannot create its pods, or why the kubelet cannot mount a volume. The
// operator reads those of one Job or pod that is in such a state, past the cache, at most every eventsInterval.
//
// +kubebuilder:rbac:groups="",resources=events,verbs=list

const (
	eventsInterval = 10 * time.Second
	// maxEvents is how many events of an object the operator reads. The API server keeps them for an hour.
	maxEvents = 500
	// maxEventText is how many bytes of a message the operator reads. Users can create events with messages of 1 MiB.
	maxEventText = 1024
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
	var last lastText
	read := 0
	for page, err := range pages.Of[corev1.EventList](ctx, o.reader, client.InNamespace(f.LoadTest.Namespace),
		client.MatchingFields{"involvedObject.uid": string(of), "reason": reason}) {
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "Cannot list events", "object", of, "reason", reason)
			break
		}
		last.add(page.Items, text)
		if read += len(page.Items); read >= maxEvents {
			break
		}
	}
	c.quoted[of] = quotedEvent{text: last.text, at: f.Now}
	return last.text
}

// lastText is the text of the newest event that has one.
type lastText struct {
	text string
	at   metav1.Time
}

// add adds events. Of two events of the same second, the lesser text stays.
func (l *lastText) add(events []corev1.Event, text func(string) string) {
	for i := range events {
		t, at := text(shorten.To(events[i].Message, maxEventText)), events[i].LastTimestamp
		if t != "" && (l.text == "" || cmp.Or(at.Compare(l.at.Time), cmp.Compare(l.text, t)) > 0) {
			*l = lastText{t, at}
		}
	}
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
