package compile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// observing returns a spec with observations.
func observing(observe ...v1alpha1.Observation) func(*spec) {
	return func(s *spec) { s.Observe = observe }
}

func queried(target, url, query string) v1alpha1.Observation {
	return v1alpha1.Observation{Name: "cpu", Unit: v1alpha1.UnitCores,
		Prometheus: &v1alpha1.ObservationQuery{Target: target, URL: url, Query: query}}
}

func scraped(target, metric, quantile string) v1alpha1.Observation {
	return v1alpha1.Observation{Name: "heap", Unit: v1alpha1.UnitBytes,
		Scrape: &v1alpha1.ObservationScrape{Target: target, Metric: metric, Quantile: quantile}}
}

func TestObserve(t *testing.T) {
	heap := scraped("metrics", "heap_bytes", "0.5")
	heap.Name, heap.Scrape.Path, heap.Scrape.Labels = "quantile", "/stats", map[string]string{"area": "heap"}
	lt := builder.Sessions("test", "http://target.example").Edit(observing(
		queried("", "https://prometheus.example/prefix", "up"), scraped("target", "go_goroutines", ""), heap)).
		Edit(func(s *spec) {
			s.Targets = append(s.Targets, v1alpha1.Target{Name: "metrics", URL: "http://b"})
			s.Observe[0].Prometheus.Interval = &v1alpha1.Duration{Duration: time.Minute}
		}).Build()
	plan, warnings, errs := compile.Compile("default/test", &lt.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	half := 0.5
	want := []rv.Observation{
		{Name: "cpu", Unit: "Cores", Query: "up", Interval: time.Minute, Endpoint: &rv.Endpoint{
			Scheme: "https", Authority: "prometheus.example", Address: "prometheus.example:443", BasePath: "/prefix"}},
		{Name: "heap", Unit: "Bytes", Target: 1, Scrape: &rv.Scrape{Path: "/metrics", Metric: "go_goroutines"}, Interval: 5 * time.Second},
		{Name: "quantile", Unit: "Bytes", Target: 2, Interval: 5 * time.Second,
			Scrape: &rv.Scrape{Path: "/stats", Metric: "heap_bytes", Labels: map[string]string{"area": "heap"}, Quantile: &half}},
	}
	if diff := cmp.Diff(want, plan.Observe); diff != "" {
		t.Errorf("observations (-want +got):\n%s", diff)
	}
	if !plan.Targets[1].Connecting.OnDemand || plan.Targets[0].Connecting.OnDemand {
		t.Error("connections are opened to the target that no chain uses, or not to the one that a chain uses")
	}
	for _, w := range warnings {
		if strings.Contains(w, "metrics") {
			t.Errorf("warning %q", w)
		}
	}
}

func TestMistakesInObservations(t *testing.T) {
	again := queried("", "http://a", "up")
	for name, tc := range map[string]struct {
		observe []v1alpha1.Observation
		want    string
	}{
		"unknown target":            {[]v1alpha1.Observation{queried("targets", "", "up")}, `spec.observe[0].prometheus.target: there is no target "targets"; did you mean target?`},
		"unknown target of metrics": {[]v1alpha1.Observation{scraped("targets", "up", "")}, `spec.observe[0].scrape.target: there is no target "targets"; did you mean target?`},
		"equal names":               {[]v1alpha1.Observation{again, again}, `spec.observe[1].name: "cpu" is the name of entry 0 too`},
		"not a URL":                 {[]v1alpha1.Observation{queried("", "prometheus:9090", "up")}, "spec.observe[0].prometheus.url: must begin with http:// or https://"},
		"blank query":               {[]v1alpha1.Observation{queried("", "http://a", " ")}, "spec.observe[0].prometheus.query: must be a query in PromQL"},
		"not a metric":              {[]v1alpha1.Observation{scraped("target", "a-b", "")}, "spec.observe[0].scrape.metric: must be letters, digits, _ and colons, not beginning with a digit"},
		"not a quantile":            {[]v1alpha1.Observation{scraped("target", "a", "99")}, `spec.observe[0].scrape.quantile: must be a number from 0 to 1 in quotes, such as "0.99"`},
		"unknown unit":              {[]v1alpha1.Observation{{Name: "cpu", Unit: "Millicores", Prometheus: again.Prometheus}}, "spec.observe[0].unit: must be one of Cores, Bytes, BytesPerSecond, PerSecond, Count, Seconds, Percent"},
	} {
		lt := builder.Sessions("test", "http://target.example").Edit(observing(tc.observe...)).Build()
		_, _, errs := compile.Compile("default/test", &lt.Spec)
		if diff := cmp.Diff([]string{tc.want}, compile.ErrorLines(errs)); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", name, diff)
		}
	}
}
