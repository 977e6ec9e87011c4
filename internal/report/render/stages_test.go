package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestStages(t *testing.T) {
	above := runnerv1alpha1.Above(5_000_000)
	r := &runnerv1alpha1.Report{Stages: []runnerv1alpha1.StageResult{
		{Name: "warm", WarmUp: true, Asked: 10, Achieved: 9.5, Sent: 100},
		{Name: "hold", Asked: 100, Achieved: 100, Sent: 999, Dropped: 1, Paused: 1.5, Figures: &runnerv1alpha1.StageFigures{
			Done: 990, Succeeded: 980, FailedChecks: 10, TimedOut: 4, Reset: 3, ConnectionLost: 2, ErrorRate: 0.02 + 1e-9,
			ResponseTime: runnerv1alpha1.Times{Count: 1000, P50: 1, P90: 2, P95: 3, P99: above, P999: above, Max: above},
		}},
		{Name: "own", Chain: "c", AskedChains: 7, AchievedChains: 7, Sent: 7, Figures: &runnerv1alpha1.StageFigures{Done: 7, Succeeded: 7}, NoFigures: "no times"},
		{Name: "late", Asked: 1, NoFigures: "no figures"},
	}}
	var b strings.Builder
	if err := Stages(&b, r); err != nil {
		t.Fatal(err)
	}
	want := `name,chain,warmUp,asked,achieved,askedChains,achievedChains,paused,sent,dropped,done,succeeded,failedChecks,timedOut,reset,connectionLost,inFlightAtEnd,errorRate,responseTime.count,responseTime.p50,responseTime.p90,responseTime.p95,responseTime.p99,responseTime.p999,responseTime.max,noFigures
warm,,true,10,9.5,0,0,0,100,0,,,,,,,,,,,,,,,,
hold,,false,100,100,0,0,1.5,999,1,990,980,10,4,3,2,0,2%,1000,1,2,3,> 5s,> 5s,> 5s,
own,c,false,0,0,7,7,0,7,0,7,7,0,0,0,0,0,0%,,,,,,,,no times
late,,false,1,0,0,0,0,0,0,,,,,,,,,,,,,,,,no figures
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
