package chain

import (
	"strconv"
	"time"
)

// RetryAfter returns the pause that a Retry-After field asks for (RFC 9110 10.2.3), in nanoseconds: a number of
// seconds, or the time until an IMF-fixdate. wall is the current time in nanoseconds since 1970. The pause is at most
// longestPause. It is 0 for a date in the past and for a value that is neither.
func RetryAfter(value []byte, wall int64) int64 {
	if seconds, err := strconv.ParseUint(string(value), 10, 32); err == nil {
		return min(int64(seconds)*int64(time.Second), int64(longestPause))
	}
	at, err := time.Parse(imfFixdate, string(value))
	if err != nil {
		return 0
	}
	return min(max(0, int64(at.Sub(time.Unix(0, wall)))), int64(longestPause))
}
