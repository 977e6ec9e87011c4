package cookie

import (
	"math"
	"net/http"
	"testing"
	"time"
)

func TestParseDate(t *testing.T) {
	at := func(year int, month time.Month, day, hour, minute, second int) int64 {
		return time.Date(year, month, day, hour, minute, second, 0, time.UTC).UnixNano()
	}
	const none = -1
	epochal := at(1994, 11, 6, 8, 49, 37)
	for _, tc := range []struct {
		in   string
		want int64
	}{
		// The three of RFC 9110 5.6.7, and Netscape's.
		{"Sun, 06 Nov 1994 08:49:37 GMT", epochal},
		{"Sunday, 06-Nov-94 08:49:37 GMT", epochal},
		{"Sun Nov  6 08:49:37 1994", epochal},
		{"Sun, 06-Nov-1994 08:49:37 GMT", epochal},
		// The order and the rest are free; a zone is not looked at.
		{"1994 nov 6 8:49:37", epochal},
		{"08:49:37 6 NOVEMBER 94 PST", epochal},
		{"Wed, 06 Nov 1994 08:49:37 +0900", epochal},
		{"(06)/Nov~1994;08:49:37x", epochal},
		{"06th November 1994abc 08:49:37.123", epochal},
		{"6\tNov\t1994\t8:49:37", epochal},
		// Each token is the first thing it can be: 12 is the day here, 31 the year.
		{"12 31 Jan 10:00:00", at(2031, 1, 12, 10, 0, 0)},
		{"10 Jan 10:00:00 70", at(1970, 1, 10, 10, 0, 0)},
		{"10 Jan 10:00:00 99", at(1999, 1, 10, 10, 0, 0)},
		{"10 Jan 10:00:00 69", at(2069, 1, 10, 10, 0, 0)},
		{"10 Jan 10:00:00 00", at(2000, 1, 10, 10, 0, 0)},
		{"10 Jan 10:00:00 100", none},
		{"10 Jan 10:00:00 1601", math.MinInt64 / int64(1e9) * 1e9},
		{"10 Jan 10:00:00 1600", none},
		{"10 Jan 10:00:00 9999", never},
		{"10 Jan 10:00:00 12345", none},
		{"10 Jan 10:00:00 7", none},
		{"29 Feb 2024 0:0:0", at(2024, 2, 29, 0, 0, 0)},
		{"29 Feb 2023 0:0:0", none},
		{"31 Apr 2023 0:0:0", none},
		{"0 Apr 2023 0:0:0", none},
		{"32 Apr 2023 0:0:0", none},
		{"123 Apr 2023 0:0:0", none},
		{"1 Apr 2023 24:0:0", none},
		{"1 Apr 2023 23:60:0", none},
		{"1 Apr 2023 23:59:60", none},
		{"1 Apr 2023 23:59:59", at(2023, 4, 1, 23, 59, 59)},
		{"1 Apr 2023 123:0:0", none},
		{"1 Apr 2023 1:2:345", none},
		{"1 Apr 2023 1:2", none},
		{"1 Apr 2023", none},
		{"1 Apr 10:00:00", none},
		{"Apr 2023 10:00:00", none},
		{"1 2023 10:00:00", none},
		{"1 Ap 2023 10:00:00", none},
		{"", none},
		{"Thu", none},
	} {
		got, ok := parseDate([]byte(tc.in))
		if !ok {
			got = none
		}
		if got != tc.want {
			t.Errorf("%q: %v, want %v", tc.in, got, tc.want)
		}
	}
}

// FuzzDate: nothing panics, and what net/http reads as a date is read as the same.
func FuzzDate(f *testing.F) {
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT", int64(784111777))
	f.Add("6 Nov 94 1:2:3", int64(-1))
	f.Fuzz(func(t *testing.T, s string, seconds int64) {
		parseDate([]byte(s))
		const second, first = int64(time.Second), -9214560000 // 1678
		seconds = max(first, seconds%(math.MaxInt64/second))
		date := time.Unix(seconds, 0).UTC().Format(http.TimeFormat)
		if got, ok := parseDate([]byte(date)); !ok || got != seconds*second {
			t.Errorf("%s: %d %v, want %d", date, got, ok, seconds*second)
		}
	})
}
