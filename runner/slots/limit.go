package slots

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/pace"
)

// Limiter holds requests back that are above the worker's share of the plan's request limit. A request with a due time
// takes its token when it is sent, or is dropped: if it waited, its response time would have the wait. Other requests
// take it before they are made.
type Limiter struct {
	bucket pace.Bucket
	// total is the limit of the whole test in requests per second; zero: no limit.
	total float64
	// sleep is the shortest wait for a token.
	sleep int64
	// wakeAt is when the bucket has a token for the requests that wait, valid in this turn; never: none waits. waited is
	// true if some waited in the turn before.
	wakeAt int64
	waited bool
	held   rv.Limited
}

// NewLimiter returns a limiter of a number of requests per second, 0: no limit. The shortest wait for a token is sleep.
func NewLimiter(total int64, sleep time.Duration) Limiter {
	l := Limiter{total: float64(total), wakeAt: never, sleep: int64(sleep)}
	l.Begin(1, 0)
	return l
}

// Begin gives the worker a portion of the limit for setup, the load or teardown, with a full bucket. Setup and teardown
// have all of the limit, because one worker runs them and no other one sends.
func (l *Limiter) Begin(portion float64, now int64) {
	l.bucket = pace.Bucket{}
	l.Share(portion, now)
}

// Share gives the worker another portion of the limit.
func (l *Limiter) Share(portion float64, now int64) {
	if l.total > 0 {
		l.bucket.SetRate(l.total*portion, now)
	}
}

// BeginTurn forgets which requests wait.
func (l *Limiter) BeginTurn() { l.waited, l.wakeAt = l.wakeAt != never, never }

// Ready returns whether a request without a due time may be made. If not, NextToken returns when.
func (l *Limiter) Ready(now int64) bool {
	if l.total == 0 {
		return true
	}
	next := l.bucket.Next(now)
	if next > now {
		l.wakeAt = max(next, now+l.sleep)
		return false
	}
	return true
}

// Admit takes the token of a request that is made after Ready. It returns whether it has taken one, and whether
// requests have waited.
func (l *Limiter) Admit(now int64) (admitted, waited bool) {
	if l.total == 0 {
		return false, false
	}
	if l.waited {
		l.held.Waited++
	}
	return l.bucket.Take(now), l.waited
}

// Allows returns whether a request may be sent now. One that the peer has given back is sent again without a token, and
// the next ones wait for it.
func (l *Limiter) Allows(admitted, retried bool, now int64) bool {
	switch {
	case l.total == 0:
		return true
	case retried:
		l.bucket.Owe(now)
		return true
	case admitted || l.bucket.Take(now):
		return true
	}
	l.held.Dropped++
	return false
}

// NextToken returns when the bucket has a token for the requests that wait, never: none waits.
func (l *Limiter) NextToken() int64 { return l.wakeAt }

// HasWaited returns whether requests waited in the turn before.
func (l *Limiter) HasWaited() bool { return l.waited }

// Held returns what the limit held back.
func (l *Limiter) Held() rv.Limited { return l.held }

// Lift ends the limit.
func (l *Limiter) Lift() { *l = Limiter{wakeAt: never, held: l.held} }
