package v1alpha1

import (
	"strconv"
	"time"
)

// Search makes a run find the highest load at which the thresholds pass. Such a run sends probes: a probe is a warm-up
// stage for Settle and then a measured stage for Duration, both at one load. The run is suspended after each probe,
// until the program that merges the snapshots (the operator or the command line) chooses the load of the next one. A
// runner only executes the stages, whose Rate.Hold makes the suspensions.
type Search struct {
	// Concurrency is true if loads are requests in flight in a closed loop, and false if they are requests per second.
	Concurrency bool `json:"concurrency,omitempty"`
	// Start, Min and Max are loads.
	Start int64 `json:"start"`
	Min   int64 `json:"min"`
	Max   int64 `json:"max"`
	// Precision is the maximum of upper / lower - 1, where lower is the highest load that passed and upper the lowest
	// one that did not. Example: 0.03.
	Precision float64 `json:"precision"`
	// MaxProbes is the maximum number of probes.
	MaxProbes int `json:"maxProbes"`
	// Settle is the length of the warm-up stage of a probe, Duration that of its measured stage.
	Settle   time.Duration `json:"settle,omitempty"`
	Duration time.Duration `json:"duration"`
	// FirstStage is the index in Plan.Rates of the first stage of the first probe.
	FirstStage int `json:"firstStage"`
}

// Stages returns the indices of the first and of the measured stage of a probe. They are the same if probes do not
// settle.
func (s *Search) Stages(probe int) (first, measured int) {
	if s.Settle == 0 {
		first = s.FirstStage + probe
		return first, first
	}
	first = s.FirstStage + 2*probe
	return first, first + 1
}

// Probe returns the number of the probe that a stage belongs to, from 1; 0: it belongs to none.
func (s *Search) Probe(stage int) int {
	switch {
	case s == nil || stage < s.FirstStage:
		return 0
	case s.Settle == 0:
		return stage - s.FirstStage + 1
	}
	return (stage-s.FirstStage)/2 + 1
}

// Text returns a load with its unit.
func (s *Search) Text(load int64) string {
	if s.Concurrency {
		return strconv.FormatInt(load, 10) + " requests in flight"
	}
	return strconv.FormatInt(load, 10) + " requests per second"
}

// StopSearched is the reason of the Stop with which a search ends the load. The run is complete then.
const StopSearched = "the search ended"

// ProbeOutcome says what a probe showed.
type ProbeOutcome string

const (
	// ProbeHeld: all thresholds passed.
	ProbeHeld ProbeOutcome = "Held"
	// ProbeFailed: a threshold failed.
	ProbeFailed ProbeOutcome = "Failed"
	// ProbeGeneratorBound: the generator was the bottleneck, so the figures say nothing about the target.
	ProbeGeneratorBound ProbeOutcome = "GeneratorBound"
	// ProbeInvalid: the load changed during the probe, or counts are missing. The search repeats the probe.
	ProbeInvalid ProbeOutcome = "Invalid"
)

// ProbeResult has the figures of one probe. They are without its warm-up stage.
type ProbeResult struct {
	// Load is the load of the probe; see Search.Concurrency.
	Load    int64        `json:"load"`
	Outcome ProbeOutcome `json:"outcome"`
	// Message says why the outcome is not Held.
	Message string `json:"message,omitempty"`
	// Achieved is the rate that was sent, in requests per second.
	Achieved     float64   `json:"achieved"`
	Sent         int64     `json:"sent"`
	Succeeded    int64     `json:"succeeded"`
	Dropped      int64     `json:"dropped"`
	ErrorRate    ErrorRate `json:"errorRate"`
	ResponseTime Times     `json:"responseTime"`
	// Thresholds compares the thresholds with the figures of the probe.
	Thresholds []ThresholdResult `json:"thresholds,omitempty"`
}

// SearchOutcome is the result of a search in one word.
type SearchOutcome string

const (
	// SearchFound: Highest held twice, and a load that is higher by at most the precision failed twice.
	SearchFound SearchOutcome = "Found"
	// SearchMaximumHeld: the maximum of the search held. The target may be able to do more.
	SearchMaximumHeld SearchOutcome = "MaximumHeld"
	// SearchNotFound: no load held, not even the minimum.
	SearchNotFound SearchOutcome = "NotFound"
	// SearchGeneratorBound: the generator was the bottleneck above Highest, so the target may be able to do more. Or the
	// probes contradict each other as with SearchMoved, and the generator was the bottleneck at these loads or a lower
	// one.
	SearchGeneratorBound SearchOutcome = "GeneratorBound"
	// SearchMoved: a load that held failed when it was probed again, or the other way round, and so did a load next to it.
	// The capacity of the target changed during the search, or may have changed if the generator was the bottleneck at a
	// higher load.
	SearchMoved SearchOutcome = "Moved"
	// SearchIncomplete: the run ended, or all probes were used, before there was a result.
	SearchIncomplete SearchOutcome = "Incomplete"
)

// SearchResult is the result of a search.
type SearchResult struct {
	Outcome SearchOutcome `json:"outcome"`
	// Message is a sentence for users.
	Message string `json:"message"`
	// Concurrency is that of Search: the unit of all loads.
	Concurrency bool `json:"concurrency,omitempty"`
	// Highest is the highest load that held. Zero: none held.
	Highest int64 `json:"highest"`
	// Lowest is the lowest load that did not hold. Zero: all held. It is above Highest, unless the probes contradict each
	// other.
	Lowest int64         `json:"lowest"`
	Probes []ProbeResult `json:"probes"`
}
