package loadtest_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/runnertest"
	"github.com/h2surge/h2surge/controllers/loadtest"
	"github.com/h2surge/h2surge/internal/plan"
)

// Bounds of what a story waits for. They only bound failures.
const (
	soon = time.Minute // on a machine that is busy with other tests
	poll = 50 * time.Millisecond
)

// apiServer, its client and the news of its objects are shared by the stories of this package; nil with -short.
var (
	apiServer    *rest.Config
	sharedClient client.Client
	sharedNews   *news
)

// storiesAtATime is the default of -parallel: stories wait most of the time, whatever the number of CPUs.
const storiesAtATime = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	os.Exit(withAPIServer(m))
}

func withAPIServer(m *testing.M) int {
	if testing.Short() || flag.Lookup("test.fuzz").Value.String() != "" { // the fuzz target has its own API server
		return m.Run()
	}
	for name, value := range map[string]string{ // stories run in parallel
		"AWS_ACCESS_KEY_ID": "of-the-tests", "AWS_SECRET_ACCESS_KEY": "of-the-tests",
		"GOGC": lessGC, // of the API server and etcd, which have little memory to look after
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "KUBEBUILDER_ASSETS is not set, so there is no API server to test with: \"make test\" sets it; -short leaves these tests out")
		return 1
	}
	parallel := false
	flag.Visit(func(f *flag.Flag) { parallel = parallel || f.Name == "test.parallel" })
	if !parallel {
		_ = flag.Set("test.parallel", storiesAtATime)
	}
	debug.SetGCPercent(400)
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	env.ControlPlane.GetAPIServer().Configure().Set("enable-priority-and-fairness", "false")
	config, err := env.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		return 1
	}
	config.QPS = -1
	apiServer = config
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := share(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "connecting to the API server:", err)
		return 1
	}
	code := m.Run()
	cancel() // the API server waits for watches before it ends
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		return 1
	}
	return code
}

// lessGC is GOGC while the stories run: they make much garbage, and keep little.
const lessGC = "400"

// share makes what the stories share. One RESTMapper asks the API server once for its resources, and not for each operator.
func share(ctx context.Context) error {
	httpClient, err := rest.HTTPClientFor(apiServer)
	if err != nil {
		return err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(apiServer, httpClient)
	if err != nil {
		return err
	}
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{})
	options := client.Options{Scheme: controllers.ManagerOptions(cfg, nil).Scheme, Mapper: mapper, HTTPClient: httpClient}
	if sharedClient, err = client.New(apiServer, options); err != nil {
		return err
	}
	sharedNews, err = newNews(ctx, apiServer, options)
	return err
}

// world is a namespace with an operator of its own. It plays what envtest lacks: the Job
// controller, kubelets, and runners behind real TLS. Its verbs are what users and fate do.
type world struct {
	*testing.T
	gomega.Gomega
	ctx    context.Context
	client client.Client
	ns     string
	cfg    *configv1alpha1.OperatorConfig
	stop   func() // ends the operator
	// checkpoints is Options.CheckpointInterval of the next operator.
	checkpoints time.Duration
	// ahead is what the operators' clocks are ahead of the machine's, in nanoseconds.
	ahead atomic.Int64
	// nodes is how often operators of changeNodes listed the nodes.
	nodes atomic.Int64

	// round is held by the Job controller while it lists the Jobs and plays them, and by what deletes their pods.
	round     sync.Mutex
	mu        sync.Mutex
	runners   map[string]*runnertest.Runner // by pod; guarded by mu
	addresses sync.Map                      // of runners, by pod
	indices   map[string]*index             // by Job and index; guarded by mu
	played    map[string]int32              // the number of indices that the Job controller saw last, by Job; guarded by mu
	// hold keeps pods from being made, or leaves them pending; guarded by mu.
	hold func(job *batchv1.Job, index int) bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, func(*configv1alpha1.OperatorConfig) {})
}

