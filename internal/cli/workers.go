package cli

import (
	"fmt"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// placement says which CPUs make the load.
type placement struct {
	cpus     []int // one for each worker
	warnings []string
}

// place takes as many workers as all shards would have in a cluster, but no more than there are
// CPUs for, and no more than there are connections to a target of requests. Each is pinned to a CPU of its own.
func place(plan *rv.Plan, share *rv.Share, threads int, allowed []int) placement {
	wanted := plan.Shards * max(1, plan.CPUsPerShard)
	if threads > 0 {
		wanted = threads
	}
	n := max(1, min(wanted, len(allowed), split.MaxWorkers(share, plan.SentTo())))
	p := placement{cpus: slices.Clone(allowed[:n])}
	if threads > len(allowed) { // a manifest's shards are meant for more machines than this
		p.warnings = append(p.warnings, fmt.Sprintf("-t: %d CPUs may be used, so there will be %d workers, not %d",
			len(allowed), n, threads))
	}
	return p
}

// divide keeps a CPU for the demo's target: the first, which is where most systems handle
// interrupts. Of a single CPU both have a part, and the target is not pinned.
func divide(allowed []int) (target int, rest []int) {
	if len(allowed) < 2 {
		return -1, allowed
	}
	return allowed[0], allowed[1:]
}
