// Package cluster models what a cluster has around the operator: the Job controller, the garbage collector, the
// scheduler, the node lifecycle controller and the kubelets. One goroutine does all of it, in the order of names, so a
// seed decides what happens.
package cluster

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

// Process is the program of a pod's container.
type Process interface {
	// Wait returns the exit code when the process ended.
	Wait() int32
	// Ready is the readiness probe.
	Ready() bool
	// Kill ends the process at once: SIGKILL.
	Kill()
}

// Options are the parameters of a Cluster.
type Options struct {
	Server *apiserver.Server
	// Rand decides the delays.
	Rand *rand.Rand
	// Nodes are the names of the nodes.
	Nodes []string
	// Start starts the process of the container named runner. files are its volumes: contents by path. The end of ctx is
	// SIGTERM.
	Start func(ctx context.Context, pod *corev1.Pod, files map[string][]byte) Process
	// Startup is the longest time between the begin of a pod and its process.
	Startup time.Duration
}

// Cluster is the rest of a cluster.
type Cluster struct {
	opts Options
	wake chan struct{}
	// next is when the next step has something to do. Those below are of the goroutine of Run, too.
	next  time.Time
	held  time.Time // until when the Job controller does nothing
	jobs  map[types.UID]*job
	pods  map[types.UID]*pod
	nodes map[string]*node
	ips   int
	// events are those of other goroutines, for the next step.
	events chan func()
	// running are the processes.
	running sync.WaitGroup
}

// New returns a Cluster for Run.
func New(opts Options) *Cluster {
	c := &Cluster{opts: opts, wake: make(chan struct{}, 1), jobs: map[types.UID]*job{}, pods: map[types.UID]*pod{},
		nodes: map[string]*node{}, events: make(chan func(), 1000)}
	for _, name := range opts.Nodes {
		c.nodes[name] = &node{}
	}
	exist := map[types.UID]bool{}
	opts.Server.Watch(func(before, after client.Object) {
		if after == nil {
			delete(exist, before.GetUID())
			c.notify()
			return
		}
		exist[after.GetUID()] = true
		switch after.(type) {
		case *batchv1.Job, *corev1.Pod:
			c.notify()
		default:
			if after.GetDeletionTimestamp() != nil || slices.ContainsFunc(after.GetOwnerReferences(),
				func(ref metav1.OwnerReference) bool { return !exist[ref.UID] }) {
				c.notify()
			}
		}
	})
	return c
}

func (c *Cluster) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// do runs f in the goroutine of Run, before the next step.
func (c *Cluster) do(f func()) {
	c.events <- f
	c.notify()
}

// at makes a step at a time in the future, or before.
func (c *Cluster) at(t time.Time) {
	if t.After(time.Now()) && t.Before(c.next) {
		c.next = t
	}
}

// random returns a random duration up to a bound.
func (c *Cluster) random(below time.Duration) time.Duration {
	return time.Duration(c.opts.Rand.Int64N(int64(below) + 1))
}

// Run works until ctx ends. Then it kills all processes, and returns when they ended.
func (c *Cluster) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	for {
		select {
		case <-timer.C:
		case <-c.wake:
		case <-ctx.Done():
			for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
				c.pods[uid].kill(0, "")
			}
			c.running.Wait()
			return
		}
		time.Sleep(c.random(100 * time.Millisecond)) // controllers have queues
		c.step()
		timer.Reset(time.Until(c.next))
	}
}

// step does what there is to do now.
func (c *Cluster) step() {
	for len(c.events) > 0 {
		(<-c.events)()
	}
	c.next = time.Now().Add(time.Hour)
	c.collect()
	if time.Now().Before(c.held) {
		c.at(c.held)
	} else {
		for _, j := range apiserver.Objects[*batchv1.Job](c.opts.Server) {
			c.syncJob(j)
		}
	}
	seen := map[types.UID]bool{}
	for _, p := range apiserver.Objects[*corev1.Pod](c.opts.Server) {
		seen[p.UID] = true
		c.syncPod(p)
	}
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		if p := c.pods[uid]; !seen[uid] && c.nodes[p.node].reachable() && p.end(0) {
			delete(c.pods, uid)
		}
	}
}

// collect deletes objects whose owners are gone, or wait for them. If its owner waits, what has dependents of its own
// waits for these.
func (c *Cluster) collect() {
	all := apiserver.Objects[client.Object](c.opts.Server)
	owners, owns, waits := map[types.UID]client.Object{}, map[types.UID]bool{}, map[types.UID]bool{}
	for _, o := range all {
		owners[o.GetUID()] = o
		for _, ref := range o.GetOwnerReferences() {
			owns[ref.UID] = true
		}
	}
	for _, o := range all {
		for _, ref := range o.GetOwnerReferences() {
			owner := owners[ref.UID]
			foreground := owner != nil && isForeground(owner)
			policy := metav1.DeletePropagationBackground
			if foreground && owns[o.GetUID()] {
				policy = metav1.DeletePropagationForeground
			}
			if owner == nil || foreground {
				_ = c.opts.Server.Delete(o, metav1.DeleteOptions{PropagationPolicy: &policy})
			}
			if foreground && ptr.Deref(ref.BlockOwnerDeletion, false) {
				waits[ref.UID] = true
			}
		}
	}
	for _, o := range all {
		if isForeground(o) && !waits[o.GetUID()] {
			_ = c.opts.Server.RemoveFinalizer(o, metav1.FinalizerDeleteDependents)
		}
	}
}

func isForeground(o client.Object) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
}
