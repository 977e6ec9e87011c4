package status

import (
	"fmt"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Bounds of status.protocols. The names of targets have theirs in the spec.
const (
	maxProtocols = 32
	maxProtocol  = 16
	maxFoundURL  = 512
)

// protocols returns what the runners found at http URLs, first those at which shards found different protocols.
func protocols(plan *runnerv1alpha1.Plan, view *shards.View) []v1alpha1.FoundProtocol {
	var snapshots []*runnerv1alpha1.Snapshot
	for i := range view.Shards {
		if snap := view.Shards[i].Snapshot; snap != nil && len(snap.Protocols) > 0 {
			snapshots = append(snapshots, snap)
		}
	}
	if plan == nil || len(snapshots) == 0 {
		return nil
	}
	var out []v1alpha1.FoundProtocol
	for _, f := range build.Protocols(plan, snapshots...) {
		out = append(out, v1alpha1.FoundProtocol{Target: f.Target, URL: shorten.To(f.URL, maxFoundURL),
			Protocol: shorten.To(string(f.Protocol), maxProtocol)})
	}
	at := byURL(out)
	slices.SortStableFunc(out, func(a, b v1alpha1.FoundProtocol) int { return len(at[urlOf(b)]) - len(at[urlOf(a)]) })
	return out[:min(len(out), maxProtocols)]
}

// urlOf returns where something was found.
func urlOf(f v1alpha1.FoundProtocol) v1alpha1.FoundProtocol {
	return v1alpha1.FoundProtocol{Target: f.Target, URL: f.URL}
}

// byURL returns the protocols that were found at each URL.
func byURL(all []v1alpha1.FoundProtocol) map[v1alpha1.FoundProtocol][]string {
	out := map[v1alpha1.FoundProtocol][]string{}
	for _, f := range all {
		out[urlOf(f)] = append(out[urlOf(f)], f.Protocol)
	}
	return out
}

// protocolsDiffer names the first URL at which shards found different protocols; empty: there is none.
func protocolsDiffer(st *v1alpha1.LoadTestStatus) string {
	at := byURL(st.Protocols)
	for _, f := range st.Protocols {
		if found := at[urlOf(f)]; len(found) > 1 {
			return fmt.Sprintf("shards found %s at %s of target %s, so their results are not comparable; set protocol of the target to use one",
				strings.Join(found, " and "), f.URL, f.Target)
		}
	}
	return ""
}