// newWorldWith is newWorld with another configuration of the operator.
func newWorldWith(t *testing.T, edit func(*configv1alpha1.OperatorConfig)) *world {
	t.Helper()
	if apiServer == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	t.Parallel()
	w := &world{
		T: t, Gomega: gomega.NewWithT(t), ctx: context.Background(), client: sharedClient,
		runners: map[string]*runnertest.Runner{}, indices: map[string]*index{}, played: map[string]int32{},
	}
	w.SetDefaultEventuallyTimeout(soon)
	w.SetDefaultEventuallyPollingInterval(poll)
	w.cfg = &configv1alpha1.OperatorConfig{}
	w.cfg.LeaderElection.Enabled = ptr.To(false)
	w.cfg.Metrics = configv1alpha1.Metrics{BindAddress: "0", Secure: ptr.To(false)}
	w.cfg.Health.BindAddress = "0"
	w.cfg.Runner.SnapshotInterval.Duration = 200 * time.Millisecond
	w.cfg.Runner.ControlTimeout.Duration = soon // a runner that is silent refuses calls at once; others are late on a busy machine
	w.cfg.Runner.StartLead.Duration = 100 * time.Millisecond
	edit(w.cfg)

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}
	w.must(w.client.Create(w.ctx, ns))
	w.ns, w.cfg.Namespaces, w.cfg.OperatorNamespace = ns.Name, []string{ns.Name}, ns.Name
	w.operator()
	w.jobController()
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// operator starts an operator, in the place of one that runs.
func (w *world) operator() {
	w.Helper()
	w.endOperator()
	done, cancel, _ := w.replica(apiServer)
	w.stop = func() {
		cancel()
		if err := <-done; err != nil {
			var stacks strings.Builder // what did not end is among them
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2)
			w.Errorf("the manager: %v\n%s", err, stacks.String())
		}
	}
	w.Cleanup(w.endOperator)
}

// replica starts an operator beside others. The channel has the result of its process; cancel ends it. The Leader is nil without an election.
func (w *world) replica(kube *rest.Config) (done <-chan error, cancel func(), leader loadtest.Leader) {
	w.Helper()
	cfg := w.cfg.DeepCopy() // another operator may read its own
	cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
	options := controllers.ManagerOptions(cfg, nil)
	options.Controller.SkipNameValidation = ptr.To(true)
	options.Logger = logr.Discard()
	options.GracefulShutdownTimeout = ptr.To(soon)
	options.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return w.client.RESTMapper(), nil }
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = ptr.To(5*time.Second), ptr.To(3*time.Second), ptr.To(500*time.Millisecond)
	ctx, cancel := context.WithCancel(w.ctx)
	mgr, leader, err := controllers.NewManager(ctx, kube, cfg, options)
	w.must(err)
	w.must(controllers.Setup(ctx, mgr, cfg, controllers.Options{
		ControlAddress: w.address,
		Clock:          func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) },
		StatusInterval: time.Second / 2, // each write of a status costs the API server some milliseconds
		Leader:         leader,

		CheckpointInterval: w.checkpoints,
		PodsGrace:          soon, // the Job controller of a busy machine is slow
	}))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ended, cancel, leader
}

// successor replaces the operator while a LoadTest runs, and waits until the new one shows more of its load.
func (w *world) successor(name string) {
	w.Helper()
	w.operator()
	w.awaitLoad(name, w.get(name).Status.Results.Requests.Sent+200)
}

func (w *world) endOperator() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// jobController makes pods of Jobs and runs them until the test ends.
func (w *world) jobController() {
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			changed := sharedNews.next(w.ns)
			w.playJobs(ctx)
			select {
			case <-ctx.Done():
			case <-changed:
			case <-time.After(4 * poll): // a runner may have ended
			}
		}
	}()
	w.Cleanup(func() { cancel(); <-done })
}

