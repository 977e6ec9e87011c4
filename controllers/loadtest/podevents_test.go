package loadtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

func TestTextsOfEvents(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "pcf-1"}}
	create := func(message string) string { return createError(job, message) }
	event := func(age time.Duration, message string) corev1.Event {
		return corev1.Event{LastTimestamp: metav1.NewTime(runtest.Now.Add(-age)), Message: message}
	}
	for name, tt := range map[string]struct {
		events []corev1.Event
		text   func(string) string
		want   string
	}{
		"none": {nil, create, ""},
		"the newest": {
			[]corev1.Event{event(time.Minute, "old"), event(0, "new"), event(time.Hour, "oldest")}, create, "new",
		},
		"two of a second": {[]corev1.Event{event(0, "b"), event(0, "a"), event(0, "c")}, create, "a"},
		"a pod's name, which is random": {
			[]corev1.Event{event(0, `Error creating: pods "pcf-1-0-x7k2p" is forbidden: `+
				`maximum cpu usage per Container is 10m, but limit is 1`)}, create,
			`pods "pcf-1-*" is forbidden: maximum cpu usage per Container is 10m, but limit is 1`,
		},
		"another name": {
			[]corev1.Event{event(0, `pods "pcf-10-0-x7k2p" is forbidden`)}, create, `pods "pcf-10-0-x7k2p" is forbidden`,
		},
		"a volume": {
			[]corev1.Event{
				event(0, "Unable to attach or mount volumes: unmounted volumes=[h2surge-files], unattached volumes=[]: "+
					"timed out waiting for the condition"),
				event(time.Minute, `MountVolume.SetUp failed for volume "h2surge-files" : configmap "users" not found`),
			},
			mountError, `MountVolume.SetUp failed for volume "h2surge-files" : configmap "users" not found`,
		},
	} {
		var got lastText
		if got.add(tt.events, tt.text); got.text != tt.want {
			t.Errorf("%s: %q, want %q", name, got.text, tt.want)
		}
	}
}

// pagedEvents serves pages of ten events. The text of the last event is the newest. It refuses larger pages.
type pagedEvents struct {
	client.Reader
	pages, served int
}

func (r *pagedEvents) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	of := (&client.ListOptions{}).ApplyOptions(opts)
	if of.Limit <= 0 || of.Limit > 10 {
		return fmt.Errorf("a page of %d events", of.Limit)
	}
	page, _ := strconv.Atoi(of.Continue)
	r.served++
	events := list.(*corev1.EventList)
	for i := range 10 {
		n := 10*page + i
		at := metav1.NewTime(runtest.Now.Add(time.Duration(n) * time.Second))
		events.Items = append(events.Items, corev1.Event{LastTimestamp: at,
			Message: fmt.Sprintf("MountVolume.SetUp %d: %s", n, strings.Repeat("x", 2000))})
	}
	if page+1 < r.pages {
		events.Continue = strconv.Itoa(page + 1)
	}
	return nil
}

// TestPagesOfEvents: a user can create many large events. The operator reads them in small pages, and not all of them.
func TestPagesOfEvents(t *testing.T) {
	for pages, want := range map[int]int{1: 1, 3: 3, 1000: 50} {
		reader := &pagedEvents{pages: pages}
		o := &observer{reader: reader, memory: newMemory(nil, nil, 0)}
		f := runtest.New(runtest.WithJob)
		f.LoadTest.UID, f.Pods[0].UID = "0123456789ab", "pod"
		scheduled := metav1.NewTime(runtest.Now.Add(-time.Minute))
		f.Pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: scheduled},
			{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse},
		}}
		o.diagnose(t.Context(), f)
		newest := fmt.Sprintf("cannot mount its volumes: MountVolume.SetUp %d: xxx", 10*want-1)
		if p := f.Problem; reader.served != want || p == nil || p.Reason != v1alpha1.ReasonMountFailed ||
			!strings.Contains(p.Message, newest) {
			t.Errorf("%d of %d pages were read, want %d with %q; problem %+v", reader.served, pages, want, newest, p)
		}
	}
}
