package pace

import "math"

// Bucket is a token bucket: a request takes a token, and tokens come at a rate. It holds the tokens of one second, and
// at least one. The zero Bucket always has tokens.
type Bucket struct {
	limited bool
	rate    float64 // tokens per nanosecond
	tokens  float64
	at      int64 // when tokens was computed
}

// SetRate limits the bucket to a rate, in tokens per second, from an instant on. A bucket that had no limit is full.
func (b *Bucket) SetRate(perSecond float64, now int64) {
	most := max(1, perSecond)
	if b.limited {
		b.fill(now)
		most = min(most, b.tokens)
	}
	*b = Bucket{limited: true, rate: perSecond / 1e9, tokens: most, at: now}
}

// Take takes a token. It returns false if there is none.
func (b *Bucket) Take(now int64) bool {
	if !b.limited {
		return true
	}
	b.fill(now)
	if b.tokens < 1-tolerance {
		return false
	}
	b.tokens--
	return true
}

// Owe takes a token that may come later.
func (b *Bucket) Owe(now int64) {
	if b.limited {
		b.fill(now)
		b.tokens--
	}
}

// tolerance is for the rounding of tokens that came in many small steps.
const tolerance = 1e-6

func (b *Bucket) fill(now int64) {
	b.tokens = min(b.tokens+float64(now-b.at)*b.rate, max(1, b.rate*1e9))
	b.at = now
}

// Next returns when there is a token, if none is taken before; Never: the rate is 0.
func (b *Bucket) Next(now int64) int64 {
	if !b.limited {
		return now
	}
	b.fill(now)
	missing := 1 - b.tokens
	switch {
	case missing <= tolerance:
		return now
	case b.rate == 0:
		return Never
	}
	return now + int64(math.Ceil(missing/b.rate))
}
