//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Faults of processes, of the network and of the API server. They need a node that is this machine.

// pids are the processes of a pod's containers; none if the node is another machine.
func pids(p corev1.Pod) (out []int) {
	groups := cgroups("memory")
	for _, c := range p.Status.ContainerStatuses {
		path, here := groups[containerID(c)]
		if !here {
			continue
		}
		for line := range strings.Lines(firstOf(path, "cgroup.procs")) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 1 {
				out = append(out, pid)
			}
		}
	}
	return out
}

// onThisMachine skips the story if the node is another machine.
func (s *story) onThisMachine() {
	s.Helper()
	for _, p := range s.operators() {
		if len(pids(p)) > 0 {
			return
		}
	}
	s.Skip("the node is not this machine: its processes cannot be stopped")
}

// freeze stops a pod's processes with SIGSTOP until thaw, at the latest until the end of the test.
func (s *story) freeze(p corev1.Pod) (thaw func()) {
	s.Helper()
	stopped := pids(p)
	if len(stopped) == 0 {
		s.Fatalf("no process of %s was found", p.Name)
	}
	signal := func(sig syscall.Signal) {
		for _, pid := range stopped {
			if err := syscall.Kill(pid, sig); err != nil {
				s.Logf("signal %v for process %d: %v", sig, pid, err)
			}
		}
	}
	signal(syscall.SIGSTOP)
	thaw = once(func() { signal(syscall.SIGCONT) })
	s.Cleanup(thaw)
	return thaw
}

var cuts atomic.Int64

// cut drops all packets between the operator and the control ports of these pods until heal, at the latest
// until the end of the test. The rules are in the network namespace of the operator's pod.
func (s *story) cut(pods ...corev1.Pod) (heal func()) {
	s.Helper()
	operators := s.operators()
	if len(operators) != 1 {
		s.Fatalf("%d operator pods, want one", len(operators))
	}
	processes := pids(operators[0])
	if len(processes) == 0 {
		s.Fatal("no process of the operator was found")
	}
	var addresses []string
	for _, p := range pods {
		addresses = append(addresses, p.Status.PodIP)
	}
	table, set := fmt.Sprintf("inet h2surge_e2e_%d_%d", os.Getpid(), cuts.Add(1)), strings.Join(addresses, ", ")
	rules := fmt.Sprintf(`table %s {
	chain in { type filter hook input priority 0; ip saddr { %s } tcp sport %d drop; }
	chain out { type filter hook output priority 0; ip daddr { %[2]s } tcp dport %[3]d drop; }
}`, table, set, runnerv1.ControlPort)
	// The namespace outlives the operator's process: it is the pod's. An open file keeps it reachable.
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", processes[0]))
	s.must(err)
	nft := func(stdin string, args ...string) error {
		cmd := exec.Command("nsenter", append([]string{"--net=/proc/self/fd/3", "nft"}, args...)...)
		cmd.ExtraFiles, cmd.Stdin = []*os.File{ns}, strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	s.must(nft(rules, "-f", "-"))
	heal = once(func() {
		if err := nft("", append([]string{"delete", "table"}, strings.Fields(table)...)...); err != nil {
			s.Errorf("packet filter: %v", err)
		}
		_ = ns.Close()
	})
	s.Cleanup(heal)
	return heal
}

// cutOne is cut for one pod.
func (s *story) cutOne(p corev1.Pod) (heal func()) { return s.cut(p) }

// operatorAway scales the operator to zero until back, at the latest until the end of the test.
func (s *story) operatorAway() (back func()) {
	s.Helper()
	back = once(func() { s.scaleOperator(1) })
	s.Cleanup(back)
	s.scaleOperator(0)
	return back
}

func (s *story) scaleOperator(replicas int) {
	s.Helper()
	ctx := context.WithoutCancel(s.ctx)
	out, err := exec.CommandContext(ctx, "kubectl", "-n", operatorNamespace, "scale", "deployment", "h2surge-controller-manager",
		fmt.Sprintf("--replicas=%d", replicas)).CombinedOutput()
	if err != nil {
		s.Fatalf("kubectl scale: %v\n%s", err, out)
	}
	s.eventually(short, func() string {
		pods, err := core.CoreV1().Pods(operatorNamespace).List(ctx, metav1.ListOptions{LabelSelector: operatorSelector})
		if err != nil {
			return err.Error()
		}
		ready := 0
		for _, p := range pods.Items {
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if len(pods.Items) != replicas || ready != replicas {
			return fmt.Sprintf("%d operator pods, %d ready; want %d", len(pods.Items), ready, replicas)
		}
		return ""
	})
}

// apiServerAway kills the API server and keeps it away until back, at the latest until the end of the test.
// Only the cluster of hack/cluster has an API server that a story can kill.
func (s *story) apiServerAway() (back func()) {
	s.Helper()
	const cluster = "../../hack/cluster/"
	if os.Getenv("E2E_CLUSTER") != "own" {
		s.Skip("the cluster is not that of hack/cluster: its API server cannot be killed")
	}
	back = once(func() {
		if out, err := exec.Command(cluster + "up").CombinedOutput(); err != nil {
			s.Errorf("hack/cluster/up: %v\n%s", err, out)
		}
	})
	s.Cleanup(back)
	s.daemon("kube-apiserver", "KILL")
	return back
}

// serverAnswers gets the time at which the API server is ready again.
func (s *story) serverAnswers() <-chan time.Time {
	at := make(chan time.Time, 1)
	go func() {
		for core.Discovery().RESTClient().Get().AbsPath("/readyz").Do(s.ctx).Error() != nil && s.ctx.Err() == nil {
			time.Sleep(poll)
		}
		at <- time.Now()
	}()
	return at
}

// freezeKubelet stops the kubelet with SIGSTOP until thaw, at the latest until the end of the test. Only the cluster of
// hack/cluster has a kubelet that a story can find.
func (s *story) freezeKubelet() (thaw func()) {
	s.Helper()
	if os.Getenv("E2E_CLUSTER") != "own" {
		s.Skip("the cluster is not that of hack/cluster: its kubelet cannot be stopped")
	}
	s.daemon("kubelet", "STOP")
	thaw = once(func() { s.daemon("kubelet", "CONT") })
	s.Cleanup(thaw)
	return thaw
}

// daemon sends a signal to a daemon of hack/cluster.
func (s *story) daemon(name, signal string) {
	s.Helper()
	script := `. ../../hack/cluster/lib.sh && alive "$0" && read -r pid _ <"$RUN/pid/$0" && kill -s "$1" "$pid"`
	if out, err := exec.Command("bash", "-c", script, name, signal).CombinedOutput(); err != nil {
		s.Fatalf("%s to %s: %v\n%s", signal, name, err, out)
	}
}

// once returns a function that calls f when it is called first.
func once(f func()) func() {
	var called atomic.Bool
	return func() {
		if called.CompareAndSwap(false, true) {
			f()
		}
	}
}
