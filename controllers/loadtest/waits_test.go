package loadtest

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

// TestReadyLimitHasOneClock has an API server, a Job controller and kubelets whose clocks are an hour off.
func TestReadyLimitHasOneClock(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		there := metav1.NewTime(runtest.Now.Add(off))
		s := runtest.New(runtest.WithJob)
		s.Job.CreationTimestamp, s.Job.Status.StartTime = there, &there
		r := recording(t, s)
		want := func(what string, at time.Duration, limit time.Duration) {
			t.Helper()
			s.Now = runtest.Now.Add(at)
			s.Waits = r.observe.waitsOf(s)
			from, got := decide.ReadyLimit(s)
			if left := from.Add(got).Sub(s.Now); left != limit {
				t.Errorf("clocks off by %s, %s: %s are left, want %s", off, what, left, limit)
			}
		}
		want("no pod runs", time.Minute, r.observe.cfg.Runner.PodTimeout.Duration-time.Minute)
		runtest.PodsRun(s)
		for _, pod := range s.Pods {
			pod.Status.ContainerStatuses[0].State.Running.StartedAt = there
		}
		want("all pods run", 2*time.Minute, r.observe.cfg.Runner.ReadyTimeout.Duration)
		want("and continue to", 3*time.Minute, r.observe.cfg.Runner.ReadyTimeout.Duration-time.Minute)
		s.LoadTest.Spec.Runner.StartTimeout = &v1alpha1.Duration{Duration: 5 * time.Minute}
		want("startTimeout", 4*time.Minute, time.Minute)

		s.Job.Spec.Suspend = ptr.To(true)
		want("a queue suspends the Job", 10*time.Minute, -5*time.Minute) // tooLate is not called
		s.Job.Spec.Suspend = ptr.To(false)
		s.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: "False"}}
		want("the queue admits the Job", time.Hour, 5*time.Minute)
		want("a minute later", time.Hour+time.Minute, 4*time.Minute)
	}
}
