package compile

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestIntegers: ratios are exact where the limit allows, and near it otherwise; nothing is zero.
func TestIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int64{1 << 48, 1_000_000, 1000} {
		for range 300 {
			shares := make([]*big.Rat, 1+r.IntN(64))
			for i := range shares {
				shares[i] = big.NewRat(1+r.Int64N(10_000), 1+r.Int64N(256))
			}
			got := integers(shares, limit)
			for i := range got {
				if got[i] < 1 || got[i] > limit {
					t.Fatalf("weight %d with the limit %d", got[i], limit)
				}
				// |got[i]/got[0] - shares[i]/shares[0]|, in units of what half an integer makes of each
				want := new(big.Rat).Mul(big.NewRat(got[0], 1), new(big.Rat).Quo(shares[i], shares[0]))
				off, _ := new(big.Rat).Sub(want, big.NewRat(got[i], 1)).Float64()
				ratio, _ := new(big.Rat).Quo(shares[i], shares[0]).Float64()
				if got[i] > 1 && got[0] > 1 && max(off, -off) > 0.5+0.5*ratio+1e-9 {
					t.Fatalf("weights %d and %d for %v and %v", got[0], got[i], shares[0], shares[i])
				}
			}
		}
	}
}
