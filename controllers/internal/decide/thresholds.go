package decide

import (
	"maps"
	"slices"

	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// thresholds takes over the thresholds on windows that failed, so that they have failed at the end also if another
// operator sees only later windows.
func thresholds(f *run.Facts, next *record.Record) {
	stored := f.Record.Failed()
	for _, name := range slices.Sorted(maps.Keys(f.View.Failed)) {
		if _, known := stored[name]; !known {
			next.Thresholds = append(next.Thresholds, record.ThresholdOf(name, f.View.Failed[name]))
		}
	}
}
