package dial

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// beforeTimer is a context whose deadline has passed and whose timer has not run yet.
type beforeTimer struct {
	context.Context
	end time.Time
}

func (c beforeTimer) Deadline() (time.Time, bool) { return c.end, true }

// TestDeadlineOfASocket: the deadline of a socket can end an attempt before the timer of its context has run.
func TestDeadlineOfASocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asking[string]
		ctx := beforeTimer{t.Context(), time.Now().Add(time.Second)}
		go a.do(ctx, "host", func() (string, error) { //nolint:errcheck // it fails
			time.Sleep(time.Second)
			return "", os.ErrDeadlineExceeded
		})
		synctest.Wait()
		got, err := a.do(t.Context(), "host", func() (string, error) { return "h2c", nil })
		if got != "h2c" || err != nil {
			t.Errorf("%q, %v of an attempt with time left, want h2c", got, err)
		}
	})
}
