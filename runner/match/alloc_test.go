//go:build !race

package match

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestHoldsAllocatesNothing(t *testing.T) {
	value, want := []byte("18446744073709551615.25"), []byte("18446744073709551615.3e0")
	for _, op := range []rv.MatchOp{
		rv.MatchEquals, rv.MatchStartsWith, rv.MatchEndsWith, rv.MatchContains, rv.MatchExists, rv.MatchLessThan, rv.MatchGreaterThan,
	} {
		in := rv.Match{Op: op, Want: rv.Text{{Literal: "1"}}}
		if op == rv.MatchExists {
			in.Want[0].Literal = "true"
		}
		m, err := New(in)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { m.Holds(value, true, want) }); n != 0 {
			t.Errorf("%s: %v allocations", op, n)
		}
	}
}
