package runner

import (
	"math"
	"sync/atomic"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// lease is how long the runner may send requests. The zero lease has no end. Renew and begin are called with
// Runner.mu held; workers read until in each turn.
type lease struct {
	// until is when the lease ends, in rv.Clock. Zero: the runner has no lease.
	until atomic.Int64
	// term is the highest term so far.
	term int64
}

// renew extends a lease that has begun.
func (l *lease) renew(to rv.Lease) {
	if to.Term < l.term {
		return
	}
	l.term = to.Term
	if now := l.until.Load(); now != 0 {
		l.until.Store(max(now, to.Until))
	}
}

// begin sets the first lease.
func (l *lease) begin(to rv.Lease) {
	l.term = max(l.term, to.Term)
	l.until.Store(to.Until)
}

// end returns when the lease ends: math.MaxInt64 if the runner has no lease.
func (l *lease) end() int64 {
	if until := l.until.Load(); until != 0 {
		return until
	}
	return math.MaxInt64
}

// Renew renews the lease of the runner. It has no effect before the start, and for a runner without a lease.
func (r *Runner) Renew(to rv.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease.renew(to)
}
