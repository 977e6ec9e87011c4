// Command scale measures what the operator costs. It starts an API server with etcd, the operator and a process that
// simulates all runners, runs LoadTests, and reads CPU time and memory of the operator's process, the writes of the API
// server and the bytes of etcd's log.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// options are the flags.
type options struct {
	runs, shards, steps, rate int
	thresholds                int
	finished, foreign         int
	reportBytes, restarts     int
	settle, measure, timeout  time.Duration
	manager, fleet, dir       string
	json, profile             string
	check                     bool
}

func main() {
	o := options{}
	flag.IntVar(&o.runs, "runs", 10, "number of LoadTests that run together, at most 100; 0: measure only kept objects")
	flag.IntVar(&o.shards, "shards", 2000, "number of shards of all LoadTests together, at most 10000")
	flag.IntVar(&o.steps, "steps", 4, "number of steps of each LoadTest, at most 256, in chains of at most 64")
	flag.IntVar(&o.rate, "rate", 500, "requests per second and shard")
	flag.IntVar(&o.thresholds, "thresholds", 0, "number of thresholds of each LoadTest, at most 64")
	flag.IntVar(&o.finished, "finished", 0, "number of finished LoadTests that are kept with their reports, at most 1000")
	flag.IntVar(&o.foreign, "foreign", 0,
		"number of ConfigMaps of a tenant that have the label of the operator, at most 1000")
	flag.IntVar(&o.reportBytes, "report-bytes", 900<<10,
		"bytes of each report and of each ConfigMap of the tenant, 256 KiB to 1 MiB")
	flag.IntVar(&o.restarts, "restarts", 3, "number of restarts of the operator for each figure of kept objects, 1 to 20")
	flag.DurationVar(&o.settle, "settle", 20*time.Second, "time before each measurement")
	flag.DurationVar(&o.measure, "measure", time.Minute, "length of the measurement")
	flag.DurationVar(&o.timeout, "timeout", 15*time.Minute, "bound of the whole command")
	flag.StringVar(&o.manager, "manager", "bin/manager", "`path` of the operator")
	flag.StringVar(&o.fleet, "fleet", "dist/scale/fleet", "`path` of the simulator")
	flag.StringVar(&o.dir, "dir", "dist/scale", "`directory` for logs")
	flag.StringVar(&o.json, "json", "", "`file` for the figures as JSON")
	flag.StringVar(&o.profile, "profile", "",
		"`file` for a CPU profile; the operator must be built with the tag pprof. The heap is written to FILE.heap, and that of operators with kept objects to FILE.kept-N.heap")
	flag.BoolVar(&o.check, "check", false, "fail if a figure is above its mark")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatalln("scale:", err)
	}
}

func run(ctx context.Context, o options) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	w := &world{options: o}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.start(ctx); err != nil {
		return err
	}
	figures := &Figures{CPUs: runtime.NumCPU()}
	if o.finished+o.foreign > 0 {
		if figures.Kept, err = w.keep(ctx); err != nil {
			return err
		}
	}
	if o.runs > 0 {
		if err := w.run(ctx, figures); err != nil {
			return err
		}
	}
	fmt.Print(figures.table())
	if o.json != "" {
		b, err := json.MarshalIndent(figures, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(b, '\n'), 0o600); err != nil {
			return err
		}
	}
	if o.check {
		return figures.check()
	}
	return nil
}

func (o *options) validate() error {
	switch {
	case o.runs == 0 && o.finished+o.foreign == 0:
		return errors.New("runs: must be at least 1 without -finished and -foreign")
	case o.runs < 0 || o.runs > 100 || o.shards < o.runs || o.shards > 10000 || o.runs > 0 && o.shards > 256*o.runs ||
		o.steps < 1 || o.steps > 256:
		return errors.New("runs: 1 to 100; shards: runs to 10000, at most 256 a run; steps: 1 to 256")
	case o.thresholds < 0 || o.thresholds > 64 || o.finished < 0 || o.finished > 1000 || o.foreign < 0 || o.foreign > 1000:
		return errors.New("thresholds: at most 64; finished and foreign: at most 1000")
	case o.reportBytes < 256<<10 || o.reportBytes > 1<<20 || o.restarts < 1 || o.restarts > 20:
		return errors.New("report-bytes: 262144 to 1048576; restarts: 1 to 20")
	}
	return nil
}

// run measures the operator while LoadTests run.
func (w *world) run(ctx context.Context, f *Figures) error {
	idle, err := w.sample(ctx)
	if err != nil {
		return err
	}
	if err := w.load(ctx); err != nil {
		return err
	}
	if err := w.figures(ctx, idle, f); err != nil {
		return err
	}
	return w.end(ctx, f)
}

// world is the three processes.
type world struct {
	options
	env             *envtest.Environment
	client          client.WithWatch
	kubeconfig      string
	operator, fleet *process
	totals          string // address of the simulator's /totals
	metrics         string // address of the operator's /metrics
	pprof           string
	quiets          int // measurements of the memory of an operator that has nothing to do
}

// process is a child that the command ends.
type process struct {
	*exec.Cmd
	done chan error
}

const (
	operatorNamespace = "h2surge-system"
	namespace         = "scale"
	keptNamespace     = "kept"
)

