package build

import runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"

// StepEvent is how reports and metrics show a count of runnerv1alpha1.StepEvents.
type StepEvent struct {
	// Text is its row in tables.
	Text string
	// Metric is a part of the name of the runners' metric, and Help its description.
	Metric, Help string
}

// StepEvents are by the names of the counts in JSON.
var StepEvents = map[string]StepEvent{
	"retries": {"retries after a failure", "retries",
		"Requests of measured stages that a step sent again after a failure."},
	"redirects": {"redirects", "redirects",
		"Requests of measured stages that a step sent because a response redirected it."},
	"overloadControl": {"responses with 3gpp-Sbi-Oci", "overload_control",
		"Responses with overload control information (3gpp-Sbi-Oci) of targets with sbi."},
	"loadControl": {"responses with 3gpp-Sbi-Lci", "load_control",
		"Responses with load control information (3gpp-Sbi-Lci) of targets with sbi."},
	"responsesTruncated": {"responses with a truncated body", "responses_truncated",
		"Responses of measured stages whose body was larger than what the runner keeps for checks, captures and scripts."},
}

// TotalEvents adds up the events of all steps.
func TotalEvents(r *runnerv1alpha1.Report) (total runnerv1alpha1.StepEvents) {
	for i := range r.Steps {
		total.Add(&r.Steps[i].StepEvents, 1)
	}
	return total
}
