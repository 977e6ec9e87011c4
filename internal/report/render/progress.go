package render

import (
	"fmt"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// ProgressLine is one second of a run, without a newline:
//
//	12s  60003 of  60000/s    64 in flight  p50 1.1ms  p99 8.42ms errors 0.02%
//
// Rate and times are of the last interval, errors since the start. A closed loop asks for no rate, so its line has
// the rate sent only. The rate includes the warm-up; until the first measured response, the line has "warm-up" in
// place of the times. Without a response in the interval, it has "no response". It has at most 80 columns up to a
// million requests a second and ten hours. With chainsPerSecond, it has the rate of requests and that of chain
// instances, and is longer.
func ProgressLine(l build.Live) string {
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
	return fmt.Sprintf("%5s %-17s %5d in flight  %-21s errors %s",
		elapsed, progressRate(&l), l.InFlight, progressTimes(&l), build.FormatPercent(l.ErrorRate))
}

// progressRate is "60003 of 60000/s", or "60003/s" if no rate is asked for.
func progressRate(l *build.Live) string {
	achieved := build.FormatRate(l.Achieved)
	switch {
	case l.AskedChains > 0:
		return fmt.Sprintf("%6s/s, %s of %s chains/s", achieved, build.FormatRate(l.AchievedChains),
			build.FormatRate(l.AskedChains))
	case l.Suspended, l.Pause:
		return fmt.Sprintf("%6s of %6d/s", achieved, 0)
	case l.Stage == "", l.Asked == 0:
		return fmt.Sprintf("%6s/s", achieved)
	}
	return fmt.Sprintf("%6s of %6s/s", achieved, build.FormatRate(l.Asked))
}

func progressTimes(l *build.Live) string {
	t := &l.Interval
	switch {
	case l.WarmUp, l.WarmUpSent > 0 && l.ResponseTime.Count == 0:
		return "warm-up"
	case t.Count == 0 && l.ResponseTime.Count == 0:
		return "no response yet"
	case t.Count == 0:
		return "no response"
	}
	return fmt.Sprintf("p50 %-6s p99 %-6s", build.FormatTime(t.P50), build.FormatTime(t.P99))
}
