package cluster

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// exitUnknown is the exit code of a container that ended while its node was off.
const exitUnknown = 255

// OOM lets the kernel kill the process of a pod.
func (c *Cluster) OOM(of *corev1.Pod) { c.end(of, func(p *pod) { p.kill(exitKilled, "OOMKilled") }) }

// Evict lets the kubelet evict a pod, as it does under pressure.
func (c *Cluster) Evict(of *corev1.Pod) {
	c.end(of, func(p *pod) {
		if p.exit == nil {
			p.evicted = "Evicted"
			p.kill(exitKilled, "Error")
		}
	})
}

func (c *Cluster) end(of *corev1.Pod, how func(*pod)) {
	c.do(func() {
		if p := c.pods[of.UID]; p != nil && p.process != nil && c.nodes[p.node].reachable() {
			how(p)
		}
	})
}

// CutNode cuts the kubelet of a node from the API server. The processes of its pods continue. off: the node has no
// power, so they end.
func (c *Cluster) CutNode(name string, off bool) {
	c.do(func() {
		if c.nodes[name].down.IsZero() {
			c.nodes[name].down = time.Now()
		}
		for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
			if p := c.pods[uid]; off && p.node == name {
				p.kill(exitUnknown, "ContainerStatusUnknown")
			}
		}
	})
}

// RemoveNode removes the object of a node that is cut.
func (c *Cluster) RemoveNode(name string) {
	c.do(func() { c.nodes[name].gone = !c.nodes[name].reachable() })
}

// HealNode ends CutNode and RemoveNode.
func (c *Cluster) HealNode(name string) { c.do(func() { *c.nodes[name] = node{} }) }

// Hold keeps the Job controller from its work for a time.
func (c *Cluster) Hold(d time.Duration) { c.do(func() { c.held = time.Now().Add(d) }) }

// Slow makes pods start up to d later, from now on.
func (c *Cluster) Slow(d time.Duration) { c.do(func() { c.opts.Startup = d }) }
