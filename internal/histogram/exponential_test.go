package histogram

import (
	"math"
	"testing"
)

// Each bucket of the exponential histogram is at most a tenth wider than the one before.
func TestExponential(t *testing.T) {
	if factor := math.Exp2(math.Exp2(-ExponentialScale)); factor > 1.1 {
		t.Errorf("buckets grow by %v", factor)
	}
	for us := int64(2); us < 10_000_000; us = us*5/4 + 1 {
		h := New()
		h.Record(us)
		buckets, _ := h.Exponential()
		for i := range buckets {
			low, high := math.Exp2(float64(i-1)/8), math.Exp2(float64(i)/8)
			// A bucket of ours that has a bound of theirs in it counts above: it is 0.1% wide.
			if s := float64(us) / 1e6; s > high || s*1.001 <= low {
				t.Errorf("%v s is in (%v, %v]", s, low, high)
			}
		}
	}
}
