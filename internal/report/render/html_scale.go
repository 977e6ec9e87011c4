package render

import (
	"math"
	"strconv"
)

// scale maps values to the coordinates of a plot. A logarithmic one has a minimum above zero, and
// shows what is below it at its minimum.
type scale struct {
	log      bool
	min, max float64
	from, to float64 // coordinates of min and max
}

func (s scale) at(v float64) float64 {
	part := (v - s.min) / (s.max - s.min)
	if s.log {
		part = math.Log(max(v, s.min)/s.min) / math.Log(s.max/s.min)
	}
	return s.from + min(max(part, 0), 1)*(s.to-s.from)
}

// linear is a scale from zero to a round value at or above most, and its ticks.
func linear(most float64, count int) (scale, []float64) {
	if !(most > 0) || math.IsInf(most, 0) {
		most = 1
	}
	step := roundStep(most / float64(count))
	var ticks []float64
	for i := 0; ; i++ {
		v := float64(i) * step
		ticks = append(ticks, v)
		if v >= most*(1-1e-9) {
			return scale{max: v}, ticks
		}
	}
}

// roundStep is 1, 2 or 5 times a power of ten, at or above v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// decades bounds a logarithmic axis, and greatest its values.
const decades, greatest = 1e6, 1e18

// logarithmic is a scale from the power of ten at or below least to 1, 2 or 5 times one at or above
// most. Ticks are the powers, and where they are few 2 and 5 times them too.
func logarithmic(least, most float64) (scale, []float64) {
	if !(least > 0) {
		least = 1
	}
	most = min(most, greatest)
	low := math.Pow(10, math.Floor(math.Log10(max(least, most/decades))))
	high := roundStep(max(most, low*2))
	between := high/low < 200
	var ticks []float64
	for power := low; power <= high*1.001; power *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := m * power; v <= high*1.001 && (m == 1 || between) {
				ticks = append(ticks, v)
			}
		}
	}
	return scale{log: true, min: low, max: high}, ticks
}

// span is a scale from zero to exactly most, with ticks at round values.
func span(most float64, count int) (scale, []float64) {
	s, ticks := linear(most, count)
	if most > 0 {
		s.max = most
	}
	for len(ticks) > 1 && ticks[len(ticks)-1] > s.max {
		ticks = ticks[:len(ticks)-1]
	}
	return s, ticks
}

// coordinate has a tenth of a unit: less is not seen.
func coordinate(v float64) string {
	out := strconv.FormatFloat(v, 'f', 1, 64)
	if n := len(out) - 2; out[n:] == ".0" {
		return out[:n]
	}
	return out
}
