package cookie

import (
	"math"
	"time"

	"github.com/h2surge/h2surge/internal/octet"
)

// date collects what the tokens of a cookie-date say; -1: not found yet.
type date struct {
	hour, minute, second, day, month, year int
}

// parseDate is RFC 6265 5.1.1. The result is unix time in ns; a date that int64 cannot hold becomes
// the nearest that it can.
func parseDate(b []byte) (int64, bool) {
	d := date{hour: -1, day: -1, month: -1, year: -1}
	for len(b) > 0 {
		n := 0
		for n < len(b) && !isDelimiter(b[n]) {
			n++
		}
		if n > 0 {
			d.token(b[:n])
		}
		b = b[min(n+1, len(b)):]
	}
	return d.instant()
}

func isDelimiter(c byte) bool {
	return c == '\t' || ' ' <= c && c <= '/' || ';' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}

// token takes t as the first of time, day of month, month and year that has not been found and whose
// grammar it has (step 2).
func (d *date) token(t []byte) {
	if d.hour < 0 && d.time(t) {
		return
	}
	if d.day < 0 {
		if v, rest := number(t, 2); v >= 0 && !startsWithDigit(rest) {
			d.day = v
			return
		}
	}
	if d.month < 0 {
		if d.month = month(t); d.month > 0 {
			return
		}
	}
	if d.year < 0 {
		if v, rest := number(t, 4); v >= 0 && len(t)-len(rest) >= 2 && !startsWithDigit(rest) {
			d.year = v
		}
	}
}

func (d *date) time(t []byte) bool {
	var v [3]int
	for i := range v {
		if i > 0 {
			if len(t) == 0 || t[0] != ':' {
				return false
			}
			t = t[1:]
		}
		if v[i], t = number(t, 2); v[i] < 0 {
			return false
		}
	}
	if startsWithDigit(t) {
		return false
	}
	d.hour, d.minute, d.second = v[0], v[1], v[2]
	return true
}

func month(t []byte) int {
	if len(t) >= 3 {
		const names = "janfebmaraprmayjunjulaugsepoctnovdec"
		for i := 0; i < len(names); i += 3 {
			if octet.EqualFold(t[:3], names[i:i+3]) {
				return i/3 + 1
			}
		}
	}
	return -1
}

// number reads up to most digits. It returns -1 if there is no digit.
func number(t []byte, most int) (int, []byte) {
	v, n := 0, 0
	for n < len(t) && n < most && octet.IsDigit(t[n]) {
		v = v*10 + int(t[n]-'0')
		n++
	}
	if n == 0 {
		return -1, t
	}
	return v, t[n:]
}

func startsWithDigit(t []byte) bool { return len(t) > 0 && octet.IsDigit(t[0]) }

// instant is steps 3 to 7.
func (d *date) instant() (int64, bool) {
	switch {
	case 70 <= d.year && d.year <= 99:
		d.year += 1900
	case 0 <= d.year && d.year <= 69:
		d.year += 2000
	}
	if d.hour < 0 || d.month < 0 || d.day < 1 || d.day > 31 || d.year < 1601 || d.hour > 23 || d.minute > 59 ||
		d.second > 59 {
		return 0, false
	}
	t := time.Date(d.year, time.Month(d.month), d.day, d.hour, d.minute, d.second, 0, time.UTC)
	if t.Day() != d.day {
		return 0, false
	}
	seconds := t.Unix()
	const second = int64(time.Second)
	if seconds > math.MaxInt64/second {
		return never, true
	}
	return max(seconds, math.MinInt64/second) * second, true
}
