package loadtest

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		"a pod's name, which is random": {
			[]corev1.Event{event(0, `Error creating: pods "pcf-1-0-x7k2p" is forbidden: maximum cpu usage per Container is 10m, but limit is 1`)}, create,
			`pods "pcf-1-*" is forbidden: maximum cpu usage per Container is 10m, but limit is 1`,
		},
		"another name": {[]corev1.Event{event(0, `pods "pcf-10-0-x7k2p" is forbidden`)}, create, `pods "pcf-10-0-x7k2p" is forbidden`},
		"a volume": {
			[]corev1.Event{
				event(0, "Unable to attach or mount volumes: unmounted volumes=[h2surge-files], unattached volumes=[]: timed out waiting for the condition"),
				event(time.Minute, `MountVolume.SetUp failed for volume "h2surge-files" : configmap "users" not found`),
			},
			mountError, `MountVolume.SetUp failed for volume "h2surge-files" : configmap "users" not found`,
		},
	} {
		if got := lastOf(tt.events, tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
