package loadtestschedule

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	s := w.get()
	s.Status.MissedRuns, s.Status.LastScheduleTime = 3, ptr.To(metav1.NewTime(time.Unix(1700000000, 0)))
	w.must(w.client.Status().Update(t.Context(), s))
	leads := true
	reg := prometheus.NewRegistry()
	register(reg, nil, nil)
	register(reg, w.client, func() bool { return leads }) // a later manager of the same process
	want := `
# HELP h2surge_schedule_last_run_timestamp_seconds Scheduled time of the last LoadTest that the operator created.
# TYPE h2surge_schedule_last_run_timestamp_seconds gauge
h2surge_schedule_last_run_timestamp_seconds{namespace="ns",schedule="hourly"} 1.7e+09
# HELP h2surge_schedule_missed_runs_total Scheduled times for which the operator created no LoadTest.
# TYPE h2surge_schedule_missed_runs_total counter
h2surge_schedule_missed_runs_total{namespace="ns",schedule="hourly"} 3
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	leads = false
	if err := testutil.GatherAndCompare(reg, strings.NewReader("")); err != nil {
		t.Error(err)
	}
}