func (w *world) playJobs(ctx context.Context) {
	w.round.Lock()
	defer w.round.Unlock()
	var jobs batchv1.JobList
	if err := w.client.List(ctx, &jobs, client.InNamespace(w.ns)); err != nil && ctx.Err() == nil {
		w.Logf("listing the Jobs: %v", err)
	}
	for i := range jobs.Items {
		w.playJob(ctx, &jobs.Items[i])
	}
}

// collectGarbage deletes objects and all pods, whose runners then do not exist. It plays the garbage collector, which envtest lacks.
func (w *world) collectGarbage(objects ...client.Object) {
	w.Helper()
	w.round.Lock() // the Job controller must not continue with a Job that is deleted now
	defer w.round.Unlock()
	for _, o := range objects {
		w.must(client.IgnoreNotFound(w.client.Delete(w.ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))))
	}
	w.must(w.client.DeleteAllOf(w.ctx, &corev1.Pod{}, client.InNamespace(w.ns), client.GracePeriodSeconds(0)))
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.runners)
	clear(w.indices)
}

// index is one of a Job. It has another pod each time that the Job comes to have it again.
type index struct {
	times            int
	completed, fails bool
}

// podOf is the name of an index's pod; w.mu is held.
func (w *world) podOf(job *batchv1.Job, i int) (name string, of *index) {
	name = fmt.Sprintf("%s-%d", job.Name, i)
	of = w.indices[name]
	if of == nil {
		of = &index{}
		w.indices[name] = of
	}
	if of.times > 0 {
		name += fmt.Sprint("-again-", of.times)
	}
	return name, of
}

func (w *world) playJob(ctx context.Context, job *batchv1.Job) {
	if job.Labels[desired.LabelManagedBy] != desired.Application || job.DeletionTimestamp != nil {
		return
	}
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		w.playSuspend(ctx, job)
		return
	}
	for i := range int(*job.Spec.Completions) {
		w.mu.Lock()
		name, of := w.podOf(job, i)
		runner, rests := w.runners[name], of.completed || of.fails || w.hold != nil && w.hold(job, i)
		w.mu.Unlock()
		switch {
		case rests:
		case runner == nil:
			if err := w.playPod(ctx, job, i, name); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) { // the Job is gone
				w.Errorf("making pod %s: %v", name, err)
			}
		case runner.Acked():
			w.exit(name, 0, "Completed", "")
			w.mu.Lock()
			of.completed = true
			w.mu.Unlock()
		}
	}
	w.playScale(ctx, job)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.played[job.Name] = *job.Spec.Completions
}