func (w *world) start(ctx context.Context) error {
	if err := os.MkdirAll(w.dir, 0o750); err != nil {
		return err
	}
	w.env = &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("config", "crd", "bases")},
		ErrorIfCRDPathMissing: true}
	w.env.ControlPlane.Etcd = &envtest.Etcd{}
	// the default of 2 GiB is less than all kept objects
	w.env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", fmt.Sprint(8<<30))
	config, err := w.env.Start()
	if err != nil {
		return fmt.Errorf("starting the API server: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	user, err := w.env.AddUser(envtest.User{Name: "scale", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return err
	}
	w.kubeconfig = filepath.Join(w.dir, "kubeconfig")
	if err := os.WriteFile(w.kubeconfig, kubeconfig, 0o600); err != nil {
		return err
	}
	scheme := kuberuntime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	if w.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, name := range []string{operatorNamespace, namespace, keptNamespace} {
		if err := w.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	if err := w.startFleet(ctx); err != nil {
		return err
	}
	return w.startOperator(ctx)
}

func (w *world) startFleet(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, w.options.fleet)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if w.fleet, err = w.spawn(cmd, "fleet.log"); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the simulator of runners does not start, see %s/fleet.log: %w", w.dir, err)
	}
	w.totals = strings.TrimSpace(line)
	return nil
}

func (w *world) startOperator(ctx context.Context) error {
	var err error
	if w.metrics, err = freeAddress(); err != nil {
		return err
	}
	if w.pprof, err = freeAddress(); err != nil {
		return err
	}
	config := filepath.Join(w.dir, "config.yaml")
	text := fmt.Sprintf(`apiVersion: config.h2surge.io/v1alpha1
kind: OperatorConfig
operatorNamespace: %s
metrics: {bindAddress: %q, secure: false}
health: {bindAddress: "0"}
runner: {image: "h2surge:scale"}
`, operatorNamespace, w.metrics)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, w.manager, "-config", config)
	cmd.Env = append(os.Environ(), "H2SURGE_PPROF="+w.pprof)
	if w.operator, err = w.spawn(cmd, "manager.log"); err != nil {
		return err
	}
	return w.await(ctx, "the operator's metrics", func() error {
		_, err := scrape(ctx, "http://"+w.metrics+"/metrics")
		return err
	})
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func (w *world) spawn(cmd *exec.Cmd, logfile string) (*process, error) {
	f, err := os.Create(filepath.Join(w.dir, logfile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "KUBECONFIG="+w.kubeconfig)
	cmd.Stderr = f
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd, make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	return p, nil
}

func (w *world) close() error {
	for _, p := range []*process{w.operator, w.fleet} {
		if p == nil {
			continue
		}
		_ = p.Process.Kill() // nothing of theirs is kept
		<-p.done
	}
	if w.env == nil {
		return nil
	}
	return w.env.Stop()
}

// await repeats f until it succeeds.
func (w *world) await(ctx context.Context, what string, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, err)
		case err := <-w.operator.done:
			w.operator.done <- err
			return fmt.Errorf("the operator ended, see %s/manager.log: %w", w.dir, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// load creates the LoadTests and waits until all run.
func (w *world) load(ctx context.Context) error {
	for i := range w.runs {
		if err := w.client.Create(ctx, w.loadTest(i)); err != nil {
			return err
		}
	}
	if err := w.reach(ctx, namespace, "all LoadTests to run",
		func(s *v1alpha1.LoadTestStatus) bool { return s.Phase == v1alpha1.PhaseRunning }); err != nil {
		return err
	}
	return sleep(ctx, w.settle)
}

// reach waits for all LoadTests of a namespace.
func (w *world) reach(ctx context.Context, namespace, what string, ok func(*v1alpha1.LoadTestStatus) bool) error {
	return w.await(ctx, what, func() error {
		var list v1alpha1.LoadTestList
		if err := w.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if lt := &list.Items[i]; !ok(&lt.Status) {
				return fmt.Errorf("LoadTest %s is in phase %s: %+v", lt.Name, lt.Status.Phase, lt.Status.Summary)
			}
		}
		return nil
	})
}

func (w *world) loadTest(i int) *v1alpha1.LoadTest {
	shards := w.shards / w.runs
	if i < w.shards%w.runs {
		shards++
	}
	lt := builder.Minimal(fmt.Sprintf("run-%d", i)).Namespace(namespace).Shards(int32(shards)).Connections(int32(shards)).
		Rates(builder.PerSecond("steady", int64(w.rate*shards), 2*time.Hour)).Build()
	w.fill(lt)
	return lt
}

// fill gives a LoadTest its steps and thresholds. The observed value of every second threshold is different at each
// poll.
func (w *world) fill(lt *v1alpha1.LoadTest) {
	for i := range w.thresholds {
		t := builder.P99("1h")
		if i%2 == 1 {
			t = v1alpha1.Threshold{Metric: v1alpha1.MetricResponses, Min: ptr.To(intstr.FromInt32(1))}
		}
		t.Name = fmt.Sprintf("threshold-%d", i)
		lt.Spec.Thresholds = append(lt.Spec.Thresholds, t)
	}
	lt.Spec.Chains, lt.Spec.Templates = nil, nil
	for s := range w.steps {
		name := fmt.Sprintf("step-%d", s)
		lt.Spec.Templates = append(lt.Spec.Templates, v1alpha1.Template{Name: name})
		if s%stepsPerChain == 0 {
			lt.Spec.Chains = append(lt.Spec.Chains, v1alpha1.Chain{Name: fmt.Sprintf("chain-%d", s/stepsPerChain),
				Target: "target"})
		}
		chain := &lt.Spec.Chains[s/stepsPerChain]
		chain.Steps = append(chain.Steps, v1alpha1.Step{Template: name})
	}
}

// stepsPerChain is the bound of the API.
const stepsPerChain = 64

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
