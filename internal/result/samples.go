package result

import runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"

// samples are those of all snapshots, within their bounds.
func samples(snapshots []runnerv1alpha1.Snapshot) (out []runnerv1alpha1.Sample) {
	for i := range snapshots {
		out = AddSamples(out, snapshots[i].Samples)
	}
	return out
}

// AddSamples adds samples to others, as far as their bounds allow.
func AddSamples(to, from []runnerv1alpha1.Sample) []runnerv1alpha1.Sample {
	for i := range from {
		alike := 0
		for k := range to {
			if to[k].IsLike(&from[i]) {
				alike++
			}
		}
		if alike < runnerv1alpha1.MaxSamplesAlike && len(to) < runnerv1alpha1.MaxSamples {
			to = append(to, from[i])
		}
	}
	return to
}
