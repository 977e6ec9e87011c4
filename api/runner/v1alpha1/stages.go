package v1alpha1

import "slices"

// MaxStageFigures is the number of measured stages that have figures of their own. Each costs every worker a
// distribution.
const MaxStageFigures = 32

// Results of StageSelections that are not an index.
const (
	// FiguresOfRun: the stage is the only measured one, so that its figures are those of the run.
	FiguresOfRun = -1
	// FiguresNone: the stage has no figures. It is a warm-up stage, a stage of a search, whose probes have figures, or
	// above MaxStageFigures.
	FiguresNone = -2
)

// StageSelections returns the selections that runners report so that each measured stage has figures, and for each
// stage of the plan the index of its selection in a list of Selections followed by these. A stage that a threshold
// selects has no other selection, and neither has the only measured stage, so that a worker records no time twice.
// Snapshot.StageSelections has the same order.
func (p *Plan) StageSelections() (own []Selection, of []int) {
	of = make([]int, len(p.Rates))
	for i := range of {
		of[i] = FiguresNone
	}
	measured := p.stagesWithFigures()
	if len(measured) == 1 {
		of[measured[0]] = FiguresOfRun
		return nil, of
	}
	selections, _ := p.Selections()
	for _, i := range measured[:min(len(measured), MaxStageFigures)] {
		s := Selection{Selector: Selector{Stage: p.Rates[i].Name}, Time: MetricResponseTime}
		if of[i] = slices.Index(selections, s); of[i] < 0 {
			of[i], own = len(selections)+len(own), append(own, s)
		}
	}
	return own, of
}

// stagesWithFigures returns the indices of the measured stages. A search has none: it compares the snapshots before and
// after each probe.
func (p *Plan) stagesWithFigures() (out []int) {
	if p.Search != nil {
		return nil
	}
	for i := range p.Rates {
		if !p.Rates[i].WarmUp {
			out = append(out, i)
		}
	}
	return out
}

// AsksForRate reports whether a measured stage has a rate, or a threshold is on the rate. Otherwise the generator is
// never the bottleneck of the test.
func (p *Plan) AsksForRate() bool {
	return slices.ContainsFunc(p.Rates, func(r Rate) bool { return !r.WarmUp && !r.ClosedLoop }) ||
		slices.ContainsFunc(p.Thresholds, func(t Threshold) bool { return t.Metric == MetricRate }) ||
		slices.ContainsFunc(p.Baselines, func(b Baseline) bool { return b.Metric == MetricRate })
}
