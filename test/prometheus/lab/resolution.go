package lab

import (
	"math"
	"slices"
)

// classicBounds are in seconds.
var classicBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Ours is the resolution of the report's own histogram.
const Ours = 0.001

// bucket has the bounds of the bucket that a value in seconds is in.
func bucket(native bool, v float64) (low, high float64) {
	if native {
		i := math.Ceil(math.Log2(v) * 8)
		return math.Exp2((i - 1) / 8), math.Exp2(i / 8)
	}
	i, _ := slices.BinarySearch(classicBounds, v)
	if i > 0 {
		low = classicBounds[i-1]
	}
	return low, classicBounds[min(i, len(classicBounds)-1)]
}

// Agree is true when the value that Prometheus has computed, of native or of classic buckets, is in the bucket of the
// report's, in seconds, which is at most Ours too high.
func Agree(native bool, got, report float64) bool { return AgreeBetween(native, got, report, report) }

// AgreeBetween is the same for a report's value that is known to lie between two.
func AgreeBetween(native bool, got, least, most float64) bool {
	low, _ := bucket(native, least*(1-Ours))
	_, high := bucket(native, most)
	return got >= low*(1-Ours) && got <= high*(1+Ours)
}
