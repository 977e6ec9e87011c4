// Command fleet simulates the Job controller, the kubelets and all runners of a cluster in one process, for
// measurements of the operator. Each pod has its own loopback address, and the runner of the pod answers there on the
// control port, over mutual TLS. A runner sends nothing: its counts follow from the time since its start.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/runnertest"
	"github.com/h2surge/h2surge/internal/plan"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`address` of /totals")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen); err != nil {
		log.Fatalln("fleet:", err)
	}
}

func run(ctx context.Context, listen string) error {
	kube, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	kube.QPS, kube.Burst = 2000, 4000
	c, err := client.New(kube, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return err
	}
	f := &fleet{client: c, pods: map[string]*pod{}, jobs: map[string]*job{}, steps: map[*runnerv1alpha1.Plan]*shape{}}
	control, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", runnerv1alpha1.ControlPort))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(f.serve), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(discard{},
		"", 0)}
	go func() {
		_ = server.Serve(tls.NewListener(control, &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: f.tls}))
	}()
	totals, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println(totals.Addr()) // the parent process reads it
	mux := http.NewServeMux()
	mux.HandleFunc("/totals", f.totals)
	go func() { _ = (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(totals) }()
	for ctx.Err() == nil {
		if err := f.round(ctx); err != nil && ctx.Err() == nil {
			log.Println("fleet:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
	return nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// fleet has all pods.
type fleet struct {
	client client.Client

	mu        sync.RWMutex
	pods      map[string]*pod                 // by address; guarded by mu
	jobs      map[string]*job                 // by UID; guarded by mu
	addresses int                             // that were given to pods; guarded by mu
	steps     map[*runnerv1alpha1.Plan]*shape // guarded by mu
}

// job is what a Job's pods share.
type job struct {
	loadTest string
	plan     *runnerv1alpha1.Plan
	tls      *tls.Config
	pods     map[int]*pod
}

type pod struct {
	name   string
	runner *runnertest.Runner
	tls    *tls.Config
	ended  bool
}

// of returns the pod whose address is the local end of a connection; nil: there is no such pod.
func (f *fleet) of(local net.Addr) *pod {
	host, _, err := net.SplitHostPort(local.String())
	if err != nil {
		return nil
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.pods[host]
}

func (f *fleet) tls(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	p := f.of(hello.Conn.LocalAddr())
	if p == nil {
		return nil, errors.New("no pod has this address")
	}
	return p.tls, nil
}

func (f *fleet) serve(w http.ResponseWriter, req *http.Request) {
	local, _ := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if p := f.of(local); p != nil {
		p.runner.ServeHTTP(w, req)
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

// round creates the pods that Jobs lack, and ends those whose runner may exit.
func (f *fleet) round(ctx context.Context) error {
	var jobs batchv1.JobList
	if err := f.client.List(ctx, &jobs, client.MatchingLabels{desired.LabelManagedBy: desired.Application}); err != nil {
		return err
	}
	work := make(chan func() error)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for w := range work {
				if err := w(); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
					log.Println("fleet:", err)
				}
			}
		})
	}
	defer workers.Wait()
	defer close(work)
	for i := range jobs.Items {
		if err := f.play(ctx, &jobs.Items[i], work); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) play(ctx context.Context, of *batchv1.Job, work chan<- func() error) error {
	if of.DeletionTimestamp != nil || of.Spec.Suspend != nil && *of.Spec.Suspend {
		return nil
	}
	j, err := f.job(ctx, of)
	if err != nil {
		return err
	}
	for i := range int(*of.Spec.Completions) {
		f.mu.RLock()
		p := j.pods[i]
		f.mu.RUnlock()
		switch {
		case p == nil:
			work <- func() error { return f.create(ctx, of, j, i) }
		case !p.ended && p.runner.Acked():
			p.ended = true
			work <- func() error { return f.end(ctx, of.Namespace, p.name) }
		}
	}
	return nil
}

// job reads what a Job mounts.
func (f *fleet) job(ctx context.Context, of *batchv1.Job) (*job, error) {
	f.mu.RLock()
	known := f.jobs[string(of.UID)]
	f.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	j := &job{loadTest: of.Labels[desired.LabelLoadTest], pods: map[int]*pod{}}
	for _, v := range of.Spec.Template.Spec.Volumes {
		switch {
		case v.Secret != nil:
			var secret corev1.Secret
			if err := f.client.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: v.Secret.SecretName},
				&secret); err != nil {
				return nil, err
			}
			cfg, err := runnertest.ServerTLS(secret.Data)
			if err != nil {
				return nil, err
			}
			j.tls = cfg
		case v.ConfigMap != nil:
			var cm corev1.ConfigMap
			if err := f.client.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: v.ConfigMap.Name}, &cm); err != nil {
				return nil, err
			}
			p, err := plan.Decode(cm.BinaryData[desired.KeyPlan], of.Annotations[desired.AnnotationPlanDigest])
			if err != nil {
				return nil, err
			}
			j.plan = p
		}
	}
	if j.plan == nil || j.tls == nil {
		return nil, fmt.Errorf("job %s mounts no plan or no certificate", of.Name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs[string(of.UID)] = j
	f.steps[j.plan] = newShape(j.plan)
	return j, nil
}

// address returns the next free address of 127.0.0.0/8, from 127.1.0.1 on.
func (f *fleet) address() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.addresses
	f.addresses++
	return fmt.Sprintf("127.%d.%d.%d", 1+n/(250*250), n/250%250, 1+n%250)
}

func (f *fleet) create(ctx context.Context, of *batchv1.Job, j *job, index int) error {
	f.mu.RLock()
	s := f.steps[j.plan]
	f.mu.RUnlock()
	p := &pod{name: fmt.Sprintf("%s-%d", of.Name, index), tls: j.tls}
	p.runner = runnertest.New(j.plan, p.name, time.Duration(index)*time.Hour).Shape(s.apply)
	address := f.address()
	o := &corev1.Pod{ObjectMeta: *of.Spec.Template.ObjectMeta.DeepCopy(), Spec: *of.Spec.Template.Spec.DeepCopy()}
	o.Namespace, o.Name = of.Namespace, p.name
	o.Spec.NodeName = fmt.Sprintf("node-%d", index%64)
	o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, batchv1.SchemeGroupVersion.WithKind("Job"))}
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(index)
	if err := f.client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	f.mu.Lock()
	f.pods[address] = p
	j.pods[index] = p
	f.mu.Unlock()
	o.Status.Phase, o.Status.PodIP, o.Status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
	o.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: desired.RunnerContainer, Image: "h2surge:scale", Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	return f.client.Status().Update(ctx, o)
}

func (f *fleet) end(ctx context.Context, namespace, name string) error {
	o := &corev1.Pod{}
	if err := f.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		return err
	}
	o.Status.Phase = corev1.PodSucceeded
	for i := range o.Status.ContainerStatuses {
		ended := corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now()}
		o.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &ended}
	}
	return f.client.Status().Update(ctx, o)
}

// Total is how many runners of a LoadTest have started, and how long ago the first of them did.
type Total struct {
	Runners int
	Elapsed time.Duration
}

func (f *fleet) totals(w http.ResponseWriter, _ *http.Request) {
	out := map[string]Total{}
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, j := range f.jobs {
		t := Total{}
		for _, p := range j.pods {
			if at := p.runner.Begun(); !at.IsZero() {
				t.Runners, t.Elapsed = t.Runners+1, max(t.Elapsed, time.Since(at))
			}
		}
		out[j.loadTest] = t
	}
	_ = json.NewEncoder(w).Encode(out)
}
