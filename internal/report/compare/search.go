package compare

import (
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// highest adds the highest load that held, if both runs are searches of the same load. A run in which none held did not
// measure it.
func (s *set) highest(a, b *rv.SearchResult) {
	if a == nil || b == nil || a.Concurrency != b.Concurrency {
		return
	}
	f := Figure{Name: "highest rate", Unit: PerSecond, A: highest(a), B: highest(b)}
	if a.Concurrency {
		f.Name, f.Unit = "highest concurrency", Count
	}
	s.add(f, incomparable(a, b) == "", func(a, b float64) (float64, float64) { return a - b, a * s.o.Tolerance })
}

func highest(r *rv.SearchResult) *float64 {
	if r.Highest == 0 {
		return nil
	}
	v := float64(r.Highest)
	return &v
}

// incomparable returns why the highest loads of two runs cannot be compared; "": they can, or no run is a search. A
// search whose maximum held does not say how much more the target can do.
func incomparable(a, b *rv.SearchResult) string {
	switch {
	case a == nil && b == nil:
		return ""
	case b == nil:
		return "only A is a search"
	case a == nil:
		return "only B is a search"
	case a.Concurrency != b.Concurrency:
		return fmt.Sprintf("A searched a %s, and B a %s", load(a), load(b))
	case !ended(a):
		return fmt.Sprintf("the search of A has no result (%s)", a.Outcome)
	case !ended(b):
		return fmt.Sprintf("the search of B has no result (%s)", b.Outcome)
	case a.Highest == 0:
		return "no load held in A"
	case a.Outcome == rv.SearchMaximumHeld && a.Highest < b.Highest:
		return fmt.Sprintf("the maximum of the search of A, %d, is below %d", a.Highest, b.Highest)
	case b.Outcome == rv.SearchMaximumHeld && b.Highest < a.Highest:
		return fmt.Sprintf("the maximum of the search of B, %d, is below %d", b.Highest, a.Highest)
	}
	return ""
}

func ended(r *rv.SearchResult) bool {
	return r.Outcome == rv.SearchFound || r.Outcome == rv.SearchMaximumHeld || r.Outcome == rv.SearchNotFound
}

func load(r *rv.SearchResult) string {
	if r.Concurrency {
		return "concurrency"
	}
	return "rate"
}
