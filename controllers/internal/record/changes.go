package record

import (
	"encoding/json"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// MaxChanges bounds Record.Changes, and MaxBytes the JSON of Changes, Shards and Edits. The rest of the 1.5 MiB that
// etcd takes is for the pods and for Stop and End, which must always fit. A full record takes no more changes of rates,
// of shards or of spec.suspend.
const (
	MaxChanges = 512
	MaxBytes   = 400 << 10
)

// Newest returns the last change; nil: there is none.
func (r *Record) Newest() *Change {
	if len(r.Changes) == 0 {
		return nil
	}
	return &r.Changes[len(r.Changes)-1]
}

// Append adds a change behind the others and removes those that no runner needs any more.
func (r *Record) Append(c Change) {
	if newest := r.Newest(); newest != nil && (c.Rates == nil || slices.Equal(c.Rates, r.ratesBefore(len(r.Changes)))) {
		c.Rates = nil
	}
	r.Changes = append(r.Changes, c)
	r.compress()
}

// Accepted marks the changes up to a revision, which all runners have.
func (r *Record) Accepted(revision int64) {
	for i := range r.Changes {
		r.Changes[i].Applied = r.Changes[i].Applied || r.Changes[i].Revision <= revision
	}
}

// Full returns whether the record takes no more changes of a user.
func (r *Record) Full() bool { return len(r.Changes) >= MaxChanges || r.growing() >= MaxBytes }

// growing returns the length of what grows with the changes and the runners of a run.
func (r *Record) growing() int {
	raw, err := json.Marshal(Record{Changes: r.Changes, Shards: r.Shards, Edits: r.Edits})
	if err != nil {
		return MaxBytes // no such record can be stored
	}
	return len(raw)
}

// compress removes changes that all runners have and that changed only members, the oldest first. A runner that joins
// later needs the rates and the pauses to compute its slots, and only the last members.
func (r *Record) compress() {
	for i := 1; i < len(r.Changes)-1 && len(r.Changes) >= MaxChanges; {
		c, before := &r.Changes[i], &r.Changes[i-1]
		if c.At != 0 && c.Rates == nil && c.Suspended == before.Suspended && c.Applied && r.Changes[i+1].Applied {
			r.Changes = slices.Delete(r.Changes, i, i+1)
			continue
		}
		i++
	}
}

// ratesBefore returns the rates of the last change before index i that has any.
func (r *Record) ratesBefore(i int) []Rate {
	for k := i - 1; k >= 0; k-- {
		if r.Changes[k].Rates != nil {
			return r.Changes[k].Rates
		}
	}
	return nil
}

// RatesChanged returns whether runners of a plan sent at other rates than its own. The probes of a search belong to the
// plan. If a stage ends by requests, a change after the last stage counts, too: the record does not have its end.
func (r *Record) RatesChanged(p *runnerv1alpha1.Plan) bool {
	end, known := r.LastDue(p)
	planned := RatesOf(p.Rates)
	rates := planned
	for i := range r.Changes {
		c := &r.Changes[i]
		if c.Rates != nil {
			rates = c.Rates
		}
		if sends := !c.Suspended && (!known || c.At < int64(end)); sends && !slices.Equal(rates, planned) {
			return p.Search == nil
		}
	}
	return false
}

// Updates returns the changes as the runners get them, but for their shares. stages are those of the plan.
func (r *Record) Updates(stages []runnerv1alpha1.Rate) []runnerv1alpha1.Update {
	var out []runnerv1alpha1.Update
	var rates []runnerv1alpha1.Rate
	for i := range r.Changes {
		c := &r.Changes[i]
		if c.Rates != nil {
			rates = Apply(c.Rates, stages)
		}
		out = append(out, runnerv1alpha1.Update{
			Revision: c.Revision, Generation: c.Generation, At: c.At, Members: c.Members, Rates: rates, Suspended: c.Suspended,
		})
	}
	return out
}
