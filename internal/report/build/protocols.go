package build

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// overHTTP3 returns the URLs of the plan that are loaded over HTTP/3, without those that have placeholders.
func overHTTP3(plan *runnerv1alpha1.Plan) (out []runnerv1alpha1.FoundProtocol) {
	for i := range plan.Targets {
		t := &plan.Targets[i]
		for k := range t.Endpoints {
			if e := &t.Endpoints[k]; t.Protocol == runnerv1alpha1.ProtocolH3 && len(e.URL) == 0 {
				out = append(out, runnerv1alpha1.FoundProtocol{Target: t.Name, URL: e.Base(), Protocol: t.Protocol})
			}
		}
	}
	return out
}

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
