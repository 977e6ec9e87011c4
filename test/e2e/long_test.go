//go:build e2e

package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// The stories of this file wait for minutes. Their names begin with TestLong: "make e2e" leaves them out,
// "make e2e-long" runs them.

// smallRunner lets many runners fit on a node of two CPUs.
func smallRunner(spec *v1alpha1.LoadTestSpec) {
	spec.Runner.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
	}}
}

// TestLongForceDeleted: the pod of a runner is deleted by force while its kubelet hangs. The runner still sends, so the
// operator keeps polling it, and its share stays with it.
func TestLongForceDeleted(t *testing.T) {
	s := newStory(t, "forced").withTarget()
	const rps, length = 400, 60 * time.Second
	thaw := s.freezeKubelet()
	thaw()
	s.apply(s.quickstart("forced", 2, hold(rps, length), withoutThresholds, smallRunner, onShardLost(v1alpha1.ShardLostRebalance)))
	w := s.watch("forced")
	s.awaitLoad(3*rps, short)
	begun := time.Now()
	thaw = s.freezeKubelet()
	s.remove(s.runners()[1])
	time.Sleep(20 * time.Second)
	s.eventually(5*time.Second, func() string { return s.targetSees(rps*0.9, rps*1.1) })
	thaw()
	lt := s.awaitCondition("forced", v1alpha1.ConditionFinished, metav1.ConditionTrue, 2*time.Minute)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantAtMost(rps, begun)
	s.wantSame(lt)
	w.wantGrowing()
	w.wantQuiet()
}
