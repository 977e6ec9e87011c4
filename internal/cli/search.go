package cli

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

const searchLong = `Find the highest rate or concurrency at which all thresholds pass.

The search sends probes, each at one load for --probe-duration. It multiplies the load
by four until a probe fails, or divides it by four until one holds. Then it probes the
geometric mean of the highest load that held and the lowest one that failed, until they
differ by at most --precision, and probes both again. Between two probes it sends
nothing until all responses came. Connections stay open. --load says whether a load is a
rate or a number of requests in flight.

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
	p99, probe, settle seconds
	errorRate          string
	precision, load    string
	start, min, max    int64
}

func newSearchCommand(parts linked) *cobra.Command {
	o := &runOptions{}
	o.form.search = &searchFlags{}
	cmd := o.command(&cobra.Command{
		Use:     "search {-f FILE | FILE | URL...} [flags]",
		Short:   "Find the highest rate or concurrency at which all thresholds pass",
		Long:    searchLong,
		Example: searchExample,
	}, parts)
	for name, value := range map[string]string{"clients": "10", "max-concurrent-streams": "100"} {
		f := cmd.Flags().Lookup(name)
		f.DefValue = value
		_ = f.Value.Set(value) // it is a number
	}
	for _, name := range append([]string{"requests", "duration", "rps", "warm-up-time", "concurrency"}, shapeNames...) { // the search chooses rates and lengths
		_ = cmd.Flags().MarkHidden(name)
	}
	CompleteFlag(cmd, "load", string(v1alpha1.SearchRequestsPerSecond), string(v1alpha1.SearchConcurrency))
	return cmd
}

func (s *searchFlags) register(flags *pflag.FlagSet) {
	flags.Var(&s.p99, "p99", "largest 99th percentile of response times: a `time` such as 20ms")
	flags.StringVar(&s.errorRate, "max-error-rate", "", "largest `share` of requests that fail, such as 0.1% (default 1%)")
	flags.StringVar(&s.load, "load", string(v1alpha1.SearchRequestsPerSecond), "`what` the search changes: RequestsPerSecond, or Concurrency (requests in flight)")
	flags.Int64Var(&s.start, "start", 0, "`load` of the first probe (default 1000 requests per second, or 16 in flight)")
	flags.Int64Var(&s.min, "min", 1, "lowest `load` to try")
	flags.Int64Var(&s.max, "max", 0, "highest `load` to try; default: the maximum of requestsPerSecond, or all streams")
	flags.StringVar(&s.precision, "precision", "3%", "how far the lowest load that failed may be above the highest that held")
	s.probe, s.settle = seconds(10*time.Second), seconds(2*time.Second)
	flags.Var(&s.probe, "probe-duration", "`time` to measure each probe")
	flags.Var(&s.settle, "settle-duration", "`time` to send at the load of a probe before it is measured")
}

// apply makes a LoadTest of flags a search.
func (s *searchFlags) apply(spec *v1alpha1.LoadTestSpec) {
	spec.Rates = nil
	spec.Search = &v1alpha1.Search{
		Load: v1alpha1.SearchLoad(s.load), Start: s.start, Min: s.min, Max: s.max, Precision: s.precision, ProbeDuration: s.probe.given(), SettleDuration: s.settle.given(),
	}
	if s.p99 > 0 {
		limit := intstr.FromString(s.p99.String())
		spec.Thresholds = append(spec.Thresholds, v1alpha1.Threshold{Name: "p99", Metric: v1alpha1.MetricResponseTime, Percentile: "p99", Max: &limit})
	}
	if s.errorRate != "" {
		limit := intstr.FromString(s.errorRate)
		spec.Thresholds = append(spec.Thresholds, v1alpha1.Threshold{Name: "errors", Metric: v1alpha1.MetricErrorRate, Max: &limit})
	}
}

// check returns what the compiler does not see.
func (s *searchFlags) check(given []string) (wrong []string) {
	for _, name := range given {
		switch name {
		case "requests", "duration", "rps", "warm-up-time", "concurrency", "ramp-from", "arrivals", "burst-size":
			wrong = append(wrong, "--"+name+": not allowed with search, which chooses loads and lengths")
		case "start", "min", "max":
			if n := map[string]int64{"start": s.start, "min": s.min, "max": s.max}[name]; n < 1 { // compile would take 0 for "not given"
				wrong = append(wrong, "--"+name+": must be at least 1")
			}
		}
	}
	return wrong
}

// flags adds the flags to the names of fields.
func (s *searchFlags) flags(names map[string]string) {
	for field, flag := range map[string]string{
		"load": "--load", "start": "--start", "min": "--min", "max": "--max", "precision": "--precision", "probeDuration": "--probe-duration",
		"settleDuration": "--settle-duration",
	} {
		names["spec.search."+field] = flag
	}
	errors := "spec.thresholds[0].max"
	if s.p99 > 0 {
		names["spec.thresholds[0].max"] = "--p99"
		errors = "spec.thresholds[1].max"
	}
	names[errors] = "--max-error-rate"
}
