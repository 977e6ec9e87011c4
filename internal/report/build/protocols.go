package build

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Protocols returns what shards found at the http URLs of the plan, in its order. A URL has two entries if shards found
// different protocols there.
func Protocols(plan *runnerv1alpha1.Plan, snapshots ...*runnerv1alpha1.Snapshot) (out []runnerv1alpha1.FoundProtocol) {
	seen := map[runnerv1alpha1.FoundProtocol]bool{}
	for i := range plan.Targets {
		t := &plan.Targets[i]
		if t.Protocol != runnerv1alpha1.ProtocolDiscovered {
			continue
		}
		for k := range t.Endpoints {
			base := t.Endpoints[k].Base()
			for _, s := range snapshots {
				p := s.Found(i, k)
				found := runnerv1alpha1.FoundProtocol{Target: t.Name, URL: base, Protocol: p.Protocol}
				if len(t.Endpoints[k].URL) > 0 {
					found.URL = p.URL
				}
				if p.Protocol != "" && !seen[found] {
					seen[found] = true
					out = append(out, found)
				}
			}
		}
	}
	return out
}
