// Package metrics serves the metrics of a runner to Prometheus. It is apart from the reports of internal/report/render,
// because the command line does not need the Prometheus library, whose initialisation takes more than a millisecond.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/metric"
	"github.com/h2surge/h2surge/internal/report/build"
)

// own are the metrics of a runner.
var own = metric.NewSet("h2surge_runner_")

// Families are the metrics that a Collector has.
func Families() []metric.Family { return own.Families() }

var (
	descInfo = own.Gauge("info", "Version of h2surge on this runner; always 1.", "version", "commit", "go")

	descState = own.Gauge("state", "1 for the current state of the runner, 0 for all others.", "state")

	descProtocol = own.Gauge("protocol_info",
		"The protocols that the runner found at the http URLs of a target with protocol Auto; always 1.", "target",
		"protocol")

	descSent = own.Counter("requests_sent_total", "Requests of measured stages that were sent.", "chain", "step")

	descOutcomes = own.Counter("requests_total",
		"Requests of measured stages that have an outcome: succeeded, failed_checks, timed_out, reset or connection_lost. All other sent requests are in flight.",
		"chain", "step", "outcome")

	descResponses = own.Counter("responses_total",
		"Final responses to requests of measured stages, by class of status code.",
		"chain", "step", "class")

	descResponseTime = own.Histogram("response_time_seconds",
		"Time from the scheduled time of a request to the end of its response. A request without a response counts in the bucket +Inf, and not in the sum. Buckets are exact to 0.1%.", "chain", "step")

	descServiceTime = own.Histogram("service_time_seconds",
		"Time from sending a request to the end of its response, over all steps. Buckets are exact to 0.1%.")

	descPhase = own.Histogram("phase_seconds",
		"Times of the phases of connections and requests to a target. A phase without values is left out. Buckets are exact to 0.1%.", "target", "phase")

	descLag = own.Histogram("lag_seconds",
		"Time from the scheduled time of a request until the runner picked it up, over all steps. Buckets are exact to 0.1%.")

	descStarted = own.Counter("chains_started_total", "Chain instances that started in measured stages.", "chain")

	descEnded = own.Counter("chains_total", "Chain instances that ended: completed or aborted.", "chain", "outcome")

	descFailedChecks = own.Counter("failed_checks_total",
		"Responses to requests of measured stages that failed a check, by the first failed check.", "chain", "step", "check")

	descStepEvents = stepEvents()

	descAborted = own.Counter("aborted_instances_total", "Chain instances that were aborted, by reason.", "chain",
		"reason")

	descCauses = own.Counter("problem_causes_total",
		"Problem details (RFC 9457) in responses, by cause. Causes above the limit are counted as other.", "cause")

	descFailures = own.Counter("failures_total",
		"Failures without a response, by cause: attempts to connect, connections that ended, and requests of measured stages that were reset, connectionLost or dropped. Failures above the limit are counted as other.",
		"of", "cause", "detail", "address")

	descOperations = own.Counter("operation_requests_total",
		"Requests of measured stages that have an outcome, by service operation: response, timed_out, reset or connection_lost, and of responses the status code, and the cause of problem details. Absent if no request has an operation.",
		"target", "operation", "outcome", "status", "cause")

	descNotifications = own.Counter("notifications_total",
		"Notifications that a listener received, warm-up included: in_time, late, duplicate, unexpected or answered (by a rule only).", "listener",
		"outcome")

	descAwaited = own.Counter("notifications_awaited_total",
		"Steps that began to wait for a notification, warm-up included.", "listener")

	descMissing = own.Counter("notifications_missing_total",
		"Steps that did not receive their notification within their timeout, warm-up included.", "listener")

	descFailedNotifications = own.Counter("notifications_failed_checks_total",
		"Notifications in time that failed a check, warm-up included.", "listener")

	descNotificationTime = own.Histogram("notification_time_seconds",
		"Time from sending the request before a step to its notification, of measured stages. A missing notification counts in the bucket +Inf, and not in the sum. Buckets are exact to 0.1%.", "listener")

	descOnceSent = own.Counter("once_requests_sent_total",
		"Requests of setup and teardown chains that were sent. No other metric of requests includes them.", "phase")

	descOnceSucceeded = own.Counter("once_requests_succeeded_total",
		"Requests of setup and teardown chains that succeeded.", "phase")

	descExhausted = own.Gauge("exhausted",
		"1 if all values of a variable are used and its chains start no more instances, else 0.")

	descDropped = own.Counter("requests_dropped_total",
		"Requests that were never sent although their scheduled time had come; failures_total says why.")

	descRetried = own.Counter("requests_retried_total",
		"Requests that the peer gave back unprocessed and that were sent again.")

	descWarmUp = own.Counter("warm_up_requests_sent_total",
		"Requests of warm-up stages that were sent. No other metric of requests includes them.")

	descInFlight = own.Gauge("requests_in_flight", "Requests that were sent and have no outcome yet, warm-up included.")

	descAsked = own.Gauge("asked_requests_per_second",
		"This runner's share of the rate of the current stage. After a change of the load: requests scheduled per second since the previous scrape. 0 if the test is suspended, in a closed loop, or if no stage is active.")

	descAsksForRate = own.Gauge("asks_for_rate",
		"1 if a measured stage has a rate, or a threshold is on the rate, else 0: the runner is then never the bottleneck.")

	descAchieved = own.Gauge("achieved_requests_per_second",
		"Requests sent per second since the previous scrape, warm-up included.")

	descSentBytes = own.Counter("sent_bytes_total", "Bytes written to the sockets.")

	descReceivedBytes = own.Counter("received_bytes_total", "Bytes read from the sockets.")

	descConnects = own.Counter("connections_opened_total", "Connections opened.")

	descReconnects = own.Counter("connections_reopened_total",
		"Connections opened to replace a lost one; connections_opened_total includes them.")

	descResumed = own.Counter("connections_resumed_total",
		"Connections whose handshake resumed a TLS session; connections_opened_total includes them.")

	descEarlyData = own.Counter("connections_early_data_total",
		"Connections whose early data (0-RTT) the server accepted; connections_resumed_total includes them.")

	descWorkers = own.Gauge("workers", "Pinned threads that send requests.")

	descLagP99 = own.Gauge("lag_p99_seconds", "99th percentile of lag_seconds since the start.")

	descCPU = own.Counter("cpu_seconds_total", "User and system time of the process since it started to connect.")

	descThrottled = own.Counter("throttled_seconds_total", "Time that the CPU quota stopped the process.")

	descGCPause = own.Counter("gc_pause_seconds_total", "Stop-the-world pauses of the Go runtime.")
)

// stepEvents are by the names of the counts in JSON.
func stepEvents() map[string]*prometheus.Desc {
	out, events := map[string]*prometheus.Desc{}, runnerv1alpha1.StepEvents{}
	for _, n := range events.Counts() {
		of := build.StepEvents[n.Name]
		out[n.Name] = own.Counter("step_"+of.Metric+"_total", of.Help, "chain", "step")
	}
	return out
}

var states = []runnerv1alpha1.State{
	runnerv1alpha1.StateWaiting, runnerv1alpha1.StateConnecting, runnerv1alpha1.StateSettingUp,
	runnerv1alpha1.StateReady, runnerv1alpha1.StateRunning, runnerv1alpha1.StateDraining,
	runnerv1alpha1.StateDrained, runnerv1alpha1.StateTearingDown, runnerv1alpha1.StateDone,
}

var classes = [5]string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// classicBuckets are in microseconds: three to a decade, from what a loopback takes to twice the
// default timeout.
var classicBuckets = []int64{
	100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
	10_000_000,
}
