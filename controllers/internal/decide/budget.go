package decide

import (
	"slices"

	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Protected returns how many runners have a share of the load, or had one and their counts are not stored.
func Protected(f *run.Facts) int {
	n := 0
	for i := range f.View.Shards {
		sh := &f.View.Shards[i]
		if sh.Lost == nil && !f.IsRecorded(i, sh.Pod.UID) && (sh.Member || slices.Contains(f.View.Members, i)) {
			n++
		}
	}
	return n
}
