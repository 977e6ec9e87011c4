package failure

import (
	"cmp"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Counts counts by failure, at most rv.MaxFailures different ones. Counting allocates only for a failure
// that is new. The zero value is empty.
type Counts struct {
	counts map[rv.Failure]*int64
}

// Add counts one.
func (f *Counts) Add(what rv.Failure) { f.AddMany(what, 1) }

// AddAll adds counts of another table.
func (f *Counts) AddAll(from []rv.FailureCount) {
	for _, c := range from {
		f.AddMany(c.Failure, c.Count)
	}
}

// AddMany counts several equal failures. It counts a failure that is new to a full table by what failed alone, so that
// the sums stay right.
func (f *Counts) AddMany(what rv.Failure, by int64) {
	if c, ok := f.counts[what]; ok {
		*c += by
		return
	}
	if len(f.counts) >= rv.MaxFailures {
		what = rv.Failure{Of: what.Of, Cause: rv.CauseOther}
		if c, ok := f.counts[what]; ok {
			*c += by
			return
		}
	}
	if f.counts == nil {
		f.counts = map[rv.Failure]*int64{}
	}
	c := new(int64)
	*c = by
	f.counts[what] = c
}

// List returns what is above zero in a fixed order, or nil.
func (f *Counts) List() []rv.FailureCount {
	var out []rv.FailureCount
	for what, c := range f.counts {
		if *c > 0 {
			out = append(out, rv.FailureCount{Failure: what, Count: *c})
		}
	}
	slices.SortFunc(out, func(a, b rv.FailureCount) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause),
			cmp.Compare(a.Detail, b.Detail), cmp.Compare(a.Address, b.Address))
	})
	return out
}

// FoldInto adds everything to total and sets the counts to zero; the failures stay.
func (f *Counts) FoldInto(total *Counts) {
	for what, c := range f.counts {
		if *c > 0 {
			total.AddMany(what, *c)
			*c = 0
		}
	}
}
