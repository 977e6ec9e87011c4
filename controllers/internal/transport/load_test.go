package transport

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	for _, tc := range []struct {
		runners                 int
		least, regular, hurried time.Duration
	}{
		{0, time.Second, time.Second, hurry},
		{200, time.Second, time.Second, hurry},
		{700, time.Second, time.Second, 350 * time.Millisecond},
		{1400, time.Second, 2 * time.Second, 700 * time.Millisecond},
		{10_000, time.Second, maxPollInterval, maxHurry},
		{10_000, 5 * time.Second, 5 * time.Second, maxHurry},
		{2, 10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond},
	} {
		l := NewLoad()
		l.Count(7)
		l.Count(tc.runners - 7)
		if got := l.Pace(tc.least); got.Least != tc.least || got.Regular != tc.regular || got.Hurried != tc.hurried {
			t.Errorf("%d runners, at least %s: %+v, want %s and %s", tc.runners, tc.least, got, tc.regular, tc.hurried)
		}
	}
}
