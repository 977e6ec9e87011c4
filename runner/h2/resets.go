package h2

// resetBudget is a token bucket for RST_STREAM. Since CVE-2023-44487, servers close
// the connection of a client that resets too many streams. The bucket is stored as
// the time at which it will be full again, so no timer has to fill it. The zero
// value has no bound.
type resetBudget struct {
	interval int64 // nanoseconds a token; 0: no bound
	burst    int64 // nanoseconds of a full bucket
	fullAt   int64
}

// newResetBudget returns a full bucket. A negative rate means no bound.
func newResetBudget(perSecond, burst int) resetBudget {
	if perSecond < 0 {
		return resetBudget{}
	}
	interval := int64(1e9) / int64(perSecond)
	return resetBudget{interval: interval, burst: interval * int64(burst), fullAt: -1 << 62}
}

// has reports that the bucket has a token at the time now.
func (b *resetBudget) has(now int64) bool {
	return b.interval == 0 || max(b.fullAt, now)+b.interval <= now+b.burst
}

// take takes a token, if there is one at the time now.
func (b *resetBudget) take(now int64) bool {
	if !b.has(now) {
		return false
	}
	b.fullAt = max(b.fullAt, now) + b.interval
	return true
}
