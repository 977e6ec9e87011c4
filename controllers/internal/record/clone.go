package record

import "slices"

// clone returns a copy to decide in. It shares what a decision replaces and never changes, such as the start and the
// map of the pods, so a pass that decides nothing costs little in a run of 2000 shards.
func (r *Record) clone() *Record {
	out := *r
	out.Changes, out.Edits = slices.Clone(r.Changes), slices.Clone(r.Edits)
	out.Shards, out.Thresholds = slices.Clone(r.Shards), slices.Clone(r.Thresholds)
	out.Search.Probes = slices.Clone(r.Search.Probes)
	return &out
}
