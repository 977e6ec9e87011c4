package simulate

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClock checks that the times of a wallClock are those that time.Now returns outside of a bubble.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &wallClock{}
		a, right := c.now(), time.Now()
		if !a.Equal(right) {
			t.Errorf("the clock shows %v, want %v", a, right)
		}
		time.Sleep(1500 * time.Millisecond)
		c.step(-time.Hour)
		b := c.now()
		if d := b.Sub(a); d != 1500*time.Millisecond || !b.After(a) {
			t.Errorf("the monotonic clock shows %v", d)
		}
		if d := b.Round(0).Sub(a.Round(0)); d != 1500*time.Millisecond-time.Hour {
			t.Errorf("the wall clock shows %v", d)
		}
	})
}
