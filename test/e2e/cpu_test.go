//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestExclusiveCPU is story 2: a shard that asks for a CPU of its own has it, and says so.
func TestExclusiveCPU(t *testing.T) {
	if os.Getenv("E2E_EXCLUSIVE") == "0" {
		t.Skip("E2E_EXCLUSIVE=0: this cluster hands out no exclusive CPUs")
	}
	s := newStory(t, "cpu").withTarget()
	s.probe("besteffort", "", nil, "serve")
	s.probe("burstable", "", small, "serve")
	bystanders := []string{"besteffort", "burstable"}
	shared := cpuSet(t, s.cpus("besteffort"))

	one := int32(1)
	s.apply(s.quickstart("alone", 1, hold(1000, 25*time.Second), withoutThresholds, func(spec *v1alpha1.LoadTestSpec) {
		spec.Runner.CPUsPerShard = &one
	}))
	s.awaitLoad(1000, short)

	var own []int
	s.eventually(10*time.Second, func() string {
		if g := s.loadTest("alone").Status.Generator; g == nil || g.ExclusiveShards != 1 {
			return fmt.Sprintf("generator in status %+v, want one shard with CPUs of its own", g)
		}
		return ""
	})
	// The kubelet moves those that share off an exclusive CPU at its next reconciliation only.
	s.eventually(reconcilePeriod, func() string {
		now := cpuSet(t, s.cpus("burstable"))
		own = slices.DeleteFunc(slices.Clone(shared), func(cpu int) bool { return slices.Contains(now, cpu) })
		if len(own) != 1 || len(now) == 0 {
			return fmt.Sprintf("pods that share have the CPUs %v, before the run they had %v", now, shared)
		}
		return ""
	})
	t.Logf("the runner has CPU %v; pods that share had %v before", own, shared)
	s.eventually(reconcilePeriod, func() string {
		for _, b := range bystanders {
			if now := cpuSet(t, s.cpus(b)); slices.Contains(now, own[0]) || len(now) == 0 {
				return fmt.Sprintf("pod %s may run on %v, the runner's own CPU is %d", b, now, own[0])
			}
		}
		return s.notAlone(own[0])
	})
	s.wantCondition(s.loadTest("alone"), v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning) // it was so while load was sent

	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/alone", "--timeout=1m")
	lt := s.loadTest("alone")
	if r := s.report(lt); r.Generator.ExclusiveShards != 1 || r.Generator.Workers != 1 || !slices.Equal(r.Generator.CPUs, own) {
		t.Errorf("the report's generator %+v, want one shard, one worker, CPU %v, exclusive", r.Generator, own)
	}
	if idle := s.report(lt).Generator.Idle; idle.SpinShards != 1 || idle.SleepShards != 0 {
		t.Errorf("the report's idle strategies %+v, want one shard that spins", idle)
	}
	// The CPU goes back to all: what kept the others off it was the runner.
	s.mustKubectl("", "delete", "loadtest", "alone")
	s.eventually(short, func() string {
		if now := cpuSet(t, s.cpus("burstable")); !slices.Equal(now, shared) {
			return fmt.Sprintf("after the run pods may use %v, before it was %v", now, shared)
		}
		return ""
	})
}

// reconcilePeriod is that of the kubelet's CPU manager, 10 s unless configured, and a little more.
const reconcilePeriod = 12 * time.Second

// notAlone looks at the containers of all pods, where the node is this machine: the runner's may
// use cpu and nothing else, all others anything but cpu. It tells the first that is not so.
func (s *story) notAlone(cpu int) string {
	s.Helper()
	pods, err := core.CoreV1().Pods("").List(s.ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	s.must(err)
	runner, groups, seen := s.runners()[0].UID, cgroups("cpuset"), []string{}
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			list := firstOf(groups[containerID(c)], "cpuset.cpus.effective", "cpuset.cpus")
			if list == "" { // on another machine, or gone by now
				continue
			}
			got := cpuSet(s.T, list)
			if mine := p.UID == runner; mine != slices.Contains(got, cpu) || mine && len(got) != 1 {
				return fmt.Sprintf("container %s of %s/%s may use %v; CPU %d is the runner's alone", c.Name, p.Namespace, p.Name, got, cpu)
			}
			seen = append(seen, fmt.Sprintf("%s/%s %v", p.Namespace, p.Name, got))
		}
	}
	s.Logf("CPUs of the %d containers on this machine: %s", len(seen), strings.Join(seen, ", "))
	return ""
}

// cpuSet reads a list such as "0,2-3".
func cpuSet(t *testing.T, list string) []int {
	t.Helper()
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err1 := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil {
			t.Fatalf("%q is not a list of CPUs", list)
		}
		for ; first <= last; first++ {
			out = append(out, first)
		}
	}
	return out
}
