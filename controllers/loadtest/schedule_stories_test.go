package loadtest_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// schedule creates a schedule that is due each minute, and starts an operator whose clock is at the first of these minutes.
// The API server stamps the schedule with the time of this machine, which may be in the next minute when it does.
func (w *world) schedule(name string, thresholds ...v1alpha1.Threshold) *v1alpha1.LoadTestSchedule {
	w.Helper()
	return w.scheduleOf(name, time.Second, thresholds...)
}

// scheduleOf is schedule, with the length of the load.
func (w *world) scheduleOf(name string, d time.Duration, thresholds ...v1alpha1.Threshold) *v1alpha1.LoadTestSchedule {
	w.Helper()
	w.endOperator()
	s := &v1alpha1.LoadTestSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns},
		Spec: v1alpha1.LoadTestScheduleSpec{
			Schedule: "* * * * *",
			Template: v1alpha1.LoadTestTemplate{
				Metadata: v1alpha1.TemplateMetadata{Labels: map[string]string{"team": "core"}},
				Spec:     twoShards(name, d).Build().Spec,
			},
		},
	}
	spec := &s.Spec.Template.Spec
	spec.Thresholds = append(spec.Thresholds, thresholds...)
	w.must(w.client.Create(w.ctx, s))
	due := s.CreationTimestamp.Truncate(time.Minute).Add(time.Minute)
	w.ahead.Store(int64(time.Until(due)))
	w.operator()
	return s
}

func (w *world) scheduleStatus(name string) *v1alpha1.LoadTestScheduleStatus {
	w.Helper()
	s := &v1alpha1.LoadTestSchedule{}
	w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, s))
	return &s.Status
}

// A schedule creates a LoadTest, and status has its verdict. Another operator counts the run of the next minute once.
func TestSchedule(t *testing.T) {
	w := newWorld(t)
	s := w.schedule("minutely")
	if s.Spec.TimeZone != "Etc/UTC" || s.Spec.ConcurrencyPolicy != v1alpha1.ConcurrencyForbid || *s.Spec.HistoryLimits.Passed != 3 || s.Spec.Template.Spec.Runner.OnShardLost == "" {
		t.Errorf("defaults: %+v", s.Spec)
	}
	var list v1alpha1.LoadTestList
	w.Eventually(func() []v1alpha1.LoadTest {
		w.must(w.client.List(w.ctx, &list, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelSchedule: "minutely", "team": "core"}))
		return list.Items
	}).Should(gomega.HaveLen(1))
	first := list.Items[0].Name
	w.operator()
	w.Eventually(func() *v1alpha1.FinishedLoadTest { return w.scheduleStatus("minutely").LastFinished }).ShouldNot(gomega.BeNil())
	st := w.scheduleStatus("minutely")
	if st.LastFinished.Name != first || st.LastFinished.Outcome != "Passed" || st.LastPassedTime == nil || st.MissedRuns != 0 || len(st.Active) != 0 {
		t.Errorf("status %+v", st)
	}
	w.endOperator()
	w.later(2 * time.Minute)
	w.operator() // a minute was missed, or two if the machine is slow; the last one starts
	w.Eventually(func() *metav1.Time { return w.scheduleStatus("minutely").LastScheduleTime }).ShouldNot(gomega.Equal(st.LastScheduleTime))
	now := w.scheduleStatus("minutely")
	minutes := int64(now.LastScheduleTime.Sub(st.LastScheduleTime.Time) / time.Minute)
	if now.MissedRuns != minutes-1 || minutes < 2 {
		t.Errorf("%d minutes later: status %+v", minutes, now)
	}
	edit := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true,"historyLimits":{"passed":0}}}`))
	w.must(w.client.Patch(w.ctx, s, edit))
	w.Eventually(func() []v1alpha1.LoadTest {
		w.must(w.client.List(w.ctx, &list, client.InNamespace(w.ns)))
		return list.Items
	}).Should(gomega.BeEmpty())
}
