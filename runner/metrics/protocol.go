package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// collectProtocols has a series for each protocol of a target. The URLs of the target can differ.
func collectProtocols(to chan<- prometheus.Metric, plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
	seen := map[runnerv1alpha1.FoundProtocol]bool{}
	for _, f := range build.Protocols(plan, s) {
		if f.URL = ""; !seen[f] {
			seen[f] = true
			gauge(to, descProtocol, 1, f.Target, string(f.Protocol))
		}
	}
}
