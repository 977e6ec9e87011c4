package rules

import (
	"math/rand/v2"
	"time"
)

// MaxDelay bounds every delay.
const MaxDelay = time.Hour

// distribution of delays. With the zero value, all delays are zero.
type distribution struct {
	kind distributionKind
	a, b time.Duration
}

type distributionKind uint8

const (
	fixed       distributionKind = iota // a
	uniform                             // from a to b
	exponential                         // mean a, at most b
	normal                              // mean a, standard deviation b
)

func (d distribution) draw(rng *rand.Rand) time.Duration {
	switch d.kind {
	case uniform:
		return d.a + time.Duration(rng.Int64N(int64(d.b-d.a)+1))
	case exponential:
		return min(fromFloat(rng.ExpFloat64()*float64(d.a)), d.b)
	case normal:
		return fromFloat(float64(d.a) + rng.NormFloat64()*float64(d.b))
	}
	return d.a
}

// fromFloat limits a delay to the range from 0 to MaxDelay.
func fromFloat(d float64) time.Duration {
	return time.Duration(min(max(d, 0), float64(MaxDelay)))
}

func (s *source) compileDelay(path string, spec *Delay) distribution {
	if spec == nil {
		return distribution{}
	}
	var d distribution
	n := 0
	set := func(kind distributionKind, a, b Duration) {
		n++
		d = distribution{kind, time.Duration(a), time.Duration(b)}
	}
	if spec.Fixed != nil {
		set(fixed, *spec.Fixed, 0)
		s.checkDelay(path+".fixed", *spec.Fixed)
	}
	if u := spec.Uniform; u != nil {
		var least Duration
		if u.Min != nil {
			least = *u.Min
		}
		s.checkDelay(path+".uniform.min", least)
		s.checkDelay(path+".uniform.max", u.Max)
		if u.Max < least {
			s.add(path+".uniform.max", "is less than min")
		}
		set(uniform, least, u.Max)
	}
	if e := spec.Exponential; e != nil {
		most := Duration(MaxDelay)
		if e.Max != nil {
			most = *e.Max
		}
		s.checkDelay(path+".exponential.mean", e.Mean)
		s.checkDelay(path+".exponential.max", most)
		set(exponential, e.Mean, most)
	}
	if g := spec.Normal; g != nil {
		s.checkDelay(path+".normal.mean", g.Mean)
		s.checkDelay(path+".normal.standardDeviation", g.StandardDeviation)
		set(normal, g.Mean, g.StandardDeviation)
	}
	if n != 1 {
		s.add(path, "must have one of fixed, uniform, exponential and normal; it has %d", n)
	}
	return d
}

func (s *source) checkDelay(path string, d Duration) {
	if d < 0 || time.Duration(d) > MaxDelay {
		s.add(path, "is not between 0s and %v", MaxDelay)
	}
}
