package build

import (
	"cmp"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// samples are those of all snapshots, within their bounds.
func samples(snapshots []runnerv1alpha1.Snapshot) (out []runnerv1alpha1.Sample) {
	for i := range snapshots {
		out = AddSamples(out, snapshots[i].Samples)
	}
	return out
}

// AddSamples adds samples to others, as far as their bounds allow. A sample whose trace is sampled replaces one of
// the same failure whose trace is not.
func AddSamples(to, from []runnerv1alpha1.Sample) []runnerv1alpha1.Sample {
	for i := range from {
		alike, unsampled := 0, -1
		for k := range to {
			if to[k].IsLike(&from[i]) {
				alike++
				if !to[k].TraceSampled {
					unsampled = k
				}
			}
		}
		switch {
		case alike < runnerv1alpha1.MaxSamplesAlike && len(to) < runnerv1alpha1.MaxSamples:
			to = append(to, from[i])
		case from[i].TraceSampled && unsampled >= 0:
			to[unsampled] = from[i]
		}
	}
	return to
}

// AddSlowest merges two lists of the slowest requests. Requests with the sampled flag are first, because their traces
// can be looked at.
func AddSlowest(to, from []runnerv1alpha1.SlowRequest) []runnerv1alpha1.SlowRequest {
	to = append(to, from...)
	slices.SortStableFunc(to, func(a, b runnerv1alpha1.SlowRequest) int {
		if a.TraceSampled != b.TraceSampled {
			if a.TraceSampled {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.ResponseTime, a.ResponseTime)
	})
	return to[:min(len(to), runnerv1alpha1.MaxSlowest)]
}