// playScale takes away what is above a Job's completions, and counts what is over below.
func (w *world) playScale(ctx context.Context, job *batchv1.Job) {
	var completed, failed []string
	for i := range 8 {
		w.mu.Lock()
		name, of := w.podOf(job, i)
		runner := w.runners[name]
		above := i >= int(*job.Spec.Completions)
		switch {
		case above && runner != nil:
			of.times++
			of.completed, of.fails = false, false
		case above:
		case of.completed:
			completed = append(completed, strconv.Itoa(i))
		case of.fails:
			failed = append(failed, strconv.Itoa(i))
		}
		w.mu.Unlock()
		if above && runner != nil && !runner.Acked() {
			runner.Silence()
			w.exit(name, 143, "Error", "") // the kubelet reports the end before the pod goes
			w.removePod(ctx, name)
		}
	}
	counted := job.DeepCopy()
	counted.Status.CompletedIndexes, counted.Status.FailedIndexes = strings.Join(completed, ","), nil
	counted.Status.Succeeded = int32(len(completed))
	if len(failed) > 0 {
		counted.Status.FailedIndexes = ptr.To(strings.Join(failed, ","))
	}
	sidecar := len(job.Spec.Template.Spec.Containers) > 1 // its pods do not end
	if len(completed) == int(*job.Spec.Completions) && job.Status.CompletionTime == nil && !sidecar {
		now := metav1.Now()
		counted.Status.CompletionTime = &now
		for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			counted.Status.Conditions = append(counted.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
	}
	for i := range counted.Status.Conditions {
		if c := &counted.Status.Conditions[i]; c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue {
			c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.Now()
		}
	}
	if counted.Status.StartTime == nil {
		counted.Status.StartTime = ptr.To(metav1.Now())
	}
	w.setJobStatus(ctx, job, counted)
}

// playSuspend deletes the pods of a suspended Job.
func (w *world) playSuspend(ctx context.Context, job *batchv1.Job) {
	for i := range int(*job.Spec.Completions) {
		w.mu.Lock()
		name, of := w.podOf(job, i)
		runner := w.runners[name]
		if runner != nil {
			of.times++
		}
		w.mu.Unlock()
		if runner != nil {
			runner.Silence()
			w.removePod(ctx, name)
		}
	}
	counted := job.DeepCopy()
	counted.Status.StartTime = nil
	counted.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	if len(job.Status.Conditions) == 0 || job.Status.Conditions[0].Status != corev1.ConditionTrue {
		w.setJobStatus(ctx, job, counted)
	}
}

// removePod deletes a pod by force. It tries again if the API server is too busy.
func (w *world) removePod(ctx context.Context, name string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	for ctx.Err() == nil && client.IgnoreNotFound(w.client.Delete(ctx, pod, client.GracePeriodSeconds(0))) != nil {
		time.Sleep(poll)
	}
}

func (w *world) setJobStatus(ctx context.Context, job, counted *batchv1.Job) {
	if equality.Semantic.DeepEqual(counted.Status, job.Status) {
		return
	}
	patch := client.MergeFromWithOptions(job, client.MergeFromWithOptimisticLock{}) // another time if it has changed since
	if err := w.client.Status().Patch(ctx, counted, patch); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		w.Errorf("counting the indices of Job %s: %v", job.Name, err)
	}
}

// playPod is the Job controller and the kubelet: the pod runs at once, with what the kubelet
// would mount.
func (w *world) playPod(ctx context.Context, job *batchv1.Job, index int, name string) error {
	var secret corev1.Secret
	var cm corev1.ConfigMap
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Secret != nil {
			if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: v.Secret.SecretName}, &secret); err != nil {
				return err
			}
		}
		if v.ConfigMap != nil {
			if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: v.ConfigMap.Name}, &cm); err != nil {
				return err
			}
		}
	}
	p, err := plan.Decode(cm.BinaryData[desired.KeyPlan], job.Annotations[desired.AnnotationPlanDigest])
	if err != nil {
		return err
	}
	runner := runnertest.New(p, name, time.Duration(index)*time.Hour)
	pod := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = w.ns, name
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	pod.Annotations[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(index)
	w.addresses.Store(name, runner.Serve(w, secret.Data))
	if err := w.client.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "127.0.0.1"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: desired.RunnerContainer, Image: "h2surge:test", Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	err = w.client.Status().Update(ctx, pod)
	w.mu.Lock()
	w.runners[name] = runner
	w.mu.Unlock()
	return err
}

// address returns where the runner of a pod answers.
func (w *world) address(pod *corev1.Pod) string {
	address, _ := w.addresses.Load(pod.Name)
	return address.(string)
}

// exit ends the runner of a pod, and the pod unless it has a sidecar.
func (w *world) exit(name string, code int32, reason, message string) {
	pod := &corev1.Pod{}
	if err := w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, pod); err != nil || pod.Status.Phase != corev1.PodRunning {
		return
	}
	before := pod.DeepCopy()
	switch {
	case len(pod.Spec.Containers) > 1:
	case code != 0:
		pod.Status.Phase = corev1.PodFailed
	default:
		pod.Status.Phase = corev1.PodSucceeded
	}
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message,
	}}
	if err := w.client.Status().Patch(w.ctx, pod, client.MergeFrom(before)); err != nil && !apierrors.IsNotFound(err) {
		w.Errorf("ending pod %s: %v", name, err)
	}
}

