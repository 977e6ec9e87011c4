package loadtest

import (
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// scope is what one pass knows: the facts, and what only this package needs.
type scope struct {
	*run.Facts
	// configMaps are those that the run owns.
	configMaps []child
	// canonical are the canonical bytes of a plan that was compiled now.
	canonical []byte
}
