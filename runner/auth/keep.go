package auth

import (
	"bytes"
	"context"
	"errors"
	"time"
)

const (
	attemptTimeout = 10 * time.Second
	// firstAttempts bounds the wait for the first value: some 7 s and the attempts themselves.
	firstAttempts = 4

	shortestPause = time.Second
	longestPause  = 30 * time.Second
)

// temporary marks an error that may pass: no answer, or one that says so.
type temporary struct{ error }

func (t temporary) Unwrap() error { return t.error }

// first gets the first grant, and when its time began.
func first(ctx context.Context, from source) (time.Time, grant, error) {
	pause := shortestPause
	for n := 1; ; n++ {
		at := time.Now()
		g, err := attempt(ctx, from, attemptTimeout)
		if err == nil {
			return at, g, nil
		}
		if !errors.As(err, &temporary{}) || n == firstAttempts || !wait(ctx, pause) {
			return at, grant{}, err
		}
		pause *= 2
	}
}

// keep replaces the value of g before it expires, until ctx ends. The time at is the start of the lifetime of g.
func keep(ctx context.Context, from source, at time.Time, g grant, update func([]byte, error)) {
	value, next, expires := g.value, at.Add(g.refresh), at.Add(g.lifetime)
	pause := shortestPause
	var failure error // of the last attempt
	reported := false
	reportExpiry := func() {
		if !reported && failure != nil && !time.Now().Before(expires) {
			update(nil, failure)
			reported = true
		}
	}
	for wait(ctx, time.Until(next)) {
		reportExpiry()
		at := time.Now()
		g, err := attempt(ctx, from, within(at, expires))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failure = err
			reportExpiry()
			next = retry(time.Now(), pause, expires)
			pause = min(2*pause, longestPause)
			continue
		}
		if reported || !bytes.Equal(value, g.value) {
			update(g.value, nil)
		}
		value, next, expires = g.value, at.Add(g.refresh), at.Add(g.lifetime)
		pause, failure, reported = shortestPause, nil, false
	}
}

// within returns the timeout of an attempt. The attempt ends when the old value expires, so that keep reports this in
// time.
func within(now, expires time.Time) time.Duration {
	if left := expires.Sub(now); left > 0 {
		return min(left, attemptTimeout)
	}
	return attemptTimeout
}

// retry returns the time of the next attempt: after the pause, or at the expiry if that is earlier.
func retry(now time.Time, pause time.Duration, expires time.Time) time.Time {
	next := now.Add(pause)
	if now.Before(expires) && next.After(expires) {
		return expires
	}
	return next
}

func attempt(ctx context.Context, from source, timeout time.Duration) (grant, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return from(ctx)
}

// wait waits for d. It returns false if ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
