package metrics

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/build"
)

func metricsPlan() *runnerv1alpha1.Plan {
	return &runnerv1alpha1.Plan{
		Shards: 2,
		Chains: []runnerv1alpha1.Chain{
			{Name: "session", Steps: []runnerv1alpha1.Step{{Name: "create"}, {Name: "delete"}}},
			{Name: "ping", Steps: []runnerv1alpha1.Step{{Name: "get"}}},
		},
		Rates: []runnerv1alpha1.Rate{{Name: "hold", Count: 100, Period: time.Second, Duration: time.Minute}},
	}
}

func metricsSnapshot(clock time.Duration, sent int64) *runnerv1alpha1.Snapshot {
	h := histogram.New()
	h.Record(0)
	h.RecordN(100, 2)
	h.Record(2500)
	h.Record(20_000_000)
	return &runnerv1alpha1.Snapshot{
		Boot: "b", State: runnerv1alpha1.StateRunning, Clock: int64(clock) + 1, StartedAt: 1, Sequence: uint64(clock),
		Counters: runnerv1alpha1.Counters{
			Requests:   runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: sent, Done: 5, Succeeded: 4, FailedChecks: 1, InFlightAtEnd: 2}, Dropped: 3, Retried: 1},
			Setup:      runnerv1alpha1.OnceCounters{Sent: 2, Succeeded: 1},
			WarmUpSent: 0, WarmUpInFlight: 1, BytesSent: 1000, BytesReceived: 2000, Connects: 4, Reconnects: 1,
		},
		Stages: []runnerv1alpha1.StageCounters{{Sent: sent}},
		Steps: []runnerv1alpha1.StepCounters{
			{Outcomes: runnerv1alpha1.Outcomes{Sent: 10, Done: 5, Succeeded: 4, FailedChecks: 1, TimedOut: 1, Reset: 2, ConnectionLost: 1}, StatusClasses: [5]int64{1: 4, 4: 1}, ResponseTime: h.Encode(), FailedBy: map[string]int64{"status": 1}, StepEvents: runnerv1alpha1.StepEvents{Retries: 3}},
			{}, {},
		},
		Chains: []runnerv1alpha1.ChainCounters{
			{Started: 7, Completed: 4, Aborted: 2, Unfinished: 1, AbortedBy: map[string]int64{"failedCheck": 1, "reset": 1}}, {},
		},
		Exhausted:    true,
		Causes:       map[string]int64{"NOT_FOUND": 1, "a\xff": 2, "a\xfe": 3},
		Failures:     []runnerv1alpha1.FailureCount{{Failure: runnerv1alpha1.Failure{Of: "reset", Cause: "rstStream", Detail: "CANCEL", Address: "a:1"}, Count: 2}},
		ResponseTime: h.Encode(),
		Generator: runnerv1alpha1.Generator{
			Workers: 2, CPUSeconds: 1.5, ThrottledMicroseconds: 2500, LagP99: 120, GCPauseMicroseconds: 300,
		},
	}
}

func fixed(s *runnerv1alpha1.Snapshot) func() *runnerv1alpha1.Snapshot {
	return func() *runnerv1alpha1.Snapshot { return s }
}

// TestAsksForRate: only a plan that asks for a rate needs a generator that keeps up.
func TestAsksForRate(t *testing.T) {
	for _, closed := range []bool{false, true} {
		plan := metricsPlan()
		plan.Rates[0].ClosedLoop = closed
		got := gather(t, NewCollector(plan, fixed(metricsSnapshot(10*time.Second, 500))), "asks_for_rate")
		if len(got) != 1 || got[0].GetGauge().GetValue() == 1 == closed {
			t.Errorf("closed loop %t: %v", closed, got)
		}
	}
}

