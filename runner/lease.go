package runner

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/loop"
)

// Renew renews the lease of the runner. It has no effect before the start, and for a runner without a lease.
func (r *Runner) Renew(to rv.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renew(to)
}

// renew ignores a renewal by a former operator. The caller holds mu.
func (r *Runner) renew(to rv.Lease) {
	if to.Term < r.term {
		return
	}
	r.term = to.Term
	if r.lease.Renew(to.Until, r.opts.Clock()) {
		r.workers.do(func(*loop.Worker) {}) // a turn, so that the workers continue at once
	}
}
