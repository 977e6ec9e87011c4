package compile

import (
	"math/big"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/plan"
)

// weights turns the weights of load chains, if they divide up requests, into weights that divide
// up chain instances.
func (c *planner) weights() {
	if c.spec.WeightBy != v1alpha1.WeightByRequests {
		return
	}
	var loads []*rv.Chain
	var shares []*big.Rat
	for i := range c.plan.Chains {
		if chain := &c.plan.Chains[i]; chain.Phase == rv.PhaseLoad && len(c.spec.Chains[i].Rates) == 0 && chain.Weight > 0 &&
			len(chain.Steps) > 0 {
			loads = append(loads, chain)
			shares = append(shares, big.NewRat(int64(chain.Weight), requestsOf(chain)))
		}
	}
	for i, w := range integers(shares, plan.MaxWeight) {
		loads[i].Weight = int(w)
	}
}

// requestsOf is how many requests an instance sends when nothing fails and every condition holds.
func requestsOf(chain *rv.Chain) (n int64) {
	for i := range chain.Steps {
		if chain.Steps[i].Await == nil {
			n += int64(max(chain.Steps[i].Repeat, 1))
		}
	}
	return n
}

// integers are the smallest integers with the ratios of shares, which are positive. Where these
// are above limit, they are the nearest ones with limit as the greatest, and none of them is below 1.
func integers(shares []*big.Rat, limit int64) []int64 {
	scale, common, greatest := big.NewInt(1), new(big.Int), new(big.Rat)
	for _, s := range shares {
		g := new(big.Int).GCD(nil, nil, scale, s.Denom())
		scale.Mul(scale, new(big.Int).Div(s.Denom(), g))
		if s.Cmp(greatest) > 0 {
			greatest = s
		}
	}
	exact := make([]*big.Int, len(shares))
	for i, s := range shares {
		exact[i] = new(big.Int).Mul(s.Num(), new(big.Int).Div(scale, s.Denom()))
		common.GCD(nil, nil, common, exact[i])
	}
	out := make([]int64, len(shares))
	for i, s := range shares {
		if q := new(big.Int).Div(greatestOf(exact), common); q.IsInt64() && q.Int64() <= limit {
			out[i] = new(big.Int).Div(exact[i], common).Int64()
			continue
		}
		part := new(big.Rat).Quo(s, greatest)
		part.Mul(part, new(big.Rat).SetInt64(limit)).Add(part, big.NewRat(1, 2))
		out[i] = max(new(big.Int).Div(part.Num(), part.Denom()).Int64(), 1)
	}
	return out
}

func greatestOf(numbers []*big.Int) *big.Int {
	greatest := new(big.Int)
	for _, n := range numbers {
		if n.Cmp(greatest) > 0 {
			greatest = n
		}
	}
	return greatest
}