func TestMetrics(t *testing.T) {
	c := NewCollector(metricsPlan(), fixed(metricsSnapshot(10*time.Second, 500)))
	want := `
# HELP h2surge_runner_requests_total Requests of measured stages that have an outcome: succeeded, failed_checks, timed_out, reset or connection_lost. All other sent requests are in flight.
# TYPE h2surge_runner_requests_total counter
h2surge_runner_requests_total{chain="ping",outcome="connection_lost",step="get"} 0
h2surge_runner_requests_total{chain="ping",outcome="failed_checks",step="get"} 0
h2surge_runner_requests_total{chain="ping",outcome="reset",step="get"} 0
h2surge_runner_requests_total{chain="ping",outcome="succeeded",step="get"} 0
h2surge_runner_requests_total{chain="ping",outcome="timed_out",step="get"} 0
h2surge_runner_requests_total{chain="session",outcome="connection_lost",step="create"} 1
h2surge_runner_requests_total{chain="session",outcome="connection_lost",step="delete"} 0
h2surge_runner_requests_total{chain="session",outcome="failed_checks",step="create"} 1
h2surge_runner_requests_total{chain="session",outcome="failed_checks",step="delete"} 0
h2surge_runner_requests_total{chain="session",outcome="reset",step="create"} 2
h2surge_runner_requests_total{chain="session",outcome="reset",step="delete"} 0
h2surge_runner_requests_total{chain="session",outcome="succeeded",step="create"} 4
h2surge_runner_requests_total{chain="session",outcome="succeeded",step="delete"} 0
h2surge_runner_requests_total{chain="session",outcome="timed_out",step="create"} 1
h2surge_runner_requests_total{chain="session",outcome="timed_out",step="delete"} 0
# HELP h2surge_runner_chains_total Chain instances that ended: completed or aborted.
# TYPE h2surge_runner_chains_total counter
h2surge_runner_chains_total{chain="ping",outcome="aborted"} 0
h2surge_runner_chains_total{chain="ping",outcome="completed"} 0
h2surge_runner_chains_total{chain="session",outcome="aborted"} 2
h2surge_runner_chains_total{chain="session",outcome="completed"} 4
# HELP h2surge_runner_state 1 for the current state of the runner, 0 for all others.
# TYPE h2surge_runner_state gauge
h2surge_runner_state{state="Connecting"} 0
h2surge_runner_state{state="Done"} 0
h2surge_runner_state{state="Drained"} 0
h2surge_runner_state{state="Draining"} 0
h2surge_runner_state{state="Ready"} 0
h2surge_runner_state{state="Running"} 1
h2surge_runner_state{state="SettingUp"} 0
h2surge_runner_state{state="TearingDown"} 0
h2surge_runner_state{state="Waiting"} 0
# HELP h2surge_runner_failed_checks_total Responses to requests of measured stages that failed a check, by the first failed check.
# TYPE h2surge_runner_failed_checks_total counter
h2surge_runner_failed_checks_total{chain="session",check="status",step="create"} 1
# HELP h2surge_runner_step_retries_total Requests of measured stages that a step sent again after a failure.
# TYPE h2surge_runner_step_retries_total counter
h2surge_runner_step_retries_total{chain="ping",step="get"} 0
h2surge_runner_step_retries_total{chain="session",step="create"} 3
h2surge_runner_step_retries_total{chain="session",step="delete"} 0
# HELP h2surge_runner_aborted_instances_total Chain instances that were aborted, by reason.
# TYPE h2surge_runner_aborted_instances_total counter
h2surge_runner_aborted_instances_total{chain="session",reason="failedCheck"} 1
h2surge_runner_aborted_instances_total{chain="session",reason="reset"} 1
# HELP h2surge_runner_failures_total Failures without a response, by cause: attempts to connect, connections that ended, and requests of measured stages that were reset, connectionLost or dropped. Failures above the limit are counted as other.
# TYPE h2surge_runner_failures_total counter
h2surge_runner_failures_total{address="a:1",cause="rstStream",detail="CANCEL",of="reset"} 2
# HELP h2surge_runner_problem_causes_total Problem details (RFC 9457) in responses, by cause. Causes above the limit are counted as other.
# TYPE h2surge_runner_problem_causes_total counter
h2surge_runner_problem_causes_total{cause="NOT_FOUND"} 1
h2surge_runner_problem_causes_total{cause="a�"} 5
# HELP h2surge_runner_once_requests_sent_total Requests of setup and teardown chains that were sent. No other metric of requests includes them.
# TYPE h2surge_runner_once_requests_sent_total counter
h2surge_runner_once_requests_sent_total{phase="setup"} 2
h2surge_runner_once_requests_sent_total{phase="teardown"} 0
# HELP h2surge_runner_once_requests_succeeded_total Requests of setup and teardown chains that succeeded.
# TYPE h2surge_runner_once_requests_succeeded_total counter
h2surge_runner_once_requests_succeeded_total{phase="setup"} 1
h2surge_runner_once_requests_succeeded_total{phase="teardown"} 0
# HELP h2surge_runner_exhausted 1 if all values of a variable are used and its chains start no more instances, else 0.
# TYPE h2surge_runner_exhausted gauge
h2surge_runner_exhausted 1
# HELP h2surge_runner_requests_in_flight Requests that were sent and have no outcome yet, warm-up included.
# TYPE h2surge_runner_requests_in_flight gauge
h2surge_runner_requests_in_flight 3
# HELP h2surge_runner_requests_dropped_total Requests that were never sent although their scheduled time had come; failures_total says why.
# TYPE h2surge_runner_requests_dropped_total counter
h2surge_runner_requests_dropped_total 3
# HELP h2surge_runner_asked_requests_per_second This runner's share of the rate of the current stage. After a change of the load: requests scheduled per second since the previous scrape. 0 if the test is suspended, in a closed loop, or if no stage is active.
# TYPE h2surge_runner_asked_requests_per_second gauge
h2surge_runner_asked_requests_per_second 50
# HELP h2surge_runner_achieved_requests_per_second Requests sent per second since the previous scrape, warm-up included.
# TYPE h2surge_runner_achieved_requests_per_second gauge
h2surge_runner_achieved_requests_per_second 50
# HELP h2surge_runner_lag_p99_seconds 99th percentile of lag_seconds since the start.
# TYPE h2surge_runner_lag_p99_seconds gauge
h2surge_runner_lag_p99_seconds 0.00012
# HELP h2surge_runner_throttled_seconds_total Time that the CPU quota stopped the process.
# TYPE h2surge_runner_throttled_seconds_total counter
h2surge_runner_throttled_seconds_total 0.0025
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want),
		"h2surge_runner_requests_total", "h2surge_runner_chains_total", "h2surge_runner_state",
		"h2surge_runner_failed_checks_total", "h2surge_runner_step_retries_total", "h2surge_runner_aborted_instances_total",
		"h2surge_runner_problem_causes_total", "h2surge_runner_once_requests_sent_total", "h2surge_runner_once_requests_succeeded_total",
		"h2surge_runner_exhausted",
		"h2surge_runner_requests_in_flight", "h2surge_runner_requests_dropped_total",
		"h2surge_runner_asked_requests_per_second", "h2surge_runner_achieved_requests_per_second",
		"h2surge_runner_lag_p99_seconds", "h2surge_runner_throttled_seconds_total"); err != nil {
		t.Error(err)
	}
}

// TestOperationsAndNotifications: the requests of an operation are those of its steps, each with one outcome. A missing notification is
// longer than every time.
func TestOperationsAndNotifications(t *testing.T) {
	plan := metricsPlan()
	plan.Targets = []runnerv1alpha1.Target{{Name: "nrf"}}
	plan.Listeners = []runnerv1alpha1.Listener{{Name: "events"}}
	plan.Chains[0].Steps[0].Operation, plan.Chains[0].Steps[1].Operation = "Register", "Register"
	s := metricsSnapshot(10*time.Second, 500)
	h := histogram.New()
	h.RecordN(1000, 5)
	s.Steps[0].StatusCodes, s.Steps[0].Problems = map[string]int64{"201": 4, "403": 2, "503": 1}, map[string]int64{"403 A": 2, "other": 1}
	s.Steps[1].StatusCodes, s.Steps[1].Problems = map[string]int64{"403": 3}, map[string]int64{"403 A": 1, "403 B\xff": 1}
	s.Listeners = []runnerv1alpha1.ListenerCounters{{Time: h.Encode(), ListenerCounts: runnerv1alpha1.ListenerCounts{
		Received: 9, InTime: 6, FailedChecks: 1, Late: 2, Duplicate: 1, Awaited: 10, Missing: 4, Measured: runnerv1alpha1.AwaitCounts{Awaited: 8, InTime: 5, Missing: 3},
	}}}
	c := NewCollector(plan, fixed(s))
	want := `
# HELP h2surge_runner_operation_requests_total Requests of measured stages that have an outcome, by service operation: response, timed_out, reset or connection_lost, and of responses the status code, and the cause of problem details. Absent if no request has an operation.
# TYPE h2surge_runner_operation_requests_total counter
h2surge_runner_operation_requests_total{cause="",operation="Register",outcome="connection_lost",status="",target="nrf"} 1
h2surge_runner_operation_requests_total{cause="",operation="Register",outcome="reset",status="",target="nrf"} 2
h2surge_runner_operation_requests_total{cause="",operation="Register",outcome="response",status="201",target="nrf"} 4
h2surge_runner_operation_requests_total{cause="",operation="Register",outcome="response",status="403",target="nrf"} 1
h2surge_runner_operation_requests_total{cause="",operation="Register",outcome="response",status="503",target="nrf"} 1
h2surge_runner_operation_requests_total{cause="",operation="Register",outcome="timed_out",status="",target="nrf"} 1
h2surge_runner_operation_requests_total{cause="A",operation="Register",outcome="response",status="403",target="nrf"} 3
h2surge_runner_operation_requests_total{cause="B�",operation="Register",outcome="response",status="403",target="nrf"} 1
# HELP h2surge_runner_notifications_awaited_total Steps that began to wait for a notification, warm-up included.
# TYPE h2surge_runner_notifications_awaited_total counter
h2surge_runner_notifications_awaited_total{listener="events"} 10
# HELP h2surge_runner_notifications_failed_checks_total Notifications in time that failed a check, warm-up included.
# TYPE h2surge_runner_notifications_failed_checks_total counter
h2surge_runner_notifications_failed_checks_total{listener="events"} 1
# HELP h2surge_runner_notifications_missing_total Steps that did not receive their notification within their timeout, warm-up included.
# TYPE h2surge_runner_notifications_missing_total counter
h2surge_runner_notifications_missing_total{listener="events"} 4
# HELP h2surge_runner_notifications_total Notifications that a listener received, warm-up included: in_time, late, duplicate, unexpected or answered (by a rule only).
# TYPE h2surge_runner_notifications_total counter
h2surge_runner_notifications_total{listener="events",outcome="answered"} 0
h2surge_runner_notifications_total{listener="events",outcome="duplicate"} 1
h2surge_runner_notifications_total{listener="events",outcome="in_time"} 6
h2surge_runner_notifications_total{listener="events",outcome="late"} 2
h2surge_runner_notifications_total{listener="events",outcome="unexpected"} 0
`
	want = strings.ReplaceAll(want, `\ufffd`, "\ufffd")
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), "h2surge_runner_operation_requests_total", "h2surge_runner_notifications_total",
		"h2surge_runner_notifications_awaited_total", "h2surge_runner_notifications_missing_total", "h2surge_runner_notifications_failed_checks_total"); err != nil {
		t.Error(err)
	}
	if n := gather(t, c, "notification_time_seconds")[0].GetHistogram().GetSampleCount(); n != 8 {
		t.Errorf("%d times of 5 notifications and 3 missing ones", n)
	}
}

func TestMetricsAreClean(t *testing.T) {
	problems, err := testutil.CollectAndLint(NewCollector(metricsPlan(), fixed(metricsSnapshot(time.Second, 1))))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func gather(t *testing.T, c prometheus.Collector, name string) []*dto.Metric {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "h2surge_runner_"+name {
			return f.GetMetric()
		}
	}
	t.Fatalf("no metric %s", name)
	return nil
}

func TestResponseTimeHistogram(t *testing.T) {
	h := gather(t, NewCollector(metricsPlan(), fixed(metricsSnapshot(time.Second, 1))), "response_time_seconds")[1].GetHistogram()
	if h.GetSampleCount() != 9 || h.GetSampleSum() != 20.0027 { // 5 responses, 4 requests without one
		t.Errorf("%d values, sum %v", h.GetSampleCount(), h.GetSampleSum())
	}
	cumulative := map[float64]uint64{0.0001: 3, 0.001: 3, 0.0025: 3, 0.005: 4, 10: 4}
	for _, b := range h.GetBucket() {
		if want, listed := cumulative[b.GetUpperBound()]; listed && b.GetCumulativeCount() != want {
			t.Errorf("at or below %v: %d, want %d", b.GetUpperBound(), b.GetCumulativeCount(), want)
		}
	}
	if len(h.GetBucket()) != len(classicBuckets) || h.GetSchema() != histogram.ExponentialScale || h.GetZeroCount() != 1 {
		t.Errorf("%d classic buckets, schema %d, %d zeros", len(h.GetBucket()), h.GetSchema(), h.GetZeroCount())
	}
	// 100 us lie in (2^(-107/8), 2^(-106/8)] s.
	if first := h.GetPositiveSpan()[0].GetOffset(); first != -106 {
		t.Errorf("first native bucket %d, want -106", first)
	}
	last, value := int32(0), int64(0)
	for _, span := range h.GetPositiveSpan() {
		last += span.GetOffset() + int32(span.GetLength())
	}
	for _, d := range h.GetPositiveDelta() {
		value += d
	}
	if last-1 != nativeInfinity || value != 4 {
		t.Errorf("the last native bucket is %d with %d values, want %d with 4", last-1, value, nativeInfinity)
	}
	if h.GetPositiveDelta()[0] != 2 {
		t.Errorf("%d values in it, want 2", h.GetPositiveDelta()[0])
	}
}

// Until the final snapshot, service time and lag have places of their own.
func TestTimesOfAllRequests(t *testing.T) {
	h := histogram.New()
	h.RecordN(300, 7)
	for name, change := range map[string]func(*runnerv1alpha1.Snapshot){
		"running": func(s *runnerv1alpha1.Snapshot) { s.ServiceTime, s.Lag = h.Encode(), h.Encode() },
		"done": func(s *runnerv1alpha1.Snapshot) {
			s.Histograms = &runnerv1alpha1.Histograms{ServiceTime: h.Encode(), Lag: h.Encode()}
		},
	} {
		s := metricsSnapshot(time.Second, 1)
		change(s)
		c := NewCollector(metricsPlan(), fixed(s))
		for _, metric := range []string{"service_time_seconds", "lag_seconds"} {
			if n := gather(t, c, metric)[0].GetHistogram().GetSampleCount(); n != 7 {
				t.Errorf("%s: %s has %d values, want 7", name, metric, n)
			}
		}
	}
}

// TestProtocols: a target has a series for each protocol that its URLs have, and one without an answer has none.
func TestProtocols(t *testing.T) {
	plan := metricsPlan()
	for _, name := range []string{"given", "same", "mixed", "silent"} {
		plan.Targets = append(plan.Targets, runnerv1alpha1.Target{Name: name, Protocol: runnerv1alpha1.ProtocolDiscovered, Endpoints: make([]runnerv1alpha1.Endpoint, 2)})
	}
	plan.Targets[0].Protocol = runnerv1alpha1.ProtocolH2C
	h1, h2 := runnerv1alpha1.EndpointProtocol{Protocol: runnerv1alpha1.ProtocolHTTP1}, runnerv1alpha1.EndpointProtocol{Protocol: runnerv1alpha1.ProtocolH2C}
	s := metricsSnapshot(10*time.Second, 500)
	s.Protocols = [][]runnerv1alpha1.EndpointProtocol{nil, {h2, h2}, {h2, h1}, {{}, {}}}
	want := `
# HELP h2surge_runner_protocol_info The protocols that the runner found at the http URLs of a target with protocol Auto; always 1.
# TYPE h2surge_runner_protocol_info gauge
h2surge_runner_protocol_info{protocol="h2c",target="mixed"} 1
h2surge_runner_protocol_info{protocol="h2c",target="same"} 1
h2surge_runner_protocol_info{protocol="http1",target="mixed"} 1
`
	if err := testutil.CollectAndCompare(NewCollector(plan, fixed(s)), strings.NewReader(want), "h2surge_runner_protocol_info"); err != nil {
		t.Error(err)
	}
}

// TestPhases: each phase of a target with values is a series, and the first byte is of all steps of the target.
func TestPhases(t *testing.T) {
	plan := metricsPlan()
	plan.Targets = []runnerv1alpha1.Target{{Name: "front"}, {Name: "back"}}
	plan.Chains[0].Steps[1].Target = 1
	of := func(n int64) runnerv1alpha1.Histogram {
		var h histogram.H
		h.RecordN(300, n)
		return h.Encode()
	}
	s := metricsSnapshot(time.Second, 1)
	s.Steps[0].TimeToFirstByte, s.Steps[1].TimeToFirstByte, s.Steps[2].TimeToFirstByte = of(1), of(20), of(300)
	s.Targets = make([]runnerv1alpha1.TargetTimes, 2)
	for i, h := range s.Targets[0].Distributions() {
		*h = of(int64(i + 1))
	}
	s.Targets[1].Body = of(9)
	got := map[string]uint64{}
	for _, m := range gather(t, NewCollector(plan, fixed(s)), "phase_seconds") {
		got[m.GetLabel()[1].GetValue()+" "+m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
	}
	want := map[string]uint64{
		"front name_resolution": 1, "front tcp_connect": 2, "front tls_handshake": 3, "front settings": 4,
		"front reconnecting": 6, "front blocked": 7, "front body": 8, "front first_byte": 301, "back first_byte": 20, "back body": 9,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAchievedRateIsSinceTheScrapeBefore(t *testing.T) {
	clock := []time.Duration{10 * time.Second, 15 * time.Second, 15100 * time.Millisecond, 20 * time.Second}
	sent := []int64{500, 1500, 1600, 1700}
	want := []float64{50, 200, 1100 / 5.1, 200 / 5.}
	i := -1
	c := NewCollector(metricsPlan(), func() *runnerv1alpha1.Snapshot { i++; return metricsSnapshot(clock[i], sent[i]) })
	for k := range clock {
		to := make(chan prometheus.Metric, 1000)
		c.Collect(to)
		close(to)
		var got float64
		for m := range to {
			var d dto.Metric
			if m.Desc() == descAchieved && m.Write(&d) == nil {
				got = d.GetGauge().GetValue()
			}
		}
		if diff := got - want[k]; diff > 1e-6 || diff < -1e-6 {
			t.Errorf("scrape %d: %v a second, want %v", k, got, want[k])
		}
	}
}

// TestAskedRateFollowsChanges: a plan of 100 a second for two shards, whose rate and shares are changed.
func TestAskedRateFollowsChanges(t *testing.T) {
	const second = int64(time.Second)
	at := func(offset, slots, paused int64) *runnerv1alpha1.Snapshot {
		s := metricsSnapshot(time.Duration(offset*second), slots)
		s.StartAt, s.StartedAt, s.Revision, s.Changed = 1, 1, 2, true
		s.Stages[0].Slots, s.Stages[0].Paused = slots, paused*second
		return s
	}
	joined := at(100, 300, 0)
	joined.StartedAt = 90*second + 1
	paused := at(30, 300, 5)
	paused.Suspended = true
	other := at(20, 900, 0)
	other.Boot = "of another process"
	first := at(10, 500, 0)
	first.Revision, first.Changed = 1, false
	ended := at(10, 500, 0)
	ended.Stages[0].Ended, ended.EndedAt = 10*second, 10*second
	for name, tc := range map[string]struct {
		base, s *runnerv1alpha1.Snapshot
		want    float64
	}{
		"not changed":             {nil, first, 50},
		"changed, first scrape":   {nil, at(10, 200, 0), 20},
		"since the scrape before": {at(10, 200, 0), at(15, 700, 0), 100},
		"without the pause":       {at(10, 200, 0), at(20, 500, 4), 50},
		"nothing but the pause":   {at(10, 200, 0), at(20, 200, 10), 0},
		"paused":                  {at(10, 200, 0), paused, 0},
		"joined":                  {nil, joined, 30},
		"another process":         {other, at(30, 300, 0), 10},
		"no stage":                {nil, ended, 0},
	} {
		live, err := build.NewLive(metricsPlan(), nil, []runnerv1alpha1.Snapshot{*tc.s})
		if err != nil {
			t.Fatal(err)
		}
		if got := askedOf(metricsPlan(), tc.base, tc.s, &live); math.Abs(got-tc.want) > 1e-6 {
			t.Errorf("%s: %v a second, want %v", name, got, tc.want)
		}
	}
}

func TestHandler(t *testing.T) {
	get := func(s *runnerv1alpha1.Snapshot) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		Handler(metricsPlan(), fixed(s)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w
	}
	if w := get(nil); w.Code != 200 || !strings.Contains(w.Body.String(), "h2surge_runner_info{") {
		t.Errorf("no snapshot: %d\n%s", w.Code, w.Body)
	}
	if w := get(&runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateWaiting}); w.Code != 200 || !strings.Contains(w.Body.String(), `state{state="Waiting"} 1`) {
		t.Errorf("waiting: %d\n%s", w.Code, w.Body)
	}
	bad := metricsSnapshot(time.Second, 1)
	bad.Steps[0].ResponseTime.Counts = []byte("?")
	if w := get(bad); w.Code != 500 {
		t.Errorf("a histogram that cannot be read: %d", w.Code)
	}
}

// BenchmarkScrape is of a plan with the most steps there may be, each with response times over
// two decades.
func BenchmarkScrape(b *testing.B) {
	h := histogram.New()
	for us := int64(100); us < 10_000; us += 3 {
		h.Record(us)
	}
	plan := metricsPlan()
	plan.Chains = []runnerv1alpha1.Chain{{Name: "all", Steps: make([]runnerv1alpha1.Step, 256)}}
	s := metricsSnapshot(time.Second, 1)
	s.Steps = make([]runnerv1alpha1.StepCounters, 256)
	for i := range s.Steps {
		plan.Chains[0].Steps[i].Name = strconv.Itoa(i)
		s.Steps[i].ResponseTime = h.Encode()
	}
	handler := Handler(plan, fixed(s))
	for b.Loop() {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		b.SetBytes(int64(w.Body.Len()))
	}
}
