package compare

import (
	"math"
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// observations adds the figures of each series that both runs have. They are for information, because nothing says
// whether more of them is worse.
func (s *set) observations(a, b *rv.Report) {
	for i := range a.Observations {
		x := &a.Observations[i]
		k := slices.IndexFunc(b.Observations,
			func(o rv.ObservationResult) bool { return o.Name == x.Name && o.Unit == x.Unit })
		if k < 0 {
			continue
		}
		for n := range x.Series {
			of := &x.Series[n]
			if m := slices.IndexFunc(b.Observations[k].Series,
				func(s rv.SeriesResult) bool { return s.Label == of.Label }); m >= 0 {
				s.observed(x, of, &b.Observations[k].Series[m].Figures)
			}
		}
	}
}

func (s *set) observed(o *rv.ObservationResult, a *rv.SeriesResult, b *rv.SeriesFigures) {
	for _, v := range []struct {
		name string
		of   func(*rv.SeriesFigures) float64
	}{
		{"mean", func(f *rv.SeriesFigures) float64 { return f.Mean }},
		{"p95", func(f *rv.SeriesFigures) float64 { return f.P95 }},
		{"max", func(f *rv.SeriesFigures) float64 { return f.Max }},
	} {
		value := func(f *rv.SeriesFigures) float64 {
			if f.Samples == 0 {
				return math.NaN()
			}
			return v.of(f)
		}
		f := Figure{Observation: strings.TrimSuffix(o.Name+" "+a.Label, " "), Name: v.name, Unit: Unit(o.Unit),
			A: known(value(&a.Figures)), B: known(value(b))}
		s.add(f, false, nil)
	}
}
