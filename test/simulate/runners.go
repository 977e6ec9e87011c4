package simulate

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	runner "github.com/h2surge/h2surge/runner/process"
	"github.com/h2surge/h2surge/test/simulate/cluster"
	"github.com/h2surge/h2surge/test/simulate/network"
)

// runners are the processes of runner pods.
type runners struct {
	w     *World
	dir   string
	mu    sync.Mutex // guards the fields below
	byPod map[string]*process
	names []string // of pods, in the order of their starts
}

// process is a runner process. Its files and its network end with it.
type process struct {
	pod, ip string
	host    *network.Host
	term    context.CancelFunc
	exit    chan int32
	code    atomic.Int32 // of an exit; 0: it runs
	killed  atomic.Bool
}

// start is cluster.Options.Start.
func (r *runners) start(ctx context.Context, pod *corev1.Pod, files map[string][]byte) cluster.Process {
	p := &process{pod: pod.Name, ip: pod.Status.PodIP, host: r.w.net.Host(pod.Status.PodIP), exit: make(chan int32, 1)}
	ctx, p.term = context.WithCancel(ctx)
	root := filepath.Join(r.dir, pod.Name)
	for name, data := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			r.w.t.Error(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			r.w.t.Error(err)
		}
	}
	r.mu.Lock()
	r.byPod[pod.Name] = p
	r.names = append(r.names, pod.Name)
	r.mu.Unlock()
	// of its clock
	zero := time.Now().Add(-time.Hour - time.Duration(r.w.Rand("clock of "+pod.Name).Int64N(int64(r.w.skew)+1)))
	parts := runner.Parts{Log: slog.New(slog.DiscardHandler), Network: p.host,
		Clock: func() int64 { return int64(time.Since(zero)) }}
	config := configOf(pod, root)
	r.w.ended.Go(func() {
		code := int32(0)
		if err := runner.Run(ctx, config, parts); err != nil {
			r.w.Log("runner %s ended: %v", pod.Name, err)
			code = 1
		}
		p.host.Close()
		r.w.Log("runner %s has exit code %d", pod.Name, code)
		p.code.Store(code + 1)
		p.exit <- code
	})
	return p
}

// configOf is what cmd/runner makes of its arguments and environment.
func configOf(pod *corev1.Pod, root string) runner.Config {
	c := runner.Config{ControlAddress: ":" + strconv.Itoa(rv.ControlPort), MetricsAddress: ":" +
		strconv.Itoa(rv.MetricsPort),
		AckGrace: rv.DefaultResultRetention, Pod: pod.Name, Node: pod.Spec.NodeName, IP: pod.Status.PodIP}
	c.Index, _ = strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	container := &pod.Spec.Containers[slices.IndexFunc(pod.Spec.Containers,
		func(c corev1.Container) bool { return c.Name == "runner" })]
	for _, arg := range container.Args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch name {
		case "plan":
			c.Plan = filepath.Join(root, value)
		case "tls-dir":
			c.TLSDir = filepath.Join(root, value)
		case "ack-grace":
			c.AckGrace, _ = time.ParseDuration(value)
		}
	}
	for _, e := range container.Env {
		if e.Name == "PLAN_DIGEST" {
			c.PlanDigest = e.Value
		}
	}
	return c
}

// Wait implements cluster.Process.
func (p *process) Wait() int32 { return <-p.exit }

// Ready implements cluster.Process.
func (p *process) Ready() bool { return p.code.Load() == 0 && !p.killed.Load() }

// Kill implements cluster.Process: nothing of the process reaches the network any more.
func (p *process) Kill() {
	p.killed.Store(true)
	p.host.Close()
	p.term()
}

// alive returns the runners that have not ended, in the order of their starts.
func (r *runners) alive() (out []*process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.names {
		if p := r.byPod[name]; p.code.Load() == 0 && !p.killed.Load() {
			out = append(out, p)
		}
	}
	return out
}

// any returns runner n, modulo their number; nil: there is none.
func (r *runners) any(n int) *process {
	all := r.alive()
	if len(all) == 0 {
		return nil
	}
	return all[n%len(all)]
}
