package runner

import (
	"fmt"
	"math"
	"reflect"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/loop"
	"github.com/h2surge/h2surge/runner/slots"
)

// Update makes a share, rates and whether the test is suspended take effect. The first update makes the runner
// connect. Before the start, an update with another share makes the runner connect again. Setup that was complete is
// not repeated. After the start, such an update may come after its instant: the runner then sends the slots of its new
// share since that instant.
//
// Updates come in the order of their instants. At zero is at once, but not before the one that came last.
func (r *Runner) Update(u rv.Update) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.share != nil && (u.Leave || reflect.DeepEqual(u.Share, *r.share))
	if u.Revision == r.last.Revision && known {
		return nil
	}
	if err := r.fits(&u, known); err != nil {
		return err
	}
	rates, err := ratesOf(r.plan, &u)
	if err != nil {
		return err
	}
	if u.Leave { // from then on there is no share, whatever the message has
		u.Share = *r.share
	}
	return r.accept(u, known, rates)
}

// fits says why an update cannot follow what was accepted, nil: it can. The caller holds mu.
func (r *Runner) fits(u *rv.Update, known bool) error {
	switch {
	case u.Revision < 1:
		return fmt.Errorf("revision: %d is not positive", u.Revision)
	case u.Revision <= r.last.Revision:
		return fmt.Errorf("revision %d is not newer than %d: %w", u.Revision, r.last.Revision, ErrConflict)
	case u.At < 0:
		return fmt.Errorf("at: %d is negative", u.At)
	case u.At != 0 && r.startAt == 0:
		return fmt.Errorf("at: %d is an offset from the start, which is not known yet: %w", u.At, ErrConflict)
	case u.At != 0 && u.At < r.last.At:
		return fmt.Errorf("at: %d is before %d of revision %d: %w", u.At, r.last.At, r.last.Revision, ErrConflict)
	case u.Leave && r.share == nil:
		return fmt.Errorf("leave: the runner has no share yet: %w", ErrConflict)
	case r.leaving && !known:
		return fmt.Errorf("share: the runner must leave and gets no other share: %w", ErrConflict)
	case r.ctx.Err() != nil:
		return fmt.Errorf("the runner has ended: %w", ErrConflict)
	case u.Leave && reflect.ValueOf(u.Share).IsZero():
		return nil
	}
	if err := checkShare(r.plan, &u.Share); err != nil {
		return fmt.Errorf("share.%w", err)
	}
	return nil
}

// checkShare returns why a share does not fit a plan, or nil.
func checkShare(p *rv.Plan, s *rv.Share) error {
	n := len(p.Targets)
	switch {
	case s.Shards < 1 || s.Shard < 0 || s.Shard >= s.Shards:
		return fmt.Errorf("shard: %d of %d", s.Shard, s.Shards)
	case s.Slots.Of < 1 || len(s.Slots.Residues) > 0 && !split.Valid(s.Slots):
		return fmt.Errorf("slots: residues must be sorted and below %d", s.Slots.Of)
	case len(s.Connections) != n || len(s.FirstConnection) != n:
		return fmt.Errorf("connections: the plan has %d targets", n)
	case len(s.Variables) != len(p.Variables):
		return fmt.Errorf("variables: the plan has %d", len(p.Variables))
	case len(s.MaxInFlight) != 0 && len(s.MaxInFlight) != len(p.Chains):
		return fmt.Errorf("maxInFlight: the plan has %d chains", len(p.Chains))
	}
	for i, c := range s.Connections {
		if c < 1 || s.FirstConnection[i] < 0 {
			return fmt.Errorf("connections[%d]: must be at least 1", i)
		}
	}
	for i, spans := range s.Variables {
		size := p.Variables[i].Size()
		for _, sp := range spans {
			if sp.From < 0 || sp.To > size || sp.From >= sp.To {
				return fmt.Errorf("variables[%d]: [%d, %d) is not within [0, %d)", i, sp.From, sp.To, size)
			}
		}
		if len(spans) == 0 && size > 0 && len(s.Slots.Residues) > 0 {
			return fmt.Errorf("variables[%d]: no values", i)
		}
	}
	return nil
}

// Position returns the revision of the newest change that this runner has accepted, and the time since the start; zero
// or less: the load has not begun.
func (r *Runner) Position() (revision int64, since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.startAt != 0 {
		since = time.Duration(r.opts.Clock() - r.startAt)
	}
	return r.last.Revision, since
}

// accept makes an update take effect. The caller holds mu.
func (r *Runner) accept(u rv.Update, known bool, rates []rv.Rate) error {
	if !known && r.startAt == 0 {
		if err := r.replaceWorkers(&u.Share); err != nil {
			return err
		}
	}
	at := instant(r.startAt, u.At)
	if r.startAt != 0 && u.At == 0 {
		u.At = max(0, r.opts.Clock()-r.startAt, r.last.At)
		at = r.startAt + u.At
	}
	r.share, r.leaving = &u.Share, r.leaving || u.Leave
	r.last = u
	change := slots.Change{At: at, Rates: rates, Suspended: u.Suspended, Leave: u.Leave}
	switch {
	case !known && r.startAt != 0:
		r.workers.share(change, &u.Share)
	case known || len(u.Rates) > 0 || u.Suspended:
		r.workers.do(func(w *loop.Worker) { w.Change(change) })
	}
	return nil
}

// instant returns an offset as a time of the runner's clock. Offset 0 means at once: before the start, such a change is
// active from the start on.
func instant(startAt, offset int64) int64 {
	if offset == 0 {
		return math.MinInt64
	}
	return startAt + offset
}

// ratesOf returns the rates of an update. Only counts, periods and rampFrom may differ from those of the plan.
func ratesOf(p *rv.Plan, u *rv.Update) ([]rv.Rate, error) {
	if len(u.Rates) == 0 {
		return p.Rates, nil
	}
	if err := chain.CheckRates(u.Rates); err != nil {
		return nil, err
	}
	if len(u.Rates) != len(p.Rates) {
		return nil, fmt.Errorf("rates: the plan has %d", len(p.Rates))
	}
	for i := range u.Rates {
		was, is := &p.Rates[i], &u.Rates[i]
		if was.EndsByCount() && is.Count != was.Count {
			return nil, fmt.Errorf("rates[%d]: count must stay %d in a closed loop that ends by requests", i, was.Count)
		}
		if *was != is.WithRateOf(was) {
			return nil, fmt.Errorf("rates[%d]: only count, period and rampFrom may change", i)
		}
	}
	return u.Rates, nil
}

// missed returns the changes, without instants, of a runner that joins a test with a revision.
func missed(p *rv.Plan, updates []rv.Update, revision int64) ([]slots.Change, error) {
	changes, at := make([]slots.Change, len(updates)), int64(0)
	for i := range updates {
		u := &updates[i]
		switch {
		case u.Revision <= revision:
			return nil, fmt.Errorf("changes[%d].revision: %d is not newer than %d", i, u.Revision, revision)
		case u.At < at:
			return nil, fmt.Errorf("changes[%d].at: %d is before %d", i, u.At, at)
		case u.Leave || !reflect.ValueOf(u.Share).IsZero():
			return nil, fmt.Errorf("changes[%d]: share and leave are not allowed", i)
		}
		rates, err := ratesOf(p, u)
		if err != nil {
			return nil, fmt.Errorf("changes[%d].%w", i, err)
		}
		changes[i] = slots.Change{Rates: rates, Suspended: u.Suspended}
		revision, at = u.Revision, u.At
	}
	return changes, nil
}
