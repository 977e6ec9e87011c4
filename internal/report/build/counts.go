package build

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Named is one of several counts.
type Named struct {
	Name  string
	Count int64
}

// MostFrequent sorts counts, the greatest first and equal ones by name, and returns at most limit of
// them.
func MostFrequent(counts map[string]int64, limit int) []Named {
	out := make([]Named, 0, len(counts))
	for name, n := range counts {
		out = append(out, Named{name, n})
	}
	slices.SortFunc(out, func(a, b Named) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return out[:min(limit, len(out))]
}

// Causes makes names that targets have chosen fit to be shown and stored: each is UTF-8 of at most
// MaxCauseLength octets, and all but the MaxCauses most frequent are counted under CauseOther. It
// returns nil for nothing.
func Causes(counts map[string]int64) map[string]int64 {
	const other = runnerv1alpha1.CauseOther
	clean := map[string]int64{}
	for name, n := range counts {
		clean[causeName(name)] += n
	}
	rest, found := clean[other]
	delete(clean, other)
	var out map[string]int64
	for i, c := range MostFrequent(clean, len(clean)) {
		if i >= runnerv1alpha1.MaxCauses {
			rest, found = rest+c.Count, true
			continue
		}
		addTo(&out, c.Name, c.Count)
	}
	if found {
		addTo(&out, other, rest)
	}
	return out
}

func causeName(name string) string {
	return cmp.Or(fitText(name, runnerv1alpha1.MaxCauseLength), runnerv1alpha1.CauseOther)
}

func addTo(to *map[string]int64, name string, n int64) {
	if *to == nil {
		*to = map[string]int64{}
	}
	(*to)[name] += n
}

// sumsTo says whether counts by name, which may be missing as a whole, are all of a total.
func sumsTo(what string, counts map[string]int64, total int64) error {
	if len(counts) == 0 {
		return nil
	}
	var sum int64
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] < 0 {
			return fmt.Errorf("%s %q is %d", what, name, counts[name])
		}
		sum += counts[name]
	}
	return equal(what, sum, total)
}
