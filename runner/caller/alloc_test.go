//go:build !race

package caller

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestCheckAllocations: a token that is known costs no allocation.
func TestCheckAllocations(t *testing.T) {
	c := checkerOf(t, rv.TokenCheck{Algorithm: rv.TokenHS256}, []byte(secret))
	r := request("Bearer " + newToken(t, `{"alg":"HS256"}`, `{"exp":1800000000}`, hs256))
	if n := testing.AllocsPerRun(100, func() { c.Check(true, r, now) }); n != 0 {
		t.Errorf("%v allocations for a token that is known", n)
	}
}