// kill ends a runner without notice, and the kubelet reports it.
func (w *world) kill(pod string) {
	w.Helper()
	w.runner(pod).Silence()
	w.mu.Lock()
	base, _, _ := strings.Cut(pod, "-again-")
	if of := w.indices[base]; of != nil {
		of.fails = true
	}
	w.mu.Unlock()
	var p corev1.Pod
	w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: pod}, &p))
	p.Status.Phase = corev1.PodFailed
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: desired.RunnerContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
	}}
	w.must(w.client.Status().Update(w.ctx, &p))
}

// runner is the process in a pod.
func (w *world) runner(pod string) *runnertest.Runner {
	w.Helper()
	var r *runnertest.Runner
	w.Eventually(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		r = w.runners[pod]
		return r != nil
	}).Should(gomega.BeTrue(), "pod %s", pod)
	return r
}

// load is how long the load of most stories lasts: far longer than anything that they wait for. They end it with endLoad.
const load = 5 * time.Minute

// endLoad lets the rest of a LoadTest's load pass at once, on all runners that it has.
func (w *world) endLoad(name string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for pod, r := range w.runners {
		if strings.HasPrefix(pod, name+"-1-") {
			r.Skip(load)
		}
	}
}

// later sets the operators' clocks forward.
func (w *world) later(d time.Duration) { w.ahead.Add(int64(d)) }

func (w *world) holding(f func(*batchv1.Job, int) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = f
}

func (w *world) apply(lt *v1alpha1.LoadTest) *v1alpha1.LoadTest {
	w.Helper()
	lt.Namespace = w.ns
	w.must(w.client.Create(w.ctx, lt))
	return lt
}

// edit changes the spec as a user does.
func (w *world) edit(name string, change func(*v1alpha1.LoadTestSpec)) {
	w.Helper()
	w.Eventually(func() error {
		lt := w.get(name)
		change(&lt.Spec)
		return w.client.Update(w.ctx, lt)
	}).Should(gomega.Succeed())
}

func (w *world) get(name string) *v1alpha1.LoadTest {
	w.Helper()
	lt := &v1alpha1.LoadTest{}
	w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, lt))
	return lt
}

// await waits until f holds for the LoadTest.
func (w *world) await(name, what string, f func(*v1alpha1.LoadTest) bool) *v1alpha1.LoadTest {
	w.Helper()
	for late := time.After(soon); ; {
		changed := sharedNews.next(w.ns)
		lt := w.get(name)
		if f(lt) {
			return lt
		}
		select {
		case <-changed:
		case <-time.After(4 * poll): // f can depend on something else
		case <-late:
			w.Fatalf("%s does not become %s; phase %s, runners %+v, shards %+v, conditions:\n%s\n%s", name, what, lt.Status.Phase, lt.Status.Runners, lt.Status.Shards,
				conditionsOf(lt), w.jobsAndPods())
		}
	}
}

// jobsAndPods describes what the Job controller and the kubelet see, and where each Job controller of this process is.
func (w *world) jobsAndPods() string {
	w.Helper()
	var b strings.Builder
	for _, job := range w.jobs() {
		fmt.Fprintf(&b, "Job %s: %d indices, completed %q\n", job.Name, *job.Spec.Completions, job.Status.CompletedIndexes)
	}
	var pods corev1.PodList
	w.must(w.client.List(w.ctx, &pods, client.InNamespace(w.ns)))
	for _, pod := range pods.Items {
		fmt.Fprintf(&b, "pod %s: %s, %s, deleted %t\n", pod.Name, pod.UID, pod.Status.Phase, pod.DeletionTimestamp != nil)
	}
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2)
	for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
		if strings.Contains(stack, "jobController") {
			b.WriteString(stack + "\n")
		}
	}
	return b.String()
}

