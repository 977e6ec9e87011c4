package cluster

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// lookAt is a test of 1000 requests a second, after some seconds.
func lookAt(seconds int64) (*v1alpha1.LoadTest, time.Time) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rate := int64(1000)
	lt := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "t", ResourceVersion: strconv.FormatInt(seconds, 10)}}
	lt.Spec.Rates = []v1alpha1.Rate{
		{Name: "warm", WarmUp: true, RequestsPerSecond: &rate, Duration: &v1alpha1.Duration{Duration: 2 * time.Second}},
		{Name: "hold", RequestsPerSecond: &rate, Duration: &v1alpha1.Duration{Duration: time.Hour}},
	}
	st := &lt.Status
	st.Phase, st.StartTime = v1alpha1.PhaseRunning, &metav1.Time{Time: start}
	st.Shards = &v1alpha1.ShardCounts{Desired: 3, Ready: 3, Lost: 1}
	st.Generator = &v1alpha1.GeneratorStatus{ExclusiveShards: 2, LagP99Microseconds: 90}
	n := 1000 * max(0, seconds-2)
	st.Results = &v1alpha1.Results{
		Requests:   v1alpha1.RequestCounts{Sent: n, Done: n - n/10, Succeeded: n - n/5, FailedChecks: n / 5, TimedOut: n / 10, InFlightAtEnd: 7},
		WarmUpSent: 1000 * min(2, seconds), ErrorRate: 0.125, Rate: v1alpha1.RateStatus{Asked: 1000, Achieved: 999.5},
		ResponseTime: v1alpha1.Times{P50Microseconds: new(int64(1)), P90Microseconds: new(int64(2)), P95Microseconds: new(int64(3)), AboveMicroseconds: 5000000},
		Causes:       []v1alpha1.NamedCount{{Name: "BUSY", Count: 3}},
		Failures:     []v1alpha1.FailureCount{{Of: "reset", Cause: "rstStream", Detail: "CANCEL", Count: 2}},
		Chains: []v1alpha1.ChainResult{
			{Name: "a", Started: 5, Completed: 3, Aborted: 1, AbortedBy: []v1alpha1.NamedCount{{Name: "timedOut", Count: 1}}},
			{Name: "b", Started: 4, Completed: 2, Aborted: 2, AbortedBy: []v1alpha1.NamedCount{{Name: "timedOut", Count: 2}}},
		},
		Listeners: []v1alpha1.ListenerResult{{
			Name: "events", Received: 9, InTime: 5, Late: 1, Duplicate: 2, Awaited: 8, Missing: 2, ErrorRate: 0.25, Time: v1alpha1.Times{P50Microseconds: new(int64(7)), AboveMicroseconds: 2000000},
		}},
	}
	return lt, start.Add(time.Duration(seconds) * time.Second)
}

func TestReportSoFar(t *testing.T) {
	above := rv.Above(5_000_000)
	var s SoFar
	got := s.Add(lookAt(12))
	want := &rv.Report{
		APIVersion: rv.APIVersion, Kind: rv.ReportKind, Name: "n/t", StartTime: "2026-03-01T12:00:00Z",
		Requests: rv.Requests{Outcomes: rv.Outcomes{Sent: 10_000, Done: 9000, Succeeded: 8000, FailedChecks: 2000, TimedOut: 1000, InFlightAtEnd: 7}},
		WarmUp:   rv.WarmUp{Sent: 2000},
		Chains:   rv.ChainCounters{Started: 9, Completed: 5, Aborted: 3, Unfinished: 1, AbortedBy: map[string]int64{"timedOut": 3}},
		Causes:   map[string]int64{"BUSY": 3},
		Failures: []rv.FailureCount{{Failure: rv.Failure{Of: rv.FailureReset, Cause: rv.CauseRstStream, Detail: "CANCEL"}, Count: 2}},
		Rate:     rv.RateResult{Asked: 1000, Achieved: 999.5}, ErrorRate: 0.125,
		ResponseTime: rv.Times{Count: 10_000, Unanswered: 1000, P50: 1, P90: 2, P95: 3, P99: above, P999: above, Max: above},
		Listeners: []rv.ListenerResult{{
			Name: "events", ListenerCounts: rv.ListenerCounts{Received: 9, InTime: 5, Late: 1, Duplicate: 2, Early: 1, Awaited: 8, Missing: 2, Waiting: 1},
			Time: rv.Times{Count: 7, P50: 7, P90: rv.Above(2_000_000), P95: rv.Above(2_000_000), P99: rv.Above(2_000_000), P999: rv.Above(2_000_000), Max: rv.Above(2_000_000)},
		}},
		Generator: rv.GeneratorResult{Shards: 3, ShardsLost: 1, ExclusiveShards: 2, LagP99Microseconds: 90},
		Windows: []rv.Window{{
			To: 12_000, Stage: "hold", Asked: 1000, Achieved: 1000, Sent: 12_000, Succeeded: 8000, FailedChecks: 2000, TimedOut: 1000, InFlight: 7, Shards: 3,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWindowsSoFar: the windows have no gaps, their counts add up to those of status, and there are at most MaxWindows, however
// long the test lasts.
func TestWindowsSoFar(t *testing.T) {
	var s SoFar
	var last *rv.Report
	const seconds = 5000
	for i := int64(1); i <= seconds; i++ {
		last = s.Add(lookAt(i))
		s.Add(lookAt(i)) // the status has not changed
	}
	var sent, succeeded, failed, to int64
	for _, w := range last.Windows {
		if w.From != to || w.To <= w.From || w.Achieved < 999 || w.Achieved > 1001 {
			t.Fatalf("window %+v after %d", w, to)
		}
		sent, succeeded, failed, to = sent+w.Sent, succeeded+w.Succeeded, failed+w.FailedChecks, w.To
	}
	covered, _ := lookAt(to / 1000)
	if q := &covered.Status.Results.Requests; sent != q.Sent+2000 || succeeded != q.Succeeded || failed != q.FailedChecks {
		t.Errorf("sent %d, succeeded %d, failed %d until %d ms, status has %+v", sent, succeeded, failed, to, q)
	}
	if n := len(last.Windows); n > rv.MaxWindows || n < rv.MaxWindows/4 || to < (seconds-60)*1000 {
		t.Errorf("%d windows until %d ms", n, to)
	}
}
