package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
)

const searchLong = `Find the highest rate or concurrency at which all thresholds pass.

The search sends probes, each at one load for --probe-duration. It multiplies the load
by four until a probe fails, or divides it by four until one holds. Then it probes the
geometric mean of the highest load that held and the lowest one that failed, until they
differ by at most --precision, and probes both again. Between two probes it sends
nothing until all responses came and no step awaits a notification. Connections stay
open. --load says whether a load is a rate or a number of requests in flight.

With URLs, a probe holds if the limits of the flags hold. With a manifest, it holds if
all thresholds of the manifest pass; spec.search has the fields of the flags. Without a
limit on errors, at most 1% of the requests may fail.

` + searchExitCodes

const searchExitCodes = `Exit codes:
  0  a load was found, or the highest one that the search may try held
  1  bad manifest, URL or flags
  2  no load held, not even the lowest one
  3  the generator was the bottleneck, or the capacity of the target changed during the
     search, or all probes were used
  4  interrupted
  5  the search could not run, for example because the target is unreachable`

const searchExample = `  h2surge search http://127.0.0.1:8080/ --p99 20ms
  h2surge search -c 50 -m 20 --p99 20ms --max-error-rate 0.1% http://127.0.0.1:8080/
  h2surge search --load Concurrency --p99 50ms http://127.0.0.1:8080/
  h2surge search loadtest.yaml`

// searchFlags are the flags of "h2surge search" that are allowed with a URL.
type searchFlags struct {
	v1alpha1.Search
	p99       *v1alpha1.Duration
	errorRate string
}

// searched are the flags of a URL that "h2surge search" does not have: it chooses rates and lengths.
var searched = []string{"requests", "duration", "rps", "warm-up-time", "concurrency", "ramp-from", "arrivals",
	"burst-size"}

func newSearchCommand(parts linked) *cobra.Command {
	o := &runOptions{}
	o.form.search = &searchFlags{}
	cmd := o.command(&cobra.Command{
		Use:     "search {-f FILE | FILE | URL...} [flags]",
		Short:   "Find the highest rate or concurrency at which all thresholds pass",
		Long:    searchLong,
		Example: searchExample,
	}, parts)
	for _, name := range searched {
		_ = cmd.Flags().MarkHidden(name)
	}
	command.CompleteFlag(cmd, "load", string(v1alpha1.SearchRequestsPerSecond), string(v1alpha1.SearchConcurrency))
	return cmd
}

// rows is empty without a search.
func (s *searchFlags) rows() []*formFlag {
	if s == nil {
		return nil
	}
	s.Search = v1alpha1.Search{
		Load: v1alpha1.SearchRequestsPerSecond, Min: 1, Precision: "3%",
		ProbeDuration:  &v1alpha1.Duration{Duration: 10 * time.Second},
		SettleDuration: &v1alpha1.Duration{Duration: 2 * time.Second},
	}
	return []*formFlag{
		{"p99", "", "spec.thresholds[0].max", into(&s.p99, duration),
			"largest 99th percentile of response times: a `time` such as 20ms"},
		{"max-error-rate", "", "spec.thresholds[1].max", into(&s.errorRate, text),
			"largest `share` of requests that fail, such as 0.1% (default 1%)"},
		{"load", "", "spec.search.load", into(&s.Load, text),
			"`what` the search changes: RequestsPerSecond, or Concurrency (requests in flight) (default \"RequestsPerSecond\")"},
		{"start", "", "spec.search.start", into(&s.Start, whole),
			"`load` of the first probe (default 1000 requests per second, or 16 in flight)"},
		{"min", "", "spec.search.min", into(&s.Min, whole), "lowest `load` to try (default 1)"},
		{"max", "", "spec.search.max", into(&s.Max, whole),
			"highest `load` to try; default: the maximum of requestsPerSecond, or all streams"},
		{"precision", "", "spec.search.precision", into(&s.Precision, text),
			"how far the lowest load that failed may be above the highest that held (default \"3%\")"},
		{"probe-duration", "", "spec.search.probeDuration", into(&s.ProbeDuration, duration),
			"`time` to measure each probe (default 10s)"},
		{"settle-duration", "", "spec.search.settleDuration", into(&s.SettleDuration, duration),
			"`time` to send at the load of a probe before it is measured (default 2s)"},
	}
}

// apply makes a LoadTest of flags a search.
func (s *searchFlags) apply(spec *v1alpha1.LoadTestSpec) {
	spec.Rates, spec.Search = nil, &s.Search
	if s.p99 != nil {
		spec.Thresholds = append(spec.Thresholds, v1alpha1.Threshold{Name: "p99", Metric: v1alpha1.MetricResponseTime,
			Percentile: "p99", Max: new(intstr.FromString(s.p99.Duration.String()))})
	}
	if s.errorRate != "" {
		spec.Thresholds = append(spec.Thresholds, v1alpha1.Threshold{Name: "errors", Metric: v1alpha1.MetricErrorRate,
			Max: new(intstr.FromString(s.errorRate))})
	}
}

// check returns what the compiler does not see.
func (s *searchFlags) check(given []string) (wrong []string) {
	for _, name := range given {
		switch {
		case slices.Contains(searched, name):
			wrong = append(wrong, "--"+name+": not allowed with search, which chooses loads and lengths")
		// compile would take 0 for "not given"
		case name == "start" && s.Start < 1, name == "min" && s.Min < 1, name == "max" && s.Max < 1:
			wrong = append(wrong, "--"+name+": must be at least 1")
		case name == "p99" && s.p99.Duration == 0: // no load would hold
			wrong = append(wrong, "--p99: must be greater than 0")
		}
	}
	return wrong
}
