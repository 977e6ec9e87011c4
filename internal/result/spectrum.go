package result

import (
	"cmp"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// spectrum is a distribution as its buckets that are not empty, in ascending order: a second has few
// of them, where a histogram has pages.
type spectrum []bucket

type bucket struct{ highest, count int64 }

// addSince adds what a cumulative histogram has counted beyond an earlier state. One that is no
// later state, as of a process that began again, adds nothing.
func (s *spectrum) addSince(now, base *runnerv1alpha1.Histogram) error {
	later, err := histogram.Decode(*now)
	if err != nil {
		return err
	}
	earlier, err := histogram.Decode(*base)
	if err != nil {
		return err
	}
	if d := later.Since(earlier); d != nil {
		var more spectrum
		d.Each(func(highest, count int64) { more = append(more, bucket{highest, count}) })
		*s = joined(*s, more)
	}
	return nil
}

func joined(a, b spectrum) spectrum {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y bucket) int { return cmp.Compare(x.highest, y.highest) })
	out := all[:1]
	for _, c := range all[1:] {
		if last := &out[len(out)-1]; last.highest == c.highest {
			last.count += c.count
			continue
		}
		out = append(out, c)
	}
	return slices.Clip(out)
}

func (s spectrum) times() runnerv1alpha1.Times {
	var h histogram.H
	for _, c := range s {
		h.RecordN(c.highest, c.count)
	}
	return h.Times()
}
