package runner

import (
	"math"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestLease(t *testing.T) {
	for name, tc := range map[string]struct {
		begin, renew rv.Lease
		want         int64
	}{
		"none":                    {want: math.MaxInt64},
		"none is never renewed":   {renew: rv.Lease{Until: 5}, want: math.MaxInt64},
		"first":                   {begin: rv.Lease{Until: 5}, want: 5},
		"renewed":                 {begin: rv.Lease{Until: 5}, renew: rv.Lease{Until: 9}, want: 9},
		"never shortened":         {begin: rv.Lease{Until: 9}, renew: rv.Lease{Until: 5}, want: 9},
		"lower term":              {begin: rv.Lease{Until: 5, Term: 2}, renew: rv.Lease{Until: 9, Term: 1}, want: 5},
		"higher term":             {begin: rv.Lease{Until: 5, Term: 2}, renew: rv.Lease{Until: 9, Term: 3}, want: 9},
		"term without an instant": {begin: rv.Lease{Until: 5, Term: 2}, renew: rv.Lease{Term: 3}, want: 5},
	} {
		var l lease
		l.begin(tc.begin)
		l.renew(tc.renew)
		if got := l.end(); got != tc.want {
			t.Errorf("%s: ends at %d, want %d", name, got, tc.want)
		}
	}
}

// TestOldTerm: a renewal of a former operator has no effect after a renewal of a newer one.
func TestOldTerm(t *testing.T) {
	var l lease
	l.begin(rv.Lease{Until: 5, Term: 1})
	l.renew(rv.Lease{Term: 2})
	l.renew(rv.Lease{Until: 9, Term: 1})
	if l.end() != 5 || l.term != 2 {
		t.Errorf("ends at %d in term %d, want 5 in term 2", l.end(), l.term)
	}
}
