package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/leadership"
	"github.com/h2surge/h2surge/controllers/internal/pki"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/transport"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/test/builder"
)

var (
	simulatedEvents = flag.Int("simulated-events", 0, "number of random events of TestSimulation; 0: 5000")
	simulatedSeed   = flag.Int64("simulated-seed", -1, "the only seed of TestSimulation; -1: as many seeds as the events need")
)

// simulation is one LoadTest from its creation to its end, with everything that acts on it: operators with their reconcilers, collectors and
// checkpoint writers, the Job controller, the kubelets, and runners that execute each slot. Only the API server, the network and the runners
// are simulated. Time is fake.
type simulation struct {
	*testing.T
	random *rand.Rand
	api    *memoryAPI
	cfg    *configv1alpha1.OperatorConfig
	// operators: the last one is the leader. Those before it are former leaders that do not know it yet.
	operators []*operator
	term      int64
	indices   map[indexID]*jobIndex
	// hold keeps the Job controller from creating pods.
	hold bool
	// leases: runners have leases.
	leases bool

	mu        sync.Mutex
	processes map[string]*process // by pod; guarded by mu, as all fields below
	record    *record.Record      // the last one stored
	// owners are the runners that sent a slot.
	owners map[slotID]sender
	// checkpoints is when the counts of a runner were stored last, by the name of the object.
	checkpoints map[string]time.Time
	// disturbed is when something last kept operators from their work. ordered is when the orders to the runners changed last: the newest
	// change, the stop or the end.
	disturbed, ordered time.Time
	recordDeleted      bool
	// sent counts the requests of measured stages, shown is what status showed last.
	sent, shown int64
	// begun and finished are when the load began, and when the end was stored.
	begun, finished time.Time
	history         []string
}

type indexID struct {
	job   types.UID
	index int
}

// jobIndex is an index of a Job. It gets another pod after the Job had fewer indices.
type jobIndex struct {
	pod               string // "": none
	pods              int
	createAt          time.Time
	completed, failed bool
}

type slotID struct {
	stage  int
	number int64
}

type sender struct {
	process *process
	late    bool
}

const (
	simulated    = "pcf" // the name of the LoadTest
	simulatedUID = "0a1b2c3d-0000"
	// simulatedTTL is longer than the simulation waits for the end of the runners.
	simulatedTTL = 10 * time.Minute
)

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	w := &simulation{
		T: t, random: rand.New(rand.NewPCG(13, seed)), api: &memoryAPI{objects: map[objectID]client.Object{}},
		processes: map[string]*process{}, indices: map[indexID]*jobIndex{}, owners: map[slotID]sender{},
		checkpoints: map[string]time.Time{},
	}
	w.api.wrote = w.wrote
	w.cfg = &configv1alpha1.OperatorConfig{}
	w.cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
	w.cfg.Runner.PodTimeout.Duration, w.cfg.Runner.ReadyTimeout.Duration = time.Minute, 20*time.Second
	w.cfg.Runner.UnreachableTimeout.Duration, w.cfg.Report.PodGrace.Duration = 15*time.Second, 15*time.Second
	w.cfg.Runner.TTLAfterFinished.Duration = simulatedTTL
	lt := builder.Minimal(simulated).Shards(2+w.random.Int32N(4)).Connections(16).
		Rates(builder.PerSecond("warm-up", 10, 3*time.Second), builder.PerSecond("hold", 20, 40*time.Second)).
		Edit(func(s *v1alpha1.LoadTestSpec) {
			s.Rates[0].WarmUp = true
			s.Chains[0].MaxInFlight = ptr.To[int32](16)
			switch seed % 5 {
			case 0:
			case 1, 2:
				s.Runner.OnShardLost = v1alpha1.ShardLostContinue
			default:
				w.leases = true
				s.Runner.OnShardLost, s.Runner.LeaseDuration = v1alpha1.ShardLostRebalance, &v1alpha1.Duration{Duration: 10 * time.Second}
			}
			w.shape(s)
			if w.random.IntN(3) == 0 {
				s.Runner.MinShards = ptr.To(1 + w.random.Int32N(2))
			}
		})
	if w.random.IntN(3) == 0 {
		lt.Once(v1alpha1.PhaseTeardown, v1alpha1.Template{Name: "cleanup"})
	}
	o := lt.Build()
	o.Generation, o.UID = 1, simulatedUID
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	if err := w.api.put(o); err != nil {
		t.Fatal(err)
	}
	return w
}

