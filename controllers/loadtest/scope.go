package loadtest

import (
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/storage"
)

// scope is what one pass knows: the facts, and what only this package needs.
type scope struct {
	*run.Facts
	// configMaps are those that the run owns.
	configMaps []child
	// canonical are the canonical bytes of a plan that was compiled now.
	canonical []byte
	// upload is the state of the upload of the report, as this process knows it.
	upload storage.State
}
