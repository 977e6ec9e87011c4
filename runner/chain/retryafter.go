package chain

import (
	"slices"
	"strconv"
	"time"

	"github.com/h2surge/h2surge/internal/octet"
)

// The obsolete formats of dates that a recipient must accept (RFC 9110 5.6.7).
const (
	rfc850Date  = "Monday, 02-Jan-06 15:04:05 GMT"
	asctimeDate = "Mon Jan _2 15:04:05 2006"
)

// RetryAfter returns the pause that a Retry-After field asks for (RFC 9110 10.2.3), in nanoseconds: a number of
// seconds, or the time until a date. wall is the current time in nanoseconds since 1970. The pause is at most
// longestPause. It is 0 for a date in the past and for a value that is neither.
func RetryAfter(value []byte, wall int64) int64 {
	text, now := string(value), time.Unix(0, wall)
	if text != "" && !slices.ContainsFunc(value, func(c byte) bool { return !octet.IsDigit(c) }) {
		seconds, _ := strconv.ParseUint(text, 10, 32) // the largest result if there are more
		return min(int64(seconds)*int64(time.Second), int64(longestPause))
	}
	for _, layout := range []string{imfFixdate, rfc850Date, asctimeDate} {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		// A date with a year of two digits is at most 50 years in the future. time.Parse returns 1969 for 69.
		if layout == rfc850Date && at.AddDate(50, 0, 0).Before(now) {
			at = at.AddDate(100, 0, 0)
		}
		return min(max(0, int64(at.Sub(now))), int64(longestPause))
	}
	return 0
}
