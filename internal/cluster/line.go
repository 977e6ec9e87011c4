package cluster

import (
	"fmt"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
)

// Line returns one line about a test, without a newline:
//
//	12s  60003 of  60000/s  p50 1.1ms  p99 8.42ms errors 0.02%  hold
//
// The rate is the rate of the last second. Times and errors are since the start. Until the first measured response,
// the line has "warm-up" or "no response yet" in place of the times, as that of h2surge run. If not all shards are
// ready, the line ends with their number. After that it names the thresholds that the figures so far fail.
func Line(lt *v1alpha1.LoadTest, now time.Time) string {
	elapsed := age(lt, now)
	if lt.Status.StartTime == nil || lt.Status.Summary == nil || Finished(lt) {
		text := fmt.Sprintf("%5s %s", elapsed, strings.ToLower(phase(lt)))
		if why := startProblem(lt); why != "" && !Finished(lt) {
			text += ": " + why
		}
		return text
	}
	s := lt.Status.Summary
	stage := strings.ToLower(phase(lt))
	if at := StageAt(lt, now); lt.Status.Phase == v1alpha1.PhaseRunning && at.Known {
		stage = mask.Line(lt.Spec.Rates[at.Index].Name)
	}
	if text := searchText(lt); text != "" && lt.Status.Phase == v1alpha1.PhaseRunning {
		stage = text
	}
	if n := countShards(lt); n.Ready != n.Desired || n.asked > 0 {
		stage += "  shards " + n.String()
	}
	for i := range lt.Status.Thresholds {
		if th := &lt.Status.Thresholds[i]; !th.Passed && th.Observed != rv.ObservedNone {
			stage += "  FAILED " + mask.Line(th.Name)
		}
	}
	return strings.TrimRight(fmt.Sprintf("%5s %6s of %6s/s  %-21s errors %-6s %s", elapsed, achieved(lt),
		askedNow(lt, now),
		lineTimes(lt, now), orDash(s.Errors), stage), " ")
}

// lineTimes returns the times since the start, or why there are none.
func lineTimes(lt *v1alpha1.LoadTest, now time.Time) string {
	s, r, at := lt.Status.Summary, lt.Status.Results, StageAt(lt, now)
	switch {
	case s.P50 != "":
		return fmt.Sprintf("p50 %-6s p99 %-6s", mask.Line(s.P50), orDash(s.P99))
	case r != nil && r.WarmUpSent > 0, at.Known && lt.Spec.Rates[at.Index].WarmUp:
		return "warm-up"
	}
	return "no response yet"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return mask.Line(s)
}
