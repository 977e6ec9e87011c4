package build

import runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"

// addSnapshot adds the counts of a snapshot to those of another one if sign is 1. If sign is -1, it subtracts them.
// It leaves out distributions and failures, and changes the lists and maps of to.
func addSnapshot(to, from *runnerv1alpha1.Snapshot, sign int64) {
	to.Counters.Add(&from.Counters, sign)
	addCounts(&to.StatusCodes, from.StatusCodes, sign)
	addCounts(&to.Causes, from.Causes, sign)
	for i := range min(len(to.Steps), len(from.Steps)) {
		addStep(&to.Steps[i], &from.Steps[i], sign)
	}
	for i := range min(len(to.Chains), len(from.Chains)) {
		addChain(&to.Chains[i], &from.Chains[i], sign)
	}
	for i := range min(len(to.Selections), len(from.Selections)) {
		to.Selections[i].Add(&from.Selections[i].SelectionCounts, sign)
	}
	for i := range min(len(to.StageSelections), len(from.StageSelections)) {
		to.StageSelections[i].Add(&from.StageSelections[i].SelectionCounts, sign)
	}
	for i := range min(len(to.Listeners), len(from.Listeners)) {
		to.Listeners[i].Add(&from.Listeners[i].ListenerCounts, sign)
		addCounts(&to.Listeners[i].FailedBy, from.Listeners[i].FailedBy, sign)
		addCounts(&to.Listeners[i].ByRule, from.Listeners[i].ByRule, sign)
	}
	for i := range min(len(to.Authorizations), len(from.Authorizations)) {
		to.Authorizations[i].Add(&from.Authorizations[i], sign)
	}
	addHealth(to, from, sign)
}

func addStep(to, from *runnerv1alpha1.StepCounters, sign int64) {
	to.Outcomes.Add(&from.Outcomes, sign)
	to.StepEvents.Add(&from.StepEvents, sign)
	addCounts(&to.FailedBy, from.FailedBy, sign)
	addCounts(&to.StatusCodes, from.StatusCodes, sign)
	addCounts(&to.Problems, from.Problems, sign)
	to.OccupiedMicroseconds += sign * from.OccupiedMicroseconds
	for i, n := range from.StatusClasses {
		to.StatusClasses[i] += sign * n
	}
}

func addChain(to, from *runnerv1alpha1.ChainCounters, sign int64) {
	to.Started += sign * from.Started
	to.Completed += sign * from.Completed
	to.Aborted += sign * from.Aborted
	to.Unfinished += sign * from.Unfinished
	addCounts(&to.AbortedBy, from.AbortedBy, sign)
	to.AlwaysCounts.Add(from.AlwaysCounts, sign)
}

// addHealth adds what runners held back, and the counts of their health.
func addHealth(to, from *runnerv1alpha1.Snapshot, sign int64) {
	to.LeaseGaps.Count += sign * from.LeaseGaps.Count
	to.LeaseGaps.Nanoseconds += sign * from.LeaseGaps.Nanoseconds
	to.LeaseGaps.Dropped += sign * from.LeaseGaps.Dropped
	to.Limited.Dropped += sign * from.Limited.Dropped
	to.Limited.Waited += sign * from.Limited.Waited
	a, b := &to.Generator, &from.Generator
	a.CPUSeconds += float64(sign) * b.CPUSeconds
	a.ThrottledMicroseconds += sign * b.ThrottledMicroseconds
	a.GCPauseMicroseconds += sign * b.GCPauseMicroseconds
	a.BatchedNanoseconds += sign * b.BatchedNanoseconds
	a.Naps += sign * b.Naps
	a.NapNanoseconds += sign * b.NapNanoseconds
}

// addCounts adds counts by name, each multiplied by sign. It removes those that become zero.
func addCounts(to *map[string]int64, from map[string]int64, sign int64) {
	for name, n := range from {
		addTo(to, name, sign*n)
		if (*to)[name] == 0 {
			delete(*to, name)
		}
	}
}
