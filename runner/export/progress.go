package export

import (
	"fmt"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
)

// ProgressLine is one second of a run, without a newline:
//
//	12s  60003 of  60000/s    64 in flight  p50 1.1ms  p99 8.42ms errors 0.02%
//
// Rate and times are of the last interval, errors since the start. The rate includes the warm-up; until the first measured response, the line
// has "warm-up" in place of the times. It has at most 80 columns up to
// a million requests a second and ten hours. With chainsPerSecond, it has the rate of requests and that of chain instances,
// and is longer.
func ProgressLine(l result.Live) string {
	elapsed := l.Elapsed.Round(time.Second)
	switch l.State {
	case "", runnerv1alpha1.StateWaiting, runnerv1alpha1.StateConnecting:
		return fmt.Sprintf("%5s connecting", elapsed)
	case runnerv1alpha1.StateSettingUp:
		return fmt.Sprintf("%5s setting up", elapsed)
	case runnerv1alpha1.StateReady:
		return fmt.Sprintf("%5s connected", elapsed)
	case runnerv1alpha1.StateTearingDown:
		return fmt.Sprintf("%5s tearing down", elapsed)
	}
	asked := "-"
	switch {
	case l.Suspended, l.Pause:
		asked = "0"
	case l.Stage != "":
		asked = askedRate(l.Asked, l.AskedChains)
	}
	times := fmt.Sprintf("%-21s", "warm-up")
	if onlyWarmUp := l.WarmUpSent > 0 && l.ResponseTime.Count == 0; !l.WarmUp && !onlyWarmUp {
		times = fmt.Sprintf("p50 %-6s p99 %-6s", interval(l, l.Interval.P50), interval(l, l.Interval.P99))
	}
	rate := fmt.Sprintf("%6s of %6s/s", result.FormatRate(l.Achieved), asked)
	if l.AskedChains > 0 {
		rate = fmt.Sprintf("%6s/s, %s of %s chains/s", result.FormatRate(l.Achieved), result.FormatRate(l.AchievedChains), result.FormatRate(l.AskedChains))
	}
	return fmt.Sprintf("%5s %s %5d in flight  %s errors %s",
		elapsed, rate, l.InFlight, times, result.FormatPercent(l.ErrorRate))
}

func interval(l result.Live, us int64) string {
	if l.Interval.Count == 0 {
		return "-"
	}
	return result.FormatTime(us)
}
