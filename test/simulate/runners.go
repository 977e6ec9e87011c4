package simulate

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	engine "github.com/h2surge/h2surge/runner"
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
	byIP  map[string]*process
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
	uid     types.UID // of the pod
	job     types.UID // of its owner
	stopped freeze
	engine  atomic.Pointer[engine.Runner]
}

// position is that of the engine; zero: there is none.
func (p *process) position() (revision int64, since time.Duration) {
	if e := p.engine.Load(); e != nil {
		return e.Position()
	}
	return 0, 0
}

// ended returns whether the engine has ended.
func (p *process) ended() bool {
	select {
	case <-p.engine.Load().Done():
		return true
	default:
		return false
	}
}

// start is cluster.Options.Start.
func (r *runners) start(ctx context.Context, pod *corev1.Pod, files map[string][]byte) cluster.Process {
	p := &process{pod: pod.Name, uid: pod.UID, job: metav1.GetControllerOf(pod).UID, ip: pod.Status.PodIP,
		host: r.w.net.Host(pod.Status.PodIP), exit: make(chan int32, 1)}
	terminated, end := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		p.stopped.wait()
		end()
	})
	p.term = end
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
	r.byPod[pod.Name], r.byIP[p.ip] = p, p
	r.names = append(r.names, pod.Name)
	r.mu.Unlock()
	// of its clock
	zero := time.Now().Add(-time.Hour - time.Duration(r.w.Rand("clock of "+pod.Name).Int64N(int64(r.w.skew)+1)))
	make := func(plan *rv.Plan, o engine.Options) (runner.Engine, error) {
		mount(plan, root)
		e, err := engine.New(plan, o)
		if err != nil {
			return nil, err
		}
		p.engine.Store(e)
		return observed{e, func() { r.w.rules.updated(p) }}, nil
	}
	parts := runner.Parts{NewEngine: make, Log: slog.New(slog.DiscardHandler), Network: p.host,
		Clock: func() int64 { return int64(p.stopped.now().Sub(zero)) }}
	config, err := configOf(pod, root)
	if err != nil {
		r.w.Broken("runners start", "%s: %v", pod.Name, err)
	}
	r.w.soon("running")
	r.w.ended.Go(func() {
		code := int32(0)
		if err := runner.Run(terminated, config, parts); err != nil {
			r.w.Log("runner %s ended: %v", pod.Name, err)
			code = 1
		}
		p.stopped.wait()
		p.host.Close()
		r.w.Log("runner %s has exit code %d", pod.Name, code)
		p.code.Store(code + 1)
		r.w.soon("exit")
		p.exit <- code
	})
	return p
}

// observed is an engine whose updates the rules see.
type observed struct {
	runner.Engine
	before func()
}

// Update implements runner.Engine.
func (o observed) Update(u rv.Update) error {
	o.before()
	return o.Engine.Update(u)
}

// mount makes a plan read its files below a folder.
func mount(plan *rv.Plan, root string) {
	at := func(file *string) {
		if *file != "" {
			*file = filepath.Join(root, *file)
		}
	}
	for i := range plan.Variables {
		if c := plan.Variables[i].CSV; c != nil {
			at(&c.Content.File)
		}
	}
	for i := range plan.Targets {
		if t := plan.Targets[i].TLS; t != nil {
			at(&t.CAFile)
			at(&t.CertFile)
			at(&t.KeyFile)
		}
	}
}

// configOf is what the process reads from its arguments and its environment.
func configOf(pod *corev1.Pod, root string) (runner.Config, error) {
	env := map[string]string{"JOB_COMPLETION_INDEX": pod.Annotations[batchv1.JobCompletionIndexAnnotation],
		"POD_IP": pod.Status.PodIP, "POD_NAME": pod.Name, "NODE_NAME": pod.Spec.NodeName}
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "runner" })
	for _, e := range pod.Spec.Containers[i].Env {
		if e.ValueFrom == nil {
			env[e.Name] = e.Value
		}
	}
	c, err := runner.ParseConfig(pod.Spec.Containers[i].Args, func(name string) string { return env[name] }, io.Discard)
	c.Plan, c.TLSDir = filepath.Join(root, c.Plan), filepath.Join(root, c.TLSDir)
	return c, err
}

// Wait implements cluster.Process.
func (p *process) Wait() int32 { return <-p.exit }

// Ready implements cluster.Process.
func (p *process) Ready() bool { return p.code.Load() == 0 && !p.killed.Load() && !p.stopped.is() }

// Kill implements cluster.Process: nothing of the process reaches the network any more.
func (p *process) Kill() {
	p.killed.Store(true)
	p.stopped.end()
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

// at returns the runner of an address; nil: there was none.
func (r *runners) at(ip string) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byIP[ip]
}

// any returns runner n, modulo their number; nil: there is none.
func (r *runners) any(n int) *process {
	all := r.alive()
	if len(all) == 0 {
		return nil
	}
	return all[n%len(all)]
}
