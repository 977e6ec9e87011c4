package render

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// protocolNotes name the http URLs whose servers speak HTTP/1.1, and the URLs over HTTP/3.
func protocolNotes(r *runnerv1alpha1.Report) (out []string) {
	for _, f := range r.Protocols {
		if f.Protocol != runnerv1alpha1.ProtocolHTTP1 && f.Protocol != runnerv1alpha1.ProtocolH3 {
			continue
		}
		note := sentence(f.String())
		other := f
		if other.Protocol = runnerv1alpha1.ProtocolH2C; slices.Contains(r.Protocols, other) {
			note += ", and HTTP/2 to other shards"
		}
		out = append(out, note)
	}
	return out
}
