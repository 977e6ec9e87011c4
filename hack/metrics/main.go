// Command metrics writes docs/reference/metrics.md to its standard output, from the metric descriptions in the code.
// "make docs" runs it.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/controllers/loadtest"
	"github.com/h2surge/h2surge/controllers/loadtestschedule"
	"github.com/h2surge/h2surge/internal/metric"
	"github.com/h2surge/h2surge/runner/metrics"
)

// text is the page with placeholders for its tables.
//
//go:embed page.md
var text string

// labels lists the values of each label and their maximum number. render returns an error for a label that is not
// listed.
var labels = []struct{ name, values string }{
	{"namespace", "namespace of the LoadTest. On series of runners Prometheus sets it from the pod, with the same value"},
	{"loadtest", "name of the LoadTest. On series of runners it comes from the pod's label `h2surge.io/loadtest`"},
	{"schedule", "name of the LoadTestSchedule"},
	{"shard", "number of the shard, from 0 to 255; from the pod's annotation `batch.kubernetes.io/job-completion-index`"},
	{"chain", "a chain of the spec, at most 64"},
	{"step", "a step of the chain, at most 256 in all chains"},
	{"outcome", "outcome of a request: `succeeded`, `failed_checks`, `timed_out`, `reset`, `connection_lost`; of a request of an operation: `response`, `timed_out`, `reset`, `connection_lost`; of a notification: `in_time`, `late`, `duplicate`, `unexpected`; of a chain instance: `completed`, `aborted`; " +
		"of a run: `Passed`, `Failed`, `Inconclusive`, `Error`, `Stopped`"},
	{"class", "`1xx` to `5xx`; status codes from 600 count as `5xx`"},
	{"check", "name of a check of the step that failed"},
	{"reason", "`failedCheck`, `missingCapture`, `timedOut`, `reset`, `connectionLost`, `dropped`, `script`, " +
		"`location`, `notification`; of a test that waits: `WaitingForLock`, `Queued`"},
	{"listener", "a listener of the spec, at most 8"},
	{"operation", "a service operation of the spec, or CHAIN/STEP for a step without one; at most 256"},
	{"status", "status code of a response; empty without a response"},
	{"cause", "of problem details: the cause in the responses, cut to 64 bytes; a runner has at most 64 different causes and counts the rest as `other`. Of operations: at most 32 for each step; empty for the rest and for responses without problem details. Of failures: a cause of docs/reference/report-failures.md; a runner has at most 64 different failures and counts the rest as `other`"},
	{"of", "what failed: `connect`, `connection`, `reset`, `connectionLost`, `dropped`"},
	{"detail", "the error code, TLS alert or protocol rule; can be empty"},
	{"address", "address of the target; can be empty"},
	{"target", "a target of the spec, at most 64"},
	{"protocol", "`http1`, `h2c`"},
	{"phase", "of a LoadTest: the phase that `kubectl get` shows; of requests that are sent once: `setup`, `teardown`; of times: `name_resolution`, " +
		"`tcp_connect`, `tls_handshake`, `settings`, `reconnecting`, `blocked`, `first_byte`, `body`, as in docs/reference/report.md"},
	{"state", "state of a runner: `Waiting`, `Connecting`, `SettingUp`, `Ready`, `Running`, `Draining`, `Drained`, `TearingDown`, `Done`"},
	{"rule", "a built-in rule: `APIServer`, `Nodes`"},
	{"percentile", "`50`, `90`, `95`, `99`, `99.9`, `100`"},
	{"version", "version of h2surge; each process has one"},
	{"commit", "commit that h2surge was built from"},
	{"go", "version of Go that h2surge was built with"},
}

func main() {
	text, err := page()
	if err != nil {
		fmt.Fprintln(os.Stderr, "metrics:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

// page returns the page with the metrics of the runner and the operator.
func page() (string, error) {
	return render(metrics.Families(), slices.Concat(loadtest.Families(), loadtestschedule.Families()))
}

func render(runner, operator []metric.Family) (string, error) {
	var known strings.Builder
	var names []string
	for _, l := range labels {
		fmt.Fprintf(&known, "| `%s` | %s |\n", l.name, l.values)
		names = append(names, l.name)
	}
	for _, f := range slices.Concat(runner, operator) {
		for _, l := range f.Labels {
			if !slices.Contains(names, l) {
				return "", fmt.Errorf("%s has a label %s that is not in the list of labels in hack/metrics/main.go", f.Name, l)
			}
		}
	}
	return strings.NewReplacer("{{runner}}\n", table(runner), "{{operator}}\n", table(operator), "{{labels}}\n",
		known.String()).Replace(text), nil
}

func table(families []metric.Family) string {
	var b strings.Builder
	for _, f := range families {
		var labels []string
		for _, l := range f.Labels {
			labels = append(labels, "`"+l+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, strings.Join(labels, " "), f.Help)
	}
	return b.String()
}
