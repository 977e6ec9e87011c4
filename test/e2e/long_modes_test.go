//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// mode is a test with its own namespace and target.
type mode struct {
	*story
	*sightings
	action v1alpha1.ShardLostAction
}

// modes starts a test on two shards for each action, and waits until all of them send.
func modes(t *testing.T, name string, rps int64, length time.Duration) (out []*mode) {
	for _, action := range []v1alpha1.ShardLostAction{v1alpha1.ShardLostFail, v1alpha1.ShardLostContinue, v1alpha1.ShardLostRebalance} {
		s := newStory(t, fmt.Sprintf("%s-%.4s", name, lower4(action))).withTarget()
		out = append(out, &mode{story: s, action: action})
	}
	for _, m := range out {
		m.apply(m.quickstart("durable", 2, hold(rps, length), withoutThresholds, smallRunner, onShardLost(m.action)))
		m.sightings = m.story.watch("durable")
	}
	for _, m := range out {
		m.awaitLoad(uint64(rps), short)
	}
	return out
}

func lower4(a v1alpha1.ShardLostAction) string {
	return map[v1alpha1.ShardLostAction]string{
		v1alpha1.ShardLostFail: "fail", v1alpha1.ShardLostContinue: "cont", v1alpha1.ShardLostRebalance: "reba",
	}[a]
}

// wantWhole: the test ran to its end, and nothing of it is missing.
func (m *mode) wantWhole(planned uint64, within time.Duration) {
	m.Helper()
	lt := m.awaitCondition("durable", v1alpha1.ConditionFinished, metav1.ConditionTrue, within)
	m.Logf("%s, at the end:\n%s", m.action, conditions(lt))
	m.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	m.wantPassed(lt, "")
	m.wantAll(lt, planned)
	m.wantGrowing()
}

// wantPaused: the runners sent nothing beyond their leases. The counts are exact, and the test is not passed.
func (m *mode) wantPaused(within time.Duration) {
	m.Helper()
	lt := m.awaitCondition("durable", v1alpha1.ConditionFinished, metav1.ConditionTrue, within)
	m.Logf("%s, at the end:\n%s", m.action, conditions(lt))
	m.wantSame(lt)
	m.wantGrowing()
	if conditionIs(v1alpha1.ConditionPassed, metav1.ConditionTrue, "", "")(lt) {
		m.Error("the test passed, though its runners paused")
	}
	if lt.Status.Results.Requests.Dropped == 0 {
		m.Error("no request of the pause is counted as dropped")
	}
}

// TestLongOperatorAway: the operator is away for minutes, across the end of the test. The runners keep what they
// counted. With Rebalance they pause when their leases run out.
func TestLongOperatorAway(t *testing.T) {
	for _, away := range []time.Duration{4 * time.Minute, 30 * time.Minute} {
		t.Run(fmt.Sprintf("%.0fm", away.Minutes()), func(t *testing.T) {
			const rps, length = 200, 100 * time.Second
			all := modes(t, fmt.Sprintf("away%.0f", away.Minutes()), rps, length)
			all[0].onThisMachine()
			back := all[0].operatorAway()
			time.Sleep(away)
			back()
			for _, m := range all {
				if m.action == v1alpha1.ShardLostRebalance {
					m.wantPaused(2 * time.Minute)
				} else {
					m.wantWhole(rps*100, 2*time.Minute)
				}
				m.wantQuiet()
			}
		})
	}
}

// TestLongAPIServerAway: the API server is away for 105 s, across the end of the test. The operator's process stays,
// it renews the leases, and it leads again within 10 s.
func TestLongAPIServerAway(t *testing.T) {
	const rps, length = 200, 60 * time.Second
	all := modes(t, "api", rps, length)
	s := all[0].story
	s.onThisMachine()
	before := s.operators()[0]
	processes := pids(before)
	back := s.apiServerAway()
	time.Sleep(105 * time.Second)
	returned := s.serverAnswers()
	back()
	if now := pids(before); !slices.Equal(now, processes) {
		t.Errorf("the operator's processes were %v and are %v", processes, now)
	}
	at := <-returned
	for _, m := range all {
		m.wantWhole(rps*60, 30*time.Second)
		m.wantWithin(string(m.action)+": finished after the API server's return", at, 15*time.Second,
			conditionIs(v1alpha1.ConditionFinished, metav1.ConditionTrue, "", ""))
	}
}
