//go:build e2e

package e2e

import (
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// crash ends a pod's processes without any notice. Where the node is another machine the pod is
// deleted without grace, which is the next best: the kubelet still sends SIGTERM first.
func (s *story) crash(p corev1.Pod) {
	s.Helper()
	if n := kill(p); n > 0 {
		s.Logf("killed %d processes of %s", n, p.Name)
		return
	}
	s.Logf("the node is not this machine: %s is deleted without grace", p.Name)
	s.remove(p)
}

// remove deletes a pod without grace.
func (s *story) remove(p corev1.Pod) {
	s.Helper()
	s.must(core.CoreV1().Pods(p.Namespace).Delete(s.ctx, p.Name, *metav1.NewDeleteOptions(0)))
}

// kill sends SIGKILL to the processes of a pod's containers and counts them.
func kill(p corev1.Pod) int {
	killed, groups := 0, cgroups("memory")
	for _, c := range p.Status.ContainerStatuses {
		path, here := groups[containerID(c)]
		if !here {
			continue
		}
		for line := range strings.Lines(firstOf(path, "cgroup.procs")) {
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err == nil && pid > 1 && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	return killed
}
