//go:build skew

package skew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

const (
	operatorNamespace = "h2surge-system"
	namespace         = "skew"
	patience          = 2 * time.Minute
)

// anyUser is the row in which operator and runners have a random user and group, as under OpenShift's restricted-v2.
const anyUser = "any user"

// TestSkew: an operator and runners of different builds run a test together, and every request counts. A row that needs what the previous
// build lacks wants VersionMismatch: then the test ends before the start and says why.
func TestSkew(t *testing.T) {
	dir := os.Getenv("SKEW_DIR")
	if dir == "" {
		t.Fatal("SKEW_DIR is not set: run hack/skew.sh")
	}
	ctrl.SetLogger(logr.Discard())
	for _, tt := range []struct {
		name, operator, runner string
		onShardLost            v1alpha1.ShardLostAction
		idle                   v1alpha1.IdleStrategy
		want                   string // reason of Finished
	}{
		{"previous runner", "new", "old", v1alpha1.ShardLostFail, "", v1alpha1.ReasonCompleted},
		{"previous runner, Rebalance", "new", "old", v1alpha1.ShardLostRebalance, "", v1alpha1.ReasonCompleted},
		{"previous runner, Spin", "new", "old", v1alpha1.ShardLostFail, v1alpha1.IdleStrategySpin, v1alpha1.ReasonCompleted},
		{"previous operator", "old", "new", v1alpha1.ShardLostFail, "", v1alpha1.ReasonCompleted},
		{"previous operator, Rebalance", "old", "new", v1alpha1.ShardLostRebalance, "", v1alpha1.ReasonCompleted},
		{anyUser, "new", "new", v1alpha1.ShardLostFail, "", v1alpha1.ReasonCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served, url := target(t)
			w := newWorld(t, tt.name == anyUser, filepath.Join(dir, tt.operator), filepath.Join(dir, tt.runner, "runner"))
			lt := builder.Minimal("mixed").Namespace(namespace).TargetURL(url).Shards(2).Connections(2).
				Rates(builder.PerSecond("steady", 100, 3*time.Second)).
				Edit(func(s *v1alpha1.LoadTestSpec) {
					s.Targets[0].Protocol = v1alpha1.ProtocolH2C // a runner before version 8 cannot ask the server
					s.Runner.OnShardLost, s.Runner.IdleStrategy = tt.onShardLost, tt.idle
				}).Build()
			w.must(w.client.Create(w.ctx, lt))
			w.await("the end of the test", func() error {
				w.kubelet()
				w.must(w.client.Get(w.ctx, client.ObjectKeyFromObject(lt), lt))
				if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished); c == nil || c.Status != metav1.ConditionTrue {
					return fmt.Errorf("phase %s: %+v", lt.Status.Phase, lt.Status.Conditions)
				}
				return nil
			})
			finished := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished)
			t.Logf("%s: %s; the target got %d requests", finished.Reason, finished.Message, served.Load())
			if finished.Reason != tt.want {
				t.Errorf("the test ended with reason %s, want %s", finished.Reason, tt.want)
			}
			want := int64(300)
			if tt.want == v1alpha1.ReasonVersionMismatch {
				want = 0
				if !strings.Contains(finished.Message, "protocol version") {
					t.Errorf("message %q", finished.Message)
				}
			}
			sent := int64(0)
			if r := lt.Status.Results; r != nil {
				sent = r.Requests.Sent
			}
			if served.Load() != want || sent != want {
				t.Errorf("the target got %d requests, status has %d, want %d", served.Load(), sent, want)
			}
		})
	}
}

// target is an HTTP/2 server that counts requests.
func target(t *testing.T) (*atomic.Int64, string) {
	t.Helper()
	served := &atomic.Int64{}
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{
		Protocols: protocols, ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }),
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return served, "http://" + l.Addr().String()
}

// world is an API server, an operator of one build, and runners of another build in place of pods.
type world struct {
	t          *testing.T
	ctx        context.Context
	dir        string
	client     client.Client
	kubeconfig string
	runner     string
	pods       map[string]*pod
	// user of the processes; nil: that of the test.
	user *syscall.Credential
}

// pod is the process of a runner.
type pod struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	told bool          // the API server knows that
}

