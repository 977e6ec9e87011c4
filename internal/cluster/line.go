package cluster

import (
	"fmt"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Line returns one line about a test, without a newline:
//
//	12s  60003 of  60000/s  p50 1.1ms  p99 8.42ms errors 0.02%  hold
//
// The rate is the rate of the last second. Times and errors are since the start. If not all shards are ready, the line
// ends with their number. After that it names the thresholds that the figures so far fail.
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
	p50, p99 := s.P50, s.P99
	stage := strings.ToLower(phase(lt))
	if at := StageAt(lt, now); lt.Status.Phase == v1alpha1.PhaseRunning && at.Known {
		stage = plain(lt.Spec.Rates[at.Index].Name)
	}
	if text := searchText(lt); text != "" && lt.Status.Phase == v1alpha1.PhaseRunning {
		stage = text
	}
	if n := countShards(lt); n.Ready != n.Desired || n.asked > 0 {
		stage += "  shards " + n.String()
	}
	for i := range lt.Status.Thresholds {
		if th := &lt.Status.Thresholds[i]; !th.Passed && th.Observed != rv.ObservedNone {
			stage += "  FAILED " + plain(th.Name)
		}
	}
	return strings.TrimRight(fmt.Sprintf("%5s %6s of %6s/s  p50 %-6s p99 %-6s errors %-6s %s", elapsed, achieved(lt), askedNow(lt, now),
		orDash(p50), orDash(p99), orDash(s.Errors), stage), " ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return plain(s)
}
