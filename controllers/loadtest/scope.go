package loadtest

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// scope is what one pass knows: the facts, and what only this package needs.
type scope struct {
	*run.Facts
	// configMaps are those that the run owns.
	configMaps []child
	// canonical are the canonical bytes of a plan that was compiled now, warnings are those of its compilation.
	canonical []byte
	warnings  string
	// notApplied is why rates or shards of the spec have no effect on the run; empty: they have.
	notApplied string
	// chains are the counters of the plan's chains, in its order.
	chains []runnerv1alpha1.ChainCounters
	// errorsSoFar is the error rate without the requests in flight.
	errorsSoFar float64
	// failing says how often, and why, passes fail; empty: they do not.
	failing string
	// edited is true if the spec changed after the end.
	edited bool
}