// shape adds random ramps, bursts, a pause and gracefulStop.
func (w *simulation) shape(s *v1alpha1.LoadTestSpec) {
	hold := &s.Rates[1]
	switch w.random.IntN(4) {
	case 0:
		hold.RampFrom = ptr.To(w.random.Int64N(40))
	case 1:
		hold.Arrivals, hold.BurstSize = v1alpha1.ArrivalsBurst, ptr.To(1+w.random.Int64N(5))
	case 2:
		hold.Duration.Duration = 30 * time.Second
		s.Rates = append(s.Rates, builder.PerSecond("pause", 0, 4*time.Second), builder.PerSecond("again", 20, 4*time.Second))
		s.Rates[3].RampFrom = new(int64)
	}
	if w.random.IntN(2) == 0 {
		s.GracefulStop = &v1alpha1.Duration{Duration: time.Duration(1+w.random.IntN(20)) * time.Second}
	}
}

// operator is one process of the operator.
type operator struct {
	w      *simulation
	client *memoryClient
	r      *reconciler
	passes reconcile.Reconciler
	leader Leader // itself
	term   int64
	news   atomic.Bool // there is something to reconcile
	due    time.Time   // of the next pass without news; zero: none
	// cut: it does not reach the API server, since a time.
	cut   atomic.Bool
	since time.Time
	// until is when a former leader ends; zero: it leads.
	until time.Time
	stop  func()
}

// Leading is true for 10 seconds after the API server answered last.
func (o *operator) Leading() bool {
	var since time.Time
	o.w.api.set(func(a *memoryAPI) { since = a.downSince })
	if o.cut.Load() {
		since = o.since
	}
	return since.IsZero() || time.Since(since) < 10*time.Second
}

func (o *operator) Term() int64 { return o.term }

type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// startOperator starts a process, which becomes the leader. The former leader continues for a time.
func (w *simulation) startOperator(former time.Duration) {
	if n := len(w.operators); n > 0 {
		w.operators[n-1].until = time.Now().Add(former)
		w.endFormer()
	}
	w.term++
	w.disturbed = time.Now()
	o := &operator{w: w, term: w.term}
	o.leader = o
	o.client = &memoryClient{api: w.api, cut: &o.cut, cache: map[objectID]client.Object{}}
	direct := &memoryClient{api: w.api, cut: &o.cut}
	leading := func() bool { return o.leader.Leading() }
	writer := leadership.Client(o.client, leading)
	o.r = newReconciler(w.cfg, writer, direct, newAddressRules(&w.cfg.Targets, "https://10.96.0.1", direct))
	o.r.observe.address = func(pod *corev1.Pod) string { return pod.Name }
	o.r.perform.pki = pki.NewStore(direct, direct, "h2surge-system", time.Now)
	o.r.report.events, o.r.report.metrics = noEvents{}, NewCollector(time.Minute, 10, time.Now)
	o.passes = leadership.Reconciler(o.r, leading)
	wake := func(types.NamespacedName) { o.news.Store(true) }
	o.r.registry = collect.NewRegistry(collect.Options{
		Interval: w.cfg.Runner.SnapshotInterval.Duration, Timeout: w.cfg.Runner.ControlTimeout.Duration,
		Unreachable: w.cfg.Runner.UnreachableTimeout.Duration, Lead: w.cfg.Runner.StartLead.Duration, Term: o.Term, Leading: o.Leading,
	}, w.dial, logr.Discard(), wake)
	o.r.keeper = checkpoint.NewWriter(o.r.memory.checkpoints, checkpoint.Options{
		Source: o.r.registry, BytesPerSecond: w.cfg.Checkpoint.BytesPerSecond, Changed: wake, Leading: o.Leading, Log: logr.Discard(),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = o.r.registry.Start(ctx) })
	all.Go(func() { _ = o.r.keeper.Start(ctx) })
	o.stop = func() { cancel(); all.Wait() }
	for _, kind := range cachedNames {
		o.client.sync(kind)
	}
	o.news.Store(true)
	w.operators = append(w.operators, o)
}

func (w *simulation) dial(_ types.UID, address string) transport.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.processes[address]
}

func (w *simulation) stopOperators() {
	for _, o := range w.operators {
		o.stop()
	}
}

