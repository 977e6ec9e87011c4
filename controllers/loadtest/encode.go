package loadtest

import (
	"fmt"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
)

// fit encodes a report in at most limit bytes, removing details in order until it fits. It returns the names of those.
func fit(r runnerv1alpha1.Report, limit int) (gz []byte, dropped []string, err error) {
	for i := 0; ; i++ {
		if gz, err = checkpoint.Compress(r); err != nil {
			return nil, nil, fmt.Errorf("encoding a %T: %w", r, err)
		}
		if len(gz) <= limit {
			return gz, dropped, nil
		}
		if i == len(reportDetails) {
			return nil, nil, fmt.Errorf("it has %d bytes without its details; report.maxBytes of the operator allows %d",
				len(gz), limit)
		}
		reportDetails[i].remove(&r)
		dropped = append(dropped, reportDetails[i].name)
	}
}

// reportDetails are the details that can be removed, in this order. remove replaces slices and does not change their
// elements, which copies of the report share.
var reportDetails = []struct {
	name   string
	remove func(*runnerv1alpha1.Report)
}{
	{"windows.histogram", removeWindowHistograms},
	{"histograms", func(r *runnerv1alpha1.Report) { r.Histograms = nil }},
	{"windows", func(r *runnerv1alpha1.Report) { r.Windows, r.WindowsFrom = nil, 0 }},
	{"shards", func(r *runnerv1alpha1.Report) { r.Shards = nil }},
	{"targets", func(r *runnerv1alpha1.Report) { r.Targets = nil }},
	{"steps", func(r *runnerv1alpha1.Report) { r.Steps = nil }},
	{"observations.points", removePoints},
	{"samples", func(r *runnerv1alpha1.Report) { r.Samples, r.Slowest = nil, nil }},
	{"operations", func(r *runnerv1alpha1.Report) { r.Operations = nil }},
	{"generator.cpus", func(r *runnerv1alpha1.Report) { r.Generator.CPUs = nil }},
	{"causes", func(r *runnerv1alpha1.Report) { r.Causes, r.Failures = nil, nil }},
}

func removeWindowHistograms(r *runnerv1alpha1.Report) {
	r.Windows = slices.Clone(r.Windows)
	for i := range r.Windows {
		r.Windows[i].Histogram = runnerv1alpha1.Histogram{}
	}
}

func removePoints(r *runnerv1alpha1.Report) {
	r.Observations = slices.Clone(r.Observations)
	for i := range r.Observations {
		series := slices.Clone(r.Observations[i].Series)
		for k := range series {
			series[k].Points = nil
		}
		r.Observations[i].Series = series
	}
}
