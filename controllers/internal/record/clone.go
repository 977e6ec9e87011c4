package record

import (
	"maps"
	"slices"
)

// clone returns a copy to decide in. It shares what a decision replaces and never changes, such as the start.
func (r *Record) clone() *Record {
	out := *r
	out.Changes, out.Edits = slices.Clone(r.Changes), slices.Clone(r.Edits)
	out.Shards, out.Thresholds = slices.Clone(r.Shards), slices.Clone(r.Thresholds)
	out.Pods = maps.Clone(r.Pods)
	if r.Search != nil {
		out.Search = &Search{Probes: slices.Clone(r.Search.Probes), Begun: r.Search.Begun}
	}
	return &out
}