func (w *world) awaitPhase(name string, p v1alpha1.Phase) *v1alpha1.LoadTest {
	w.Helper()
	return w.await(name, string(p), func(lt *v1alpha1.LoadTest) bool {
		return lt.Status.Phase == p && lt.Status.ObservedGeneration == lt.Generation // else the status is that of an earlier spec
	})
}

// awaitLoad waits until a number of requests has been told in status.
func (w *world) awaitLoad(name string, n int64) *v1alpha1.LoadTest {
	w.Helper()
	return w.await(name, fmt.Sprint("at ", n, " requests"), func(lt *v1alpha1.LoadTest) bool {
		return lt.Status.Results != nil && lt.Status.Results.Requests.Sent >= n
	})
}

func (w *world) wantCondition(lt *v1alpha1.LoadTest, kind string, status metav1.ConditionStatus, reason string) {
	w.Helper()
	c := meta.FindStatusCondition(lt.Status.Conditions, kind)
	if c == nil || c.Status != status || c.Reason != reason || c.ObservedGeneration != lt.Generation {
		w.Errorf("want %s=%s %s of generation %d; conditions are\n%s", kind, status, reason, lt.Generation, conditionsOf(lt))
	}
}

func conditionsOf(lt *v1alpha1.LoadTest) (out string) {
	for _, c := range lt.Status.Conditions {
		out += fmt.Sprintf("  %s=%s %s (%d): %s\n", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}
	return out
}

// wantEvents waits until the events about a LoadTest are these, each as often as it is listed.
// wantEdited expects an edit after the end to be reported as one without effect.
func (w *world) wantEdited(lt *v1alpha1.LoadTest) {
	w.Helper()
	if !strings.Contains(conditionsOf(lt), v1alpha1.EditedAfterFinish) {
		w.Errorf("the edit is not reported:\n%s", conditionsOf(lt))
	}
}

func (w *world) wantEvents(name string, reasons ...string) {
	w.Helper()
	w.Eventually(func() []string { return w.eventsOf(name) }).Should(gomega.ConsistOf(reasons))
}

// wantEventsAmong allows events to be missing, as after an operator was replaced, but none that is not listed and none more often.
func (w *world) wantEventsAmong(name string, reasons ...string) {
	w.Helper()
	left := slices.Clone(reasons)
	for _, reason := range w.eventsOf(name) {
		i := slices.Index(left, reason)
		if i < 0 {
			w.Errorf("event %s is not, or not as often, among %v", reason, reasons)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
}

// eventsOf returns the reasons of the events about a LoadTest.
func (w *world) eventsOf(name string) []string {
	w.Helper()
	var list eventsv1.EventList
	w.must(w.client.List(w.ctx, &list, client.InNamespace(w.ns)))
	var reasons []string
	for _, e := range list.Items {
		if e.Regarding.Name == name && e.Regarding.Kind == "LoadTest" {
			reasons = append(reasons, e.Reason)
			if e.Series != nil {
				reasons = append(reasons, fmt.Sprint(e.Reason, " again"))
			}
		}
	}
	return reasons
}

// run is the run record.
func (w *world) run(name string) *record.Record {
	w.Helper()
	run, err := record.NewStore(w.client, w.client).Load(w.ctx, w.get(name))
	w.must(err)
	return run
}

// records are the runners that ended before the test.
func (w *world) records(name string) []record.Shard { return w.run(name).Shards }

// report reads the whole report.
func (w *world) report(lt *v1alpha1.LoadTest) *runnerv1alpha1.Report {
	w.Helper()
	if lt.Status.Report == nil {
		w.Fatal("status names no report")
	}
	cm := &corev1.ConfigMap{}
	w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: lt.Status.Report.ConfigMapRef.Name}, cm))
	return decodeReport(w.T, cm.BinaryData[v1alpha1.KeyReport])
}

func rawTemplate(doc string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(doc)} }