func (w *simulation) endFormer() {
	w.operators = slices.DeleteFunc(w.operators, func(o *operator) bool {
		ends := !o.until.IsZero() && !time.Now().Before(o.until)
		if ends {
			o.stop()
		}
		return ends
	})
}

// between lets time pass, and lets the cluster and the runners act.
func (w *simulation) between(d time.Duration) {
	time.Sleep(d)
	w.endFormer()
	w.locked(func() {
		for _, p := range w.processes {
			p.advance()
		}
	})
	if !w.api.down {
		w.cluster()
	}
}

// step lets time pass, and lets all others act.
func (w *simulation) step(d time.Duration) {
	w.between(d)
	for _, o := range w.operators {
		for _, kind := range cachedNames {
			if w.random.IntN(3) > 0 && o.client.sync(kind) {
				o.news.Store(true)
			}
		}
		if w.random.IntN(4) > 0 {
			o.pass()
		}
	}
	w.locked(w.checkOrders)
}

func (w *simulation) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// pass reconciles if there is a reason.
func (o *operator) pass() {
	due := !o.due.IsZero() && !time.Now().Before(o.due)
	if !o.news.Swap(false) && !due {
		return
	}
	o.due = time.Time{}
	again, err := o.passes.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: simulated}})
	switch {
	case err == nil:
	case apierrors.IsConflict(err), apierrors.IsInternalError(err), apierrors.IsTimeout(err), apierrors.IsAlreadyExists(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsNotFound(err):
		o.news.Store(true)
	default:
		o.w.failf("an unexpected error: %v", err)
		o.news.Store(true)
	}
	if again.RequeueAfter > 0 {
		o.due = time.Now().Add(again.RequeueAfter)
	}
}

// failf reports a broken invariant with the events before it.
func (w *simulation) failf(format string, args ...any) {
	w.Errorf(format+"; %s, the last events:\n%s", append(args, time.Now().Format("04:05.000"), strings.Join(w.history[max(0, len(w.history)-40):], "\n"))...)
}

// note adds an event to the history.
func (w *simulation) note(event string) {
	w.history = append(w.history, time.Now().Format("04:05.000 ")+event)
}

// cluster is the Job controller and the kubelets.
func (w *simulation) cluster() {
	pods := w.pods()
	jobs := map[types.UID]bool{}
	for _, job := range all[*batchv1.Job](w.api) {
		jobs[job.UID] = true
		w.controlJob(job, pods)
	}
	pods = w.pods()
	for _, pod := range pods {
		if !jobs[metav1.GetControllerOf(pod).UID] && pod.DeletionTimestamp == nil {
			w.api.mu.Lock()
			terminate(pod, nil, w.api)
			w.api.mu.Unlock()
		}
		w.runPod(pod)
	}
	w.locked(func() {
		for name, p := range w.processes {
			if pods[name] == nil && !p.cut && !p.dead { // the kubelet ends a container without a pod
				p.stop("terminated")
				p.dead = true
			}
		}
	})
}

func (w *simulation) pods() map[string]*corev1.Pod {
	out := map[string]*corev1.Pod{}
	for _, pod := range all[*corev1.Pod](w.api) {
		out[pod.Name] = pod
	}
	return out
}

func (w *simulation) controlJob(job *batchv1.Job, pods map[string]*corev1.Pod) {
	var completed, failed []string
	for i := range 8 {
		id := indexID{job.UID, i}
		x := w.indices[id]
		if x == nil {
			x = &jobIndex{}
			w.indices[id] = x
		}
		pod := pods[x.pod]
		switch {
		case i >= run.Completions(job):
			if pod != nil && pod.DeletionTimestamp == nil {
				w.api.mu.Lock()
				terminate(pod, nil, w.api)
				w.api.mu.Unlock()
			}
			if pod == nil {
				*x = jobIndex{pods: x.pods}
			}
			continue
		case x.pod != "" && pod == nil && !x.completed:
			x.failed = true
		case pod != nil && pod.Status.Phase == corev1.PodSucceeded:
			x.completed = true
		case pod != nil && pod.Status.Phase == corev1.PodFailed:
			x.failed = true
		case x.pod == "" && x.createAt.IsZero():
			x.createAt = time.Now().Add(time.Duration(w.random.Int64N(int64(1500 * time.Millisecond))))
		case x.pod == "" && !w.hold && time.Now().After(x.createAt):
			w.createPod(job, i, x)
		}
		if x.completed {
			completed = append(completed, strconv.Itoa(i))
		}
		if x.failed {
			failed = append(failed, strconv.Itoa(i))
		}
	}
	ok, bad := strings.Join(completed, ","), strings.Join(failed, ",")
	if ok == job.Status.CompletedIndexes && bad == ptr.Deref(job.Status.FailedIndexes, "") || w.random.IntN(3) == 0 {
		return
	}
	change(w.api, job.Name, func(j *batchv1.Job) {
		j.Status.CompletedIndexes, j.Status.FailedIndexes, j.Status.Failed = ok, &bad, int32(len(failed))
	})
}