// newWorld starts the operator that is in a directory, with its CRDs. The target is on a loopback address, which the default rules deny.
func newWorld(t *testing.T, anyUser bool, operator, runner string) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), dir: t.TempDir(), runner: runner, pods: map[string]*pod{}}
	manager := filepath.Join(operator, "manager")
	if anyUser {
		manager, w.runner = w.asAnyUser(manager), w.asAnyUser(runner)
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join(operator, "crd")}, ErrorIfCRDPathMissing: true}
	config, err := env.Start()
	w.must(err)
	t.Cleanup(func() { _ = env.Stop() })
	user, err := env.AddUser(envtest.User{Name: "skew", Groups: []string{"system:masters"}}, nil)
	w.must(err)
	kubeconfig, err := user.KubeConfig()
	w.must(err)
	w.kubeconfig = w.file("kubeconfig", kubeconfig)
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	w.client, err = client.New(config, client.Options{Scheme: scheme})
	w.must(err)
	for _, name := range []string{operatorNamespace, namespace} {
		w.must(w.client.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	text := fmt.Sprintf("apiVersion: config.h2surge.io/v1alpha1\nkind: OperatorConfig\noperatorNamespace: %s\n"+
		"metrics: {bindAddress: \"0\"}\nhealth: {bindAddress: \"0\"}\nrunner: {image: \"h2surge:skew\"}\ntargets: {deniedByDefault: []}\n", operatorNamespace)
	w.spawn(exec.Command(manager, "-config", w.file("config.yaml", []byte(text))), "KUBECONFIG="+w.kubeconfig)
	return w
}

// asAnyUser makes all processes run as a random user, and returns a copy of a program that this user can execute. A folder of testing.T is
// for the user of the test only.
func (w *world) asAnyUser(program string) string {
	w.t.Helper()
	if os.Geteuid() != 0 {
		w.t.Skip("SKIPPED: only root starts processes of other users")
	}
	if w.user == nil {
		id := 1_000_000_000 + rand.Uint32N(1_000_000_000)
		w.t.Logf("user and group %d", id)
		w.user = &syscall.Credential{Uid: id, Gid: id}
		w.must(os.Chmod(filepath.Dir(w.dir), 0o755))
	}
	content, err := os.ReadFile(program)
	w.must(err)
	program = w.file(filepath.Base(program), content)
	w.must(os.Chmod(program, 0o755))
	return program
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) file(name string, content []byte) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, content, 0o644)) // as in volumes of Secrets and ConfigMaps
	return path
}

// spawn starts a process that ends with the test. Its output is logged if the test fails.
func (w *world) spawn(cmd *exec.Cmd, env ...string) *pod {
	w.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &out, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: w.user}
	w.must(cmd.Start())
	p := &pod{cmd: cmd, done: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.done) }()
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-p.done
		if w.t.Failed() {
			w.t.Logf("%s:\n%s", filepath.Base(cmd.Path), out.String())
		}
	})
	return p
}

// await repeats f until it succeeds.
func (w *world) await(what string, f func() error) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := f()
		switch {
		case err == nil:
			return
		case time.Now().After(deadline):
			w.t.Fatalf("waiting for %s: %v", what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// kubelet starts the processes of the Jobs' pods, and reports those that have ended.
func (w *world) kubelet() {
	var jobs batchv1.JobList
	w.must(w.client.List(w.ctx, &jobs, client.InNamespace(namespace)))
	for i := range jobs.Items {
		job := &jobs.Items[i]
		for index := range int(*job.Spec.Completions) {
			name := fmt.Sprintf("%s-%d", job.Name, index)
			if w.pods[name] == nil && job.DeletionTimestamp == nil {
				w.pods[name] = w.start(job, name, index)
			}
		}
	}
	for name, p := range w.pods {
		select {
		case <-p.done:
			w.ended(name, p)
		default:
		}
	}
}

// start runs the container of a pod of a Job, with the operator's arguments. Each runner has its own loopback address.
func (w *world) start(job *batchv1.Job, name string, index int) *pod {
	w.t.Helper()
	o := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	o.Namespace, o.Name, o.Spec.NodeName = namespace, name, "node"
	o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(index)
	w.must(w.client.Create(w.ctx, o))
	address := fmt.Sprintf("127.3.%d.%d", len(w.pods), index+1)
	replaced := map[string]string{
		"--plan":            w.mount(o, name),
		"--tls-dir":         filepath.Join(w.dir, name, "tls"),
		"--control-address": fmt.Sprintf("%s:%d", address, rv.ControlPort),
		"--metrics-address": address + ":0",
	}
	var args []string
	for _, arg := range o.Spec.Containers[0].Args {
		flag, _, _ := strings.Cut(arg, "=")
		if value, ok := replaced[flag]; ok {
			arg = flag + "=" + value
		}
		args = append(args, arg)
	}
	p := w.spawn(exec.Command(w.runner, args...), "POD_NAME="+name, "NODE_NAME=node", "JOB_COMPLETION_INDEX="+strconv.Itoa(index))
	o.Status.Phase, o.Status.PodIP, o.Status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
	o.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: o.Spec.Containers[0].Name, Image: o.Spec.Containers[0].Image, Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	w.must(w.client.Status().Update(w.ctx, o))
	return p
}

// mount writes the files of a pod's volumes, and returns the path of the plan.
func (w *world) mount(o *corev1.Pod, name string) (plan string) {
	w.t.Helper()
	for _, v := range o.Spec.Volumes {
		switch {
		case v.Secret != nil:
			var secret corev1.Secret
			w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: v.Secret.SecretName}, &secret))
			for file, content := range secret.Data {
				w.file(filepath.Join(name, "tls", file), content)
			}
		case v.ConfigMap != nil:
			var cm corev1.ConfigMap
			w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: v.ConfigMap.Name}, &cm))
			plan = w.file(filepath.Join(name, "plan"), cm.BinaryData[v.ConfigMap.Items[0].Key])
		}
	}
	if plan == "" {
		w.t.Fatal(errors.New("the pod mounts no plan"))
	}
	return plan
}

// ended reports the end of a process, as a kubelet does.
func (w *world) ended(name string, p *pod) {
	if p.told {
		return
	}
	p.told = true
	o := &corev1.Pod{}
	if err := w.client.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); client.IgnoreNotFound(err) != nil || err != nil {
		w.must(client.IgnoreNotFound(err))
		return
	}
	code := p.cmd.ProcessState.ExitCode()
	o.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		o.Status.Phase = corev1.PodFailed
	}
	o.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: "Completed", FinishedAt: metav1.Now()}}
	w.must(w.client.Status().Update(w.ctx, o))
}
