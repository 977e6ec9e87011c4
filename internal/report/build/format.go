package build

import (
	"math"
	"strconv"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// FormatTime writes a time for people: three significant digits in the unit that leaves one to
// three of them before the point: "950us", "1.1ms", "8.42ms", "1m15s". The unit us is ASCII; Go
// and the manifests read it. A time Above a limit is "> 5s".
func FormatTime(us int64) string {
	if limit, is := runnerv1alpha1.LimitOf(us); is {
		return runnerv1alpha1.AboveText(FormatTime(limit))
	}
	// What rounds up to 1,000 of a unit is one of the next.
	switch v := float64(us); {
	case us < 1000:
		return strconv.FormatInt(us, 10) + "us"
	case v < 999_500:
		return digits(v/1e3) + "ms"
	case v < 59.95e6:
		return digits(v/1e6) + "s"
	}
	seconds := (us + 500_000) / 1_000_000
	minutes := seconds / 60
	out := strconv.FormatInt(minutes%60, 10) + "m" + strconv.FormatInt(seconds%60, 10) + "s"
	if minutes >= 60 {
		out = strconv.FormatInt(minutes/60, 10) + "h" + out
	}
	return out
}

// Plural writes a number of things: "1 stage", "2 stages".
func Plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// FormatRate writes requests a second: whole from 1,000 on, else with three significant digits.
func FormatRate(perSecond float64) string {
	if math.Abs(perSecond) >= 999.5 {
		return strconv.FormatFloat(perSecond, 'f', 0, 64)
	}
	return digits(perSecond)
}

// FormatValue writes a value of an observation with its unit: "1.5", "512MB", "20MB/s", "12ms", "50%".
func FormatValue(v float64, unit string) string {
	switch unit {
	case "Bytes":
		return decimal(v) + "B"
	case "BytesPerSecond":
		return decimal(v) + "B/s"
	case "PerSecond":
		return FormatRate(v) + "/s"
	case "Seconds":
		return seconds(v)
	case "Percent":
		return digits(v) + "%"
	}
	return FormatRate(v)
}

// decimal writes three significant digits and a decimal prefix: "512M".
func decimal(v float64) string {
	prefix := ""
	for _, next := range []string{"k", "M", "G", "T", "P"} {
		if math.Abs(v) < 999.5 {
			break
		}
		v, prefix = v/1000, next
	}
	return digits(v) + prefix
}

// seconds is FormatTime, and has more digits for what is shorter than a microsecond.
func seconds(v float64) string {
	if v < 1e-6 || v > 1e12 {
		return digits(v) + "s"
	}
	return FormatTime(int64(math.Round(v * 1e6)))
}

// FormatPercent writes a ratio: "0%", "0.02%", "12.5%". What is not zero does not look like
// zero, and what is not all does not look like 100%.
func FormatPercent(ratio float64) string {
	p := ratio * 100
	switch {
	case p > 0 && p < 0.01:
		return "<0.01%"
	case p < 100 && p > 99.99:
		return ">99.99%"
	}
	return trim(strconv.FormatFloat(p, 'f', 2, 64)) + "%"
}

// digits writes three significant digits and no zeros behind the point that say nothing.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return trim(strconv.FormatFloat(v, 'f', 1, 64))
	case a >= 0.9995 || a == 0:
		return trim(strconv.FormatFloat(v, 'f', 2, 64))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// trim takes zeros off the end of a number that has a point.
func trim(s string) string {
	for s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	if s[len(s)-1] == '.' {
		s = s[:len(s)-1]
	}
	return s
}