func (w *simulation) createPod(job *batchv1.Job, index int, x *jobIndex) {
	name := fmt.Sprintf("%s-%d-%d", job.Name, index, x.pods)
	x.pods, x.pod = x.pods+1, name
	var compiled *runnerv1alpha1.Plan
	for _, cm := range all[*corev1.ConfigMap](w.api) {
		if cm.Name == job.Annotations[desired.AnnotationPlan] {
			decoded, err := plan.Decode(cm.BinaryData[desired.KeyPlan], job.Annotations[desired.AnnotationPlanDigest])
			if err != nil {
				w.Fatal(err)
			}
			compiled = decoded
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: job.Namespace, Labels: job.Spec.Template.Labels,
		Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{{
		Name: desired.RunnerContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	lose := w.api.loseNext
	w.api.loseNext = nil
	_ = w.api.put(pod)
	w.api.loseNext = lose
	w.locked(func() {
		w.processes[name] = &process{
			w: w, pod: name, uid: pod.UID, job: job.UID, index: index, plan: compiled, boot: fmt.Sprint("boot-", name),
			disturbed: time.Now(), zero: time.Now().Add(-time.Duration(w.random.Int64N(int64(100 * time.Hour)))),
			connects: time.Duration(w.random.Int64N(int64(2 * time.Second))), stages: make([]runnerv1alpha1.StageCounters, len(compiled.Rates)),
		}
	})
}

// runPod is the kubelet: it ends the runner of a deleted pod, and reports that a runner ended.
func (w *simulation) runPod(pod *corev1.Pod) {
	var dead, acked bool
	w.locked(func() {
		p := w.processes[pod.Name]
		if p.node {
			return
		}
		if pod.DeletionTimestamp != nil && !p.dead {
			if !p.frozen {
				p.stop("terminated")
			}
			p.dead = p.acked || p.startAt == 0 || !time.Now().Before(pod.DeletionTimestamp.Time)
		}
		p.dead = p.dead || p.acked
		dead, acked = p.dead, p.acked
	})
	switch {
	case !dead:
	case pod.Status.Phase == corev1.PodRunning:
		code, phase := int32(137), corev1.PodFailed
		if acked {
			code, phase = 0, corev1.PodSucceeded
		}
		change(w.api, pod.Name, func(pod *corev1.Pod) {
			pod.Status.Phase = phase
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
		})
	case pod.DeletionTimestamp != nil:
		w.removePod(pod.Name)
	}
}

func (w *simulation) removePod(name string) {
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	w.api.remove(objectID{"Pod", name})
}

// anyProcess returns a random runner that has not ended; nil: there is none.
func (w *simulation) anyProcess() *process {
	var alive []*process
	for _, p := range w.processes {
		if !p.dead {
			alive = append(alive, p)
		}
	}
	if len(alive) == 0 {
		return nil
	}
	slices.SortFunc(alive, func(a, b *process) int { return strings.Compare(a.pod, b.pod) })
	return alive[w.random.IntN(len(alive))]
}

// fault changes the network or the process of a runner.
func (w *simulation) fault(name string, f func(*process)) {
	w.locked(func() {
		if p := w.anyProcess(); p != nil {
			p.advance()
			f(p)
			name += " " + p.pod
		}
	})
	w.note(name)
}

func (p *process) heal() {
	if p.frozen {
		p.skip()
	}
	p.cut, p.mute, p.frozen, p.node = false, false, false, false
}

func (w *simulation) edit(name string, f func(*v1alpha1.LoadTestSpec)) {
	w.note(name)
	change(w.api, simulated, func(lt *v1alpha1.LoadTest) {
		before := lt.Spec.DeepCopy()
		f(&lt.Spec)
		if !equality.Semantic.DeepEqual(before, &lt.Spec) {
			lt.Generation++
		}
	})
}

func (w *simulation) started() (started bool) {
	w.locked(func() { started = w.record != nil && w.record.Start != nil })
	return started
}

// happen is one random event.
func (w *simulation) happen() {
	down := w.api.down
	switch n := w.random.IntN(1000); {
	case n < 40 && !down:
		w.edit("rate", func(s *v1alpha1.LoadTestSpec) {
			hold := &s.Rates[1]
			hold.RequestsPerSecond = ptr.To(5 + w.random.Int64N(40))
			if hold.RampFrom != nil && w.random.IntN(2) == 0 {
				hold.RampFrom = ptr.To(w.random.Int64N(40))
			}
		})
	case n < 60 && !down:
		w.edit("suspend", func(s *v1alpha1.LoadTestSpec) { s.Suspend = !s.Suspend })
	case n < 100 && !down:
		w.edit("scale", func(s *v1alpha1.LoadTestSpec) {
			s.Runner.Shards = max(ptr.Deref(s.Runner.MinShards, 1), 1+w.random.Int32N(5))
		})
	case n < 105 && !down:
		if !w.started() || w.random.IntN(3) == 0 { // an edit that the API server accepts only before the start, or one at the start
			w.edit("template", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = fmt.Sprint("/", w.random.IntN(3)) })
		}
	case n < 106 && !down:
		w.edit("stop", func(s *v1alpha1.LoadTestSpec) { s.Stop = true })
	case n < 140:
		w.fault("cut", func(p *process) { p.cut = true })
	case n < 155:
		w.fault("mute", func(p *process) { p.mute = true })
	case n < 170:
		w.fault("freeze", func(p *process) { p.frozen = true })
	case n < 174:
		w.fault("kill", func(p *process) { p.dead = true })
	case n < 176:
		w.fault("lose the node of", func(p *process) { p.cut, p.node, p.unfenced = true, true, true })
	case n < 179 && !down:
		pod := ""
		w.fault("lose the node and the pod of", func(p *process) { p.cut, p.node, p.unfenced, pod = true, true, true, p.pod })
		w.removePod(pod)
	case n < 300:
		w.fault("heal", func(p *process) { p.heal() })
	case n < 320:
		w.note("operator killed")
		w.startOperator(0)
	case n < 330:
		w.replaceOperator()
	case n < 335:
		if !w.begun.IsZero() { // two operators must not choose the start; the election does not allow two leaders either
			w.note("two leaders")
			if w.leases { // the former one must not lose a runner whose lease the next one renews: the election forbids it to decide
				former := w.operators[len(w.operators)-1]
				former.since = time.Now().Add(-10 * time.Second)
				former.cut.Store(true)
			}
			w.startOperator(time.Duration(w.random.Int64N(int64(5 * time.Second))))
		}
	case n < 342:
		w.note("all cut")
		w.locked(func() {
			for _, p := range w.processes {
				p.cut = true
			}
		})
	case n < 390:
		w.note("all healed")
		w.locked(func() {
			for _, p := range w.processes {
				p.heal()
			}
		})
	case n < 415:
		w.api.set(func(a *memoryAPI) { a.refuseNext = apierrors.NewInternalError(errors.New("no")) })
	case n < 440:
		w.api.set(func(a *memoryAPI) { a.loseNext = apierrors.NewTimeoutError("the answer was lost", 1) })
	case n < 448 && !down:
		w.note("API down")
		w.api.set(func(a *memoryAPI) { a.down, a.downSince = true, time.Now() })
	case n < 520 && down:
		w.apiUp()
	case n < 454:
		full := []string{"ConfigMap", "LoadTestCheckpoint"}[w.random.IntN(2)]
		w.note("no quota for objects of kind " + full)
		w.api.set(func(a *memoryAPI) { a.full = full })
	case n < 490:
		w.api.set(func(a *memoryAPI) { a.full = "" })
	case n < 500:
		w.hold = !w.hold
	}
}

// replaceOperator cuts the leader off from the API server. 15 seconds later there is another one. The former leader polls runners until it
// reaches the API server again.
func (w *simulation) replaceOperator() {
	o := w.operators[len(w.operators)-1]
	w.note("leader cut off")
	o.since = time.Now()
	o.cut.Store(true)
	for range 30 {
		w.step(500 * time.Millisecond)
	}
	w.note("leader replaced")
	w.startOperator(time.Duration(w.random.Int64N(int64(20 * time.Second))))
}

func (w *simulation) apiUp() {
	w.note("API up")
	w.api.set(func(a *memoryAPI) { a.down, a.downSince = false, time.Time{} })
}

// pause is how long nothing else happens.
func (w *simulation) pause() {
	switch n := w.random.IntN(100); {
	case n < 94:
		w.step(time.Duration(20+w.random.Int64N(400)) * time.Millisecond)
	case n < 99:
		for range 1 + w.random.IntN(10) {
			w.step(500 * time.Millisecond)
		}
	default:
		for range 25 {
			w.step(time.Second)
		}
	}
}

// finish ends all faults and waits for the end of the test.
func (w *simulation) finish() {
	w.api.set(func(a *memoryAPI) { a.refuseNext, a.loseNext, a.full = nil, nil, "" })
	w.hold = false
	if w.api.down {
		w.apiUp()
	}
	w.edit("the end", func(s *v1alpha1.LoadTestSpec) { s.Suspend = false })
	w.locked(func() {
		for _, p := range w.processes {
			p.heal()
		}
	})
	for range 1200 {
		if w.step(500 * time.Millisecond); !w.finished.IsZero() {
			break
		}
	}
	if w.finished.IsZero() {
		w.failf("the test does not finish: %s", w.describe())
		return
	}
	if w.random.IntN(4) == 0 {
		if p := w.anyProcess(); p != nil { // it keeps its result
			w.locked(func() { p.cut = true })
		}
		for all[*v1alpha1.LoadTest](w.api)[0].Status.CompletionTime == nil {
			w.step(50 * time.Millisecond)
		}
		w.note("record deleted, operator killed")
		run := objectID{"LoadTestRun", desired.RunName(all[*v1alpha1.LoadTest](w.api)[0])}
		w.api.mu.Lock()
		w.api.remove(run)
		w.api.mu.Unlock()
		w.startOperator(0)
	}
	for range 30 { // podGrace, and the grace of pods
		w.step(2 * time.Second)
	}
	for _, p := range w.processes {
		if !p.dead {
			w.failf("runner %s still exists: %s", p.pod, w.describe())
		}
	}
	if left := len(all[*policyv1.PodDisruptionBudget](w.api)); left > 0 {
		w.failf("%d PodDisruptionBudgets are left", left)
	}
	w.expire()
}

// expire checks that the Secret went with the end of the test, and lets its TTL pass, which changes no status.
func (w *simulation) expire() {
	if secret := (objectID{"Secret", desired.TLSName(all[*v1alpha1.LoadTest](w.api)[0])}); w.object(secret) != nil {
		w.failf("the Secret of the runners is left: %s", w.describe())
	}
	lt := all[*v1alpha1.LoadTest](w.api)[0]
	time.Sleep(simulatedTTL)
	for range 60 {
		w.step(2 * time.Second)
	}
	if left := len(all[*batchv1.Job](w.api)) + len(all[*corev1.Pod](w.api)); left > 0 {
		w.failf("%d Jobs and pods are left: %s", left, w.describe())
	}
	if now := all[*v1alpha1.LoadTest](w.api)[0]; now != lt {
		w.failf("the LoadTest changed after its end:\n%s", cmp.Diff(lt, now))
	}
}

// object returns an object of the API server; nil: it does not exist.
func (w *simulation) object(id objectID) (o client.Object) {
	w.api.set(func(a *memoryAPI) { o = a.objects[id] })
	return o
}

func (w *simulation) describe() string {
	raw, _ := json.Marshal(w.record)
	lt := all[*v1alpha1.LoadTest](w.api)[0]
	out := fmt.Sprintf("record %s\nstatus %+v\n", raw, lt.Status.Conditions)
	for _, p := range w.processes {
		out += w.describeRunner(p) + "\n"
	}
	for _, o := range w.operators {
		if v := o.r.registry.View(simulatedUID); v != nil {
			for _, sh := range append(slices.Clone(v.Shards), v.Former...) {
				out += fmt.Sprintf("operator %d sees %s %q %s back %t loss %+v\n", o.term, sh.Pod.Name, sh.Pod.Address, sh.State, sh.Back, sh.Lost)
			}
		}
	}
	return out
}

func (w *simulation) describeRunner(p *process) string {
	return fmt.Sprintf("%s %s dead %t cut %t stopped %q revision %d", p.pod, p.state(), p.dead, p.cut, p.stopped, p.last().Revision)
}
