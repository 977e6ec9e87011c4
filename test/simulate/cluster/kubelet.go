package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

const (
	// probeInterval is the time between two readiness probes.
	probeInterval = 5 * time.Second
	// lostAfter and evictedAfter are when the node lifecycle controller marks the pods of a silent node, and deletes them.
	lostAfter, evictedAfter = 40 * time.Second, 340 * time.Second
	// runner is the name of the container whose process Options.Start starts.
	runner = "runner"
	// exitKilled is the exit code of a process that was killed.
	exitKilled = 137
)

// node is a node. down is since when its kubelet does not reach the API server; zero: it does. gone: it was removed.
type node struct {
	down time.Time
	gone bool
}

func (n *node) reachable() bool { return n.down.IsZero() }

// pod is what a kubelet knows of a pod.
type pod struct {
	node string
	// begin is when the kubelet begins to start it. try is when it tries again to mount volumes.
	begin, try time.Time
	process    Process
	term       context.CancelFunc
	// killAt is when the kubelet ends the process with SIGKILL; zero: it was not asked to end it.
	killAt time.Time
	probe  time.Time
	// exit is nil while the process runs. reason is why it ended, such as OOMKilled, and evicted that of the pod.
	exit            *int32
	reason, evicted string
	// reported: the pod has the end of its process.
	reported bool
}

// kill ends the process at once. An exit code of 0 keeps that of the process.
func (p *pod) kill(code int32, reason string) {
	if p.process != nil && p.exit == nil {
		if code != 0 {
			p.exit, p.reason = &code, reason
		}
		p.term()
		p.process.Kill()
	}
}

// end ends the process with SIGTERM, and after its grace with SIGKILL. It returns whether the process has ended.
func (p *pod) end(grace time.Duration) bool {
	switch {
	case p.process == nil || p.exit != nil:
		return true
	case p.killAt.IsZero() || time.Now().Add(grace).Before(p.killAt):
		p.killAt = time.Now().Add(grace)
		p.term()
	}
	if !time.Now().Before(p.killAt) {
		p.kill(exitKilled, "Error")
	}
	return p.exit != nil
}

// syncPod does the work of the scheduler and the kubelet for a pod.
func (c *Cluster) syncPod(of *corev1.Pod) {
	p := c.pods[of.UID]
	if owner := metav1.GetControllerOf(of); owner != nil && !c.hasJob(of.Namespace, owner) {
		_ = c.opts.Server.RemoveFinalizer(of, batchv1.JobTrackingFinalizer)
	}
	switch {
	case p == nil && of.DeletionTimestamp == nil:
		c.schedule(of)
	case p == nil:
		c.finish(of, &pod{})
	case !c.nodes[p.node].reachable():
		c.miss(of, p, c.nodes[p.node])
	case of.DeletionTimestamp != nil:
		if p.end(time.Duration(ptr.Deref(of.DeletionGracePeriodSeconds, 0)) * time.Second) {
			c.finish(of, p)
			return
		}
		c.at(p.killAt)
	case p.process == nil:
		c.start(of, p)
	case p.exit != nil && !p.reported:
		c.finish(of, p)
	case p.exit != nil:
	case !time.Now().Before(p.probe):
		c.ready(of, p)
	default:
		c.at(p.probe)
	}
}

func (c *Cluster) hasJob(namespace string, owner *metav1.OwnerReference) bool {
	j := apiserver.Find[*batchv1.Job](c.opts.Server, namespace, owner.Name)
	return j != nil && j.UID == owner.UID && j.DeletionTimestamp == nil
}

// schedule chooses a node that is up: the one with the fewest pods.
func (c *Cluster) schedule(of *corev1.Pod) {
	count := map[string]int{}
	for _, p := range c.pods {
		count[p.node]++
	}
	var up []string
	for _, name := range c.opts.Nodes {
		if c.nodes[name].reachable() {
			up = append(up, name)
		}
	}
	if len(up) == 0 {
		c.change(of, func(o *corev1.Pod) {
			setCondition(o, corev1.PodScheduled, false, corev1.PodReasonUnschedulable, "0 nodes are available")
		})
		c.at(time.Now().Add(5 * time.Second))
		return
	}
	name := slices.MinFunc(up, func(a, b string) int { return cmp.Compare(count[a], count[b]) })
	c.pods[of.UID] = &pod{node: name, begin: time.Now().Add(c.random(c.opts.Startup))}
	c.change(of, func(o *corev1.Pod) {
		o.Spec.NodeName = name
		setCondition(o, corev1.PodScheduled, true, "", "")
		setCondition(o, corev1.PodReadyToStartContainers, false, "", "")
		setState(o, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
	})
	c.at(c.pods[of.UID].begin)
}

// start mounts the volumes and starts the process.
func (c *Cluster) start(of *corev1.Pod, p *pod) {
	if at := latest(p.begin, p.try); time.Now().Before(at) {
		c.at(at)
		return
	}
	files, err := c.mount(of)
	if err != nil {
		c.event(of, "FailedMount", "MountVolume.SetUp failed for volume: "+err.Error())
		p.try = time.Now().Add(5 * time.Second)
		c.at(p.try)
		return
	}
	c.ips++
	ip := fmt.Sprintf("10.1.%d.%d", c.ips/250, 1+c.ips%250)
	c.change(of, func(o *corev1.Pod) {
		o.Status.Phase, o.Status.PodIP, o.Status.PodIPs, o.Status.StartTime = corev1.PodRunning, ip,
			[]corev1.PodIP{{IP: ip}}, ptr.To(now())
		setCondition(o, corev1.PodReadyToStartContainers, true, "", "")
		setState(o, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now()}})
	})
	ctx, term := context.WithCancel(context.Background())
	running := apiserver.Find[*corev1.Pod](c.opts.Server, of.Namespace, of.Name)
	p.process, p.term, p.probe = c.opts.Start(ctx, running, files), term, time.Now().Add(probeInterval)
	c.at(p.probe)
	c.running.Go(func() {
		code := p.process.Wait()
		c.do(func() {
			if p.exit == nil {
				p.exit = &code
			}
		})
	})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ready probes the process.
