// Command metrics writes docs/metrics.md to its standard output, from the descriptions that the code collects metrics by.
// Run by "make docs".
package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/controllers/loadtest"
	"github.com/h2surge/h2surge/internal/metric"
	"github.com/h2surge/h2surge/runner/export"
)

// text is the page without its tables, whose places it has.
//
//go:embed page.md
var text string

// labels say what values a label has, and how many at most: a label without such a line is a mistake.
var labels = []struct{ name, values string }{
	{"namespace", "of the LoadTest; on series of runners Prometheus sets it, to the pod's, which is the same"},
	{"loadtest", "name of the LoadTest; on series of runners it comes from the pod's label `h2surge.io/loadtest`"},
	{"shard", "of the runner, from 0, at most 256; from the annotation `batch.kubernetes.io/job-completion-index` of the pod"},
	{"chain", "a chain of the spec, at most 64"},
	{"step", "a step of the chain, at most 256 over all chains"},
	{"outcome", "of a request: `succeeded`, `failed_checks`, `timed_out`, `reset`, `connection_lost`; of a chain instance: `completed`, `aborted`; " +
		"of a run: `Passed`, `Failed`, `Inconclusive`, `Error`, `Stopped`"},
	{"class", "`1xx` to `5xx`; codes from 600 on are in `5xx`"},
	{"check", "a check of the step that has failed, by its name in the spec"},
	{"reason", "`failedCheck`, `missingCapture`, `timedOut`, `reset`, `connectionLost`, `dropped`, `script`, `location`"},
	{"cause", "of problem details: what responses say, at most 64 different ones of 64 octets a runner, the others are `other`; of failures: a word of docs/report.md, `other` for those beyond 64 different failures a runner"},
	{"of", "what failed: `connect`, `connection`, `reset`, `connectionLost`, `dropped`"},
	{"detail", "the code, alert or rule behind the cause; may be empty"},
	{"address", "the target's; may be empty"},
	{"phase", "of a LoadTest: that of `kubectl get`; of requests that are sent once: `setup`, `teardown`"},
	{"state", "of a runner: `Waiting`, `Connecting`, `SettingUp`, `Ready`, `Running`, `Draining`, `Drained`, `TearingDown`, `Done`"},
	{"percentile", "`50`, `90`, `95`, `99`, `99.9`, `100`"},
	{"version", "of h2surge, one a process"},
	{"commit", "that it was built from"},
	{"go", "version of Go that it was built with"},
}

func main() {
	page, err := render(export.Families(), loadtest.Families())
	if err != nil {
		fmt.Fprintln(os.Stderr, "metrics:", err)
		os.Exit(1)
	}
	fmt.Print(page)
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
				return "", fmt.Errorf("%s has a label %s, of which hack/metrics does not tell the values", f.Name, l)
			}
		}
	}
	return strings.NewReplacer("{{runner}}\n", table(runner), "{{operator}}\n", table(operator), "{{labels}}\n", known.String()).Replace(text), nil
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
