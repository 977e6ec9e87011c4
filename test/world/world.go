// Package world runs an operator and runners as processes, with a real API server and without a cluster.
package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

const (
	operatorNamespace = "h2surge-system"
	patience          = 2 * time.Minute
)

const config = `apiVersion: config.h2surge.io/v1alpha1
kind: OperatorConfig
operatorNamespace: ` + operatorNamespace + `
metrics: {bindAddress: "0"}
health: {bindAddress: "0"}
runner: {image: "h2surge:test"}
targets: {deniedByDefault: []}
`

// World is an API server, an operator, and processes of runners in place of pods.
type World struct {
	Client     client.Client
	Kubeconfig string // the path of a file

	t                 *testing.T
	ctx               context.Context
	dir               string
	namespace, runner string
	pods              map[string]*pod
	// user of the processes; nil: that of the test.
	user *syscall.Credential
}

// Programs are the operator with the directory of its CRDs, and the runner.
type Programs struct {
	Operator, CRDs, Runner string
	// AnyUser is true if they run as a random user and group, as under OpenShift's restricted-v2.
	AnyUser bool
}

// pod is the process of a runner.
type pod struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	told bool          // the API server knows that
}

// New starts an operator for LoadTests of a namespace. Their targets may be on loopback addresses, which the default
// rules deny.
func New(t *testing.T, namespace string, p Programs) *World {
	t.Helper()
	w := &World{t: t, ctx: t.Context(), dir: t.TempDir(), namespace: namespace, runner: p.Runner, pods: map[string]*pod{}}
	if p.AnyUser {
		p.Operator, w.runner = w.asAnyUser(p.Operator), w.asAnyUser(p.Runner)
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{p.CRDs}, ErrorIfCRDPathMissing: true}
	rest, err := env.Start()
	w.Must(err)
	t.Cleanup(func() { _ = env.Stop() })
	user, err := env.AddUser(envtest.User{Name: "user", Groups: []string{"system:masters"}}, nil)
	w.Must(err)
	kubeconfig, err := user.KubeConfig()
	w.Must(err)
	w.Kubeconfig = w.file("kubeconfig", kubeconfig)
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	w.Client, err = client.New(rest, client.Options{Scheme: scheme})
	w.Must(err)
	for _, name := range []string{operatorNamespace, namespace} {
		w.Must(w.Client.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	w.spawn(exec.Command(p.Operator, "-config", w.file("config.yaml", []byte(config))), "KUBECONFIG="+w.Kubeconfig)
	return w
}

// asAnyUser makes all processes run as a random user, and returns a copy of a program that this user can execute. A
// folder of testing.T is for the user of the test only.
func (w *World) asAnyUser(program string) string {
	w.t.Helper()
	if os.Geteuid() != 0 {
		w.t.Skip("SKIPPED: only root starts processes of other users")
	}
	if w.user == nil {
		id := 1_000_000_000 + rand.Uint32N(1_000_000_000)
		w.t.Logf("user and group %d", id)
		w.user = &syscall.Credential{Uid: id, Gid: id}
		w.Must(os.Chmod(filepath.Dir(w.dir), 0o755))
	}
	content, err := os.ReadFile(program)
	w.Must(err)
	program = w.file(filepath.Base(program), content)
	w.Must(os.Chmod(program, 0o755))
	return program
}

// Must ends the test if there is an error.
func (w *World) Must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *World) file(name string, content []byte) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	w.Must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.Must(os.WriteFile(path, content, 0o644)) // as in volumes of Secrets and ConfigMaps
	return path
}

// spawn starts a process that ends with the test. Its output is logged if the test fails.
func (w *World) spawn(cmd *exec.Cmd, env ...string) *pod {
	w.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &out, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: w.user}
	w.Must(cmd.Start())
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

// Await repeats f until it succeeds.
func (w *World) Await(what string, f func() error) {
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

// Kubelet starts the processes of the Jobs' pods, and reports those that have ended.
func (w *World) Kubelet() {
	var jobs batchv1.JobList
	w.Must(w.Client.List(w.ctx, &jobs, client.InNamespace(w.namespace)))
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
func (w *World) start(job *batchv1.Job, name string, index int) *pod {
	w.t.Helper()
	o := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	o.Namespace, o.Name, o.Spec.NodeName = w.namespace, name, "node"
	o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(index)
	w.Must(w.Client.Create(w.ctx, o))
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
	p := w.spawn(exec.Command(w.runner, args...), "POD_NAME="+name, "NODE_NAME=node", "JOB_COMPLETION_INDEX="+
		strconv.Itoa(index))
	o.Status.Phase, o.Status.PodIP, o.Status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
	o.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: o.Spec.Containers[0].Name, Image: o.Spec.Containers[0].Image, Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	w.Must(w.Client.Status().Update(w.ctx, o))
	return p
}

// mount writes the files of a pod's volumes, and returns the path of the plan.
func (w *World) mount(o *corev1.Pod, name string) (plan string) {
	w.t.Helper()
	for _, v := range o.Spec.Volumes {
		switch {
		case v.Secret != nil:
			var secret corev1.Secret
			w.Must(w.Client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: v.Secret.SecretName}, &secret))
			for file, content := range secret.Data {
				w.file(filepath.Join(name, "tls", file), content)
			}
		case v.ConfigMap != nil:
			var cm corev1.ConfigMap
			w.Must(w.Client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: v.ConfigMap.Name}, &cm))
			plan = w.file(filepath.Join(name, "plan"), cm.BinaryData[v.ConfigMap.Items[0].Key])
		}
	}
	if plan == "" {
		w.t.Fatal(errors.New("the pod mounts no plan"))
	}
	return plan
}

// ended reports the end of a process, as a kubelet does.
func (w *World) ended(name string, p *pod) {
	if p.told {
		return
	}
	p.told = true
	o := &corev1.Pod{}
	if err := w.Client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name},
		o); client.IgnoreNotFound(err) != nil || err != nil {
		w.Must(client.IgnoreNotFound(err))
		return
	}
	code := p.cmd.ProcessState.ExitCode()
	o.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		o.Status.Phase = corev1.PodFailed
	}
	o.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: int32(code), Reason: "Completed", FinishedAt: metav1.Now(),
	}}
	w.Must(w.Client.Status().Update(w.ctx, o))
}
