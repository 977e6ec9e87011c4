//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestLongLeaderStopped: the leader is stopped until another replica leads, and then continues. It ends, and the Lease of its successor stays.
func TestLongLeaderStopped(t *testing.T) {
	s := newStory(t, "leader").withTarget()
	s.onThisMachine()
	const rps = 200
	s.scaleOperator(2)
	s.Cleanup(func() { s.scaleOperator(1) })
	s.apply(s.quickstart("leader", 2, hold(rps, time.Minute), withoutThresholds, smallRunner, onShardLost(v1alpha1.ShardLostRebalance)))
	w := s.watch("leader")
	s.awaitLoad(rps, short)
	first := s.leader()
	thaw := s.freeze(first)
	s.eventually(short, func() string {
		if now := s.leader(); now.Name == first.Name {
			return "the stopped operator has the Lease"
		}
		return ""
	})
	second, transitions := s.leader(), s.transitions()
	thaw()
	time.Sleep(20 * time.Second) // longer than a Lease that was released would have no holder
	if now := s.leader(); now.Name != second.Name || s.transitions() != transitions {
		t.Errorf("%s leads after %d transitions, want %s after %d", now.Name, s.transitions(), second.Name, transitions)
	}
	for _, p := range s.operators() {
		if n := p.Status.ContainerStatuses[0].RestartCount; p.Name == second.Name && n > 0 {
			t.Errorf("the second leader has restarted %d times", n)
		}
	}
	lt := s.awaitCondition("leader", v1alpha1.ConditionFinished, metav1.ConditionTrue, 2*time.Minute)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantAll(lt, rps*60)
	w.wantGrowing()
}

// leader is the pod that holds the Lease of the operator.
func (s *story) leader() (out corev1.Pod) {
	s.Helper()
	s.eventually(short, func() string {
		lease, err := core.CoordinationV1().Leases(operatorNamespace).Get(s.ctx, "manager.h2surge.io", metav1.GetOptions{})
		s.must(err)
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		for _, p := range s.operators() {
			if strings.HasPrefix(holder, p.Name+"_") {
				out = p
				return ""
			}
		}
		return "no operator holds the Lease: " + holder
	})
	return out
}

func (s *story) transitions() int32 {
	s.Helper()
	lease, err := core.CoordinationV1().Leases(operatorNamespace).Get(s.ctx, "manager.h2surge.io", metav1.GetOptions{})
	s.must(err)
	return ptr.Deref(lease.Spec.LeaseTransitions, 0)
}