func (c *Cluster) ready(of *corev1.Pod, p *pod) {
	p.probe = time.Now().Add(probeInterval)
	c.at(p.probe)
	if is := p.process.Ready(); is != isReady(of) {
		c.change(of, func(o *corev1.Pod) { setCondition(o, corev1.PodReady, is, "", "") })
	}
}

// finish writes the end of a pod, and removes a pod whose deletion has begun. A sidecar keeps a pod until its deletion
// begins.
func (c *Cluster) finish(of *corev1.Pod, p *pod) {
	p.reported = true
	code := ptr.Deref(p.exit, exitKilled)
	c.change(of, func(o *corev1.Pod) {
		if isEnded(o) {
			return
		}
		setCondition(o, corev1.PodReady, false, "", "")
		if p.process != nil {
			reason := cmp.Or(p.reason, map[bool]string{true: "Completed", false: "Error"}[code == 0])
			setState(o, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason,
				FinishedAt: now()}})
		}
		if p.evicted != "" {
			o.Status.Reason, o.Status.Message = p.evicted, "The node was low on resource: memory."
			setCondition(o, corev1.DisruptionTarget, true, corev1.PodReasonTerminationByKubelet, "")
		}
		switch {
		case len(o.Spec.Containers) > 1 && o.DeletionTimestamp == nil && p.evicted == "":
		case code == 0 && p.evicted == "":
			o.Status.Phase = corev1.PodSucceeded
		default:
			o.Status.Phase = corev1.PodFailed
		}
	})
	if of.DeletionTimestamp != nil {
		_ = c.opts.Server.Delete(of, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	}
}

// miss is what the node lifecycle controller and the garbage collector of pods do with a pod on a node that is down.
func (c *Cluster) miss(of *corev1.Pod, p *pod, n *node) {
	switch silent := time.Since(n.down); {
	case n.gone:
		c.change(of, func(o *corev1.Pod) {
			o.Status.Phase = corev1.PodFailed
			setCondition(o, corev1.DisruptionTarget, true, "DeletionByPodGC", "PodGC: node no longer exists")
		})
		_ = c.opts.Server.Delete(of, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	case silent < lostAfter:
		c.at(n.down.Add(lostAfter))
	case silent < evictedAfter:
		c.change(of, func(o *corev1.Pod) { setCondition(o, corev1.PodReady, false, "", "") })
		c.at(n.down.Add(evictedAfter))
	default:
		_ = c.opts.Server.Delete(of, metav1.DeleteOptions{})
	}
}

func (c *Cluster) change(of *corev1.Pod, f func(*corev1.Pod)) {
	_ = apiserver.Change(c.opts.Server, of.Namespace, of.Name, f)
}

func isEnded(of *corev1.Pod) bool {
	return of.Status.Phase == corev1.PodSucceeded || of.Status.Phase == corev1.PodFailed
}

func isReady(of *corev1.Pod) bool {
	return slices.ContainsFunc(of.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func setCondition(o *corev1.Pod, of corev1.PodConditionType, is bool, reason, message string) {
	to := corev1.PodCondition{Type: of, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: now()}
	if is {
		to.Status = corev1.ConditionTrue
	}
	i := slices.IndexFunc(o.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == of })
	switch {
	case i < 0:
		o.Status.Conditions = append(o.Status.Conditions, to)
	case o.Status.Conditions[i].Status != to.Status:
		o.Status.Conditions[i] = to
	}
}

// setState sets the state of the runner. The other containers start with it, and end with the pod.
func setState(o *corev1.Pod, to corev1.ContainerState) {
	before := o.Status.ContainerStatuses
	o.Status.ContainerStatuses = nil
	for i, container := range o.Spec.Containers {
		s := corev1.ContainerStatus{Name: container.Name, Image: container.Image, State: to, Ready: to.Running != nil}
		if container.Name != runner && to.Terminated != nil && o.DeletionTimestamp == nil {
			s = before[i]
		}
		o.Status.ContainerStatuses = append(o.Status.ContainerStatuses, s)
	}
}
