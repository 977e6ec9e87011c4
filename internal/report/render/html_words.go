package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	judge "github.com/h2surge/h2surge/internal/report/verdict"
)

// errorRate is not known if no request was due.
func errorRate(rate float64, requests int64) any {
	if requests == 0 {
		return nil
	}
	return shareCell(rate)
}

// lagText says whether the generator sent in time. Inflated is true if response times are mostly lag, or include more
// lag than that of a sound generator.
func lagText(r *runnerv1alpha1.Report) (text string, inflated bool) {
	lag := judge.WorstLag(r)
	text = "lag p99 " + build.FormatTime(lag)
	switch t := &r.ResponseTime; {
	case lag > judge.MaxLag:
		return "late, " + text + ", and response times include it", true
	case t.Count > 0 && 2*lag > t.P99:
		return "in time, " + text + ", more than half of the response time's p99, which includes it", true
	}
	return "in time, " + text, false
}

// lagWarning is for a verdict that does not depend on the lag although response times do; "": they do not. An
// inconclusive verdict names a lag above the bound itself.
func lagWarning(r *runnerv1alpha1.Report) string {
	text, inflated := lagText(r)
	isNamed := r.Verdict.Outcome == runnerv1alpha1.OutcomeInconclusive && strings.HasPrefix(text, "late")
	if !inflated || isNamed || r.Verdict.Outcome == "" {
		return ""
	}
	return "the generator was " + text
}

// idleText is what the workers did while they waited, and what that added to times; "": an earlier build did not
// report it.
func idleText(idle *runnerv1alpha1.IdleResult, format func(us int64) string) string {
	sleep := "Sleep"
	if idle.SleepShards > 0 {
		sleep += " " + format(idle.SleepIntervalMicroseconds)
	}
	var out string
	switch {
	case idle.SpinShards == 0 && idle.SleepShards == 0:
		return ""
	case idle.SpinShards == 0:
		out = sleep
	case idle.SleepShards == 0:
		out = "Spin"
	default:
		out = fmt.Sprintf("Spin (shards: %d), %s (shards: %d)", idle.SpinShards, sleep, idle.SleepShards)
	}
	if d := idle.BatchMeanMicroseconds; d > 0 {
		out += "; batches delayed requests by " + format(d) + " on average"
	}
	if idle.Naps > 0 {
		out += fmt.Sprintf("; %d naps of %s on average to let responses gather", idle.Naps,
			format(idle.NapMeanMicroseconds))
	}
	return out
}

// unansweredNote says which requests the two rows of response times have.
func unansweredNote(r *runnerv1alpha1.Report) string {
	if r.ResponseTime.Unanswered == 0 {
		return ""
	}
	return fmt.Sprintf("response time includes %s requests without a response, as longer than all measured times, but the mean does not; successful has only requests that succeeded",
		grouped(r.ResponseTime.Unanswered))
}

// spinNote returns a remark about shards that spin on CPUs that other processes may use, or "".
func spinNote(r *runnerv1alpha1.Report) string {
	var n int
	for i := range r.Shards {
		if s := &r.Shards[i]; s.IdleStrategy == runnerv1alpha1.IdleSpin && !s.Exclusive {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Spin without exclusive CPUs on %d of %d shards: other processes on these CPUs and the load slow each other down.", n, len(r.Shards))
}

// asked formats a desired rate of requests. If the rate is one of chain instances, requests have none. Otherwise rate
// 0 is a closed loop.
func asked(perSecond, chains float64) any {
	switch {
	case chains > 0:
		return nil
	case perSecond == 0:
		return "closed loop"
	}
	return rateCell(perSecond)
}

// micro is a time, with the sign of the micro that ASCII lacks.
func micro(us int64) string { return spaced(build.FormatTime(us)) }

// spaced sets the unit of a time apart: "<= 355us" becomes "<= 355 µs". A text that is not a number with a unit of
// time stays.
func spaced(text string) string {
	number := strings.TrimRight(text, "nums\u00b5\u03bc")
	unit := strings.NewReplacer("us", "\u00b5s", "\u03bcs", "\u00b5s").Replace(text[len(number):])
	isTime := slices.Contains([]string{"ns", "\u00b5s", "ms", "s"}, unit)
	if !isTime || number == "" || strings.Trim(number, "0123456789.<>=- ") != "" {
		return text
	}
	return number + " " + unit
}

func lasting(seconds float64) string { return micro(int64(seconds * 1e6)) }

// grouped writes thousands apart.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if left := len(digits) - i; i > 0 && left%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// short is a figure on an axis: "1.5k".
func short(v float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.of {
			return strconv.FormatFloat(v/unit.of, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
