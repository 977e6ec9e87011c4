package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/pace"
)

// limiter holds requests back that are above the worker's share of the plan's request limit. A request with a due time takes its token when
// it is sent, or is dropped: if it waited, its response time would have the wait. Other requests take it before they are made.
type limiter struct {
	pace.Bucket
	// total is the limit of the whole test in requests per second; zero: no limit.
	total float64
	// sleep is the shortest wait for a token.
	sleep int64
	// wakeAt is when the bucket has a token for the requests that wait, valid in this turn; never: none waits. waited is true if some waited
	// in the turn before.
	wakeAt int64
	waited bool
	held   rv.Limited
}

func newLimiter(cfg *Config) limiter {
	l := limiter{total: float64(cfg.RequestLimit), wakeAt: never}
	if !cfg.Spin {
		l.sleep = int64(cfg.SleepInterval)
	}
	l.begin(1, 0)
	return l
}

// begin gives the worker a portion of the limit for setup, the load or teardown, with a full bucket. Setup and teardown have all of the limit,
// because one worker runs them and no other one sends.
func (l *limiter) begin(portion float64, now int64) {
	l.Bucket = pace.Bucket{}
	l.share(portion, now)
}

// share gives the worker another portion of the limit.
func (l *limiter) share(portion float64, now int64) {
	if l.total > 0 {
		l.SetRate(l.total*portion, now)
	}
}

// beginTurn forgets which requests wait.
func (l *limiter) beginTurn() { l.waited, l.wakeAt = l.wakeAt != never, never }

// ready returns whether a request without a due time may be made. If not, wakeAt is set.
func (l *limiter) ready(now int64) bool {
	if l.total == 0 {
		return true
	}
	next := l.Next(now)
	if next > now {
		l.wakeAt = max(next, now+l.sleep)
		return false
	}
	return true
}

// admit takes the token of a request that was made after ready.
func (l *limiter) admit(r *book.Request, now int64) {
	if l.total == 0 {
		return
	}
	r.Admit(l.Take(now))
	if l.waited {
		l.held.Waited++
		r.DueNow(now)
	}
}

// allows returns whether a request may be sent now. One that the peer has given back is sent again without a token, and the next ones wait
// for it.
func (l *limiter) allows(r *book.Request, now int64) bool {
	switch {
	case r.Retried:
		l.Owe(now)
		return true
	case r.Admitted || l.Take(now):
		return true
	}
	l.held.Dropped++
	return false
}

// lift ends the limit.
func (l *limiter) lift() { *l = limiter{wakeAt: never, held: l.held} }
