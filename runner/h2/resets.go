package h2

// resetBudget is a token bucket for RST_STREAM: servers since CVE-2023-44487
// close the connection of a client that resets too much. It is kept as the
// instant at which the bucket will be full again, so it needs no upkeep.
type resetBudget struct {
	interval int64 // nanoseconds a token; 0: no bound
	burst    int64 // nanoseconds of a full bucket
	fullAt   int64
}

// newResetBudget makes a full bucket; a negative rate means no bound.
func newResetBudget(perSecond, burst int) resetBudget {
	if perSecond < 0 {
		return resetBudget{}
	}
	interval := int64(1e9) / int64(perSecond)
	return resetBudget{interval: interval, burst: interval * int64(burst), fullAt: -1 << 62}
}

// has reports whether there is a token at the instant now.
func (b *resetBudget) has(now int64) bool {
	return b.interval == 0 || max(b.fullAt, now)+b.interval <= now+b.burst
}

// take takes a token if there is one at the instant now.
func (b *resetBudget) take(now int64) bool {
	if !b.has(now) {
		return false
	}
	b.fullAt = max(b.fullAt, now) + b.interval
	return true
}
