package pace

import (
	"testing"
	"time"
)

const bucketSecond = int64(time.Second)

// takes tries to take a token at each multiple of a step before an end, and returns how many it got.
func takes(b *Bucket, from, end, step int64) (n int) {
	for at := from; at < end; at += step {
		if b.Take(at) {
			n++
		}
	}
	return n
}

func TestBucket(t *testing.T) {
	for name, tt := range map[string]struct {
		rate float64 // tokens per second; negative: no limit
		step time.Duration
		want int // in 10 s
	}{
		"no limit":               {rate: -1, step: time.Millisecond, want: 10_000},
		"below the rate":         {rate: 500, step: 10 * time.Millisecond, want: 1000},
		"at the rate":            {rate: 1000, step: time.Millisecond, want: 10_000},
		"at a rate of thirds":    {rate: 10.0 / 3, step: 300 * time.Millisecond, want: 34},
		"above the rate":         {rate: 500, step: time.Millisecond, want: 500 + 500*10 - 1}, // a full bucket, and what comes before the last attempt
		"less than one a second": {rate: 0.25, step: time.Millisecond, want: 1 + 2},
		"rate 0":                 {rate: 0, step: time.Millisecond, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var b Bucket
			if tt.rate >= 0 {
				b.SetRate(tt.rate, 0)
			}
			if got := takes(&b, 0, 10*bucketSecond, int64(tt.step)); got != tt.want {
				t.Errorf("took %d, want %d", got, tt.want)
			}
		})
	}
}

// A lower rate takes tokens away, a higher one gives none at once.
func TestBucketChangesItsRate(t *testing.T) {
	var b Bucket
	b.SetRate(1000, 0)
	b.SetRate(10, 0)
	if got := takes(&b, 0, 1000, 1); got != 10 {
		t.Errorf("after a lower rate: took %d, want 10", got)
	}
	b.SetRate(1000, 1000)
	if got := takes(&b, 1000, 2000, 1); got != 0 {
		t.Errorf("after a higher rate: took %d, want 0", got)
	}
	if got := takes(&b, 2000, bucketSecond+2001, bucketSecond/4000); got != 1000 {
		t.Errorf("a second later: took %d, want 1000", got)
	}
}

// There is a token at the instant of Next, and none well before.
func TestBucketNext(t *testing.T) {
	for _, rate := range []float64{0.3, 1, 7, 333, 1e6} {
		var b Bucket
		b.SetRate(rate, 0)
		now := int64(0)
		for range 20 {
			for b.Take(now) {
			}
			next := b.Next(now)
			if early, at := b, next-(next-now)/100-1; early.Take(at) {
				t.Fatalf("rate %v: a token at %d, before %d", rate, at, next)
			}
			if now = next; !b.Take(now) {
				t.Fatalf("rate %v: no token at %d", rate, next)
			}
		}
	}
	var idle, free Bucket
	idle.SetRate(0, 0)
	idle.Take(0)
	if got := idle.Next(5); got != Never {
		t.Errorf("rate 0: %d, want Never", got)
	}
	if got := free.Next(5); got != 5 {
		t.Errorf("no limit: %d, want 5", got)
	}
}
