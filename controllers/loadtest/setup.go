package loadtest

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/changes"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/leadership"
	"github.com/h2surge/h2surge/controllers/internal/pki"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/transport"
	"github.com/h2surge/h2surge/controllers/lock"
	"github.com/h2surge/h2surge/internal/metric"
)

// Options are what a test replaces; the zero value is right for production.
type Options struct {
	// ControlAddress is where the runner of a pod answers. Default: its address and the
	// control port.
	ControlAddress func(*corev1.Pod) string
	// Clock is what deadlines and timeouts of runs are compared with. Default: time.Now.
	Clock func() time.Time
	// StatusInterval is the least time between two writes of a status that differ in figures only. Default: a second.
	StatusInterval time.Duration
	// CheckpointInterval is the time between two checkpoints of a runner. Default: checkpoint.MinInterval.
	CheckpointInterval time.Duration
	// PodsGrace is how long a Job can take to create its pods before the operator reports it. Default: 10 seconds.
	PodsGrace time.Duration
	// Dial opens the connections to runners. Default: net.Dialer.
	Dial transport.DialContext
	// Leader says whether this process may decide. Default: it always may.
	Leader Leader
}

// Leader knows whether this process is the leader of the operator's replicas.
type Leader interface {
	// Leading returns whether this process may decide. The result is false while the API server does not answer.
	Leading() bool
	// Term returns a number that grows with each change of the leader.
	Term() int64
}

// Setup adds the controller and its collector to a manager. The options must have a clock and a leader.
func Setup(ctx context.Context, mgr ctrl.Manager, cfg *configv1alpha1.OperatorConfig, opts Options) error {
	if opts.ControlAddress == nil {
		opts.ControlAddress = controlAddress
	}
	opts.StatusInterval = cmp.Or(opts.StatusInterval, time.Second)
	if err := checkPodTemplate(cfg); err != nil {
		return err
	}
	if err := addIndexes(ctx, mgr); err != nil {
		return err
	}
	r := newReconciler(cfg, leadership.Client(mgr.GetClient(), opts.Leader.Leading), mgr.GetAPIReader(),
		newAddressRules(&cfg.Targets, mgr.GetConfig().Host, mgr.GetAPIReader()))
	r.observe.address, r.observe.clock, r.observe.podsGrace = opts.ControlAddress, opts.Clock, opts.PodsGrace
	r.perform.pki = pki.NewStore(mgr.GetAPIReader(), mgr.GetClient(), cfg.OperatorNamespace, time.Now)
	r.report.events, r.report.clock, r.memory.statusInterval = mgr.GetEventRecorder("h2surge"), opts.Clock,
		opts.StatusInterval
	r.report.metrics = metric.Register(ctrlmetrics.Registry,
		NewCollector(cfg.Metrics.KeepFinished.Duration, cfg.Metrics.MaxFinished, opts.Clock))
	news := make(chan event.TypedGenericEvent[types.NamespacedName], newsCapacity)
	r.registry = collect.NewRegistry(collect.Options{
		Options: shards.Options{
			Timeout: cfg.Runner.ControlTimeout.Duration, Unreachable: cfg.Runner.UnreachableTimeout.Duration,
			Lead: cfg.Runner.StartLead.Duration,
		},
		Interval: cfg.Runner.SnapshotInterval.Duration, Term: opts.Leader.Term, Leading: opts.Leader.Leading,
	}, transport.HTTPS(clientTLS(r.perform.pki), opts.Dial), mgr.GetLogger().WithName("collect"), wake(news))
	if err := mgr.Add(r.registry); err != nil {
		return fmt.Errorf("adding the collector: %w", err)
	}
	r.keeper = checkpoint.NewWriter(r.memory.checkpoints, checkpoint.Options{
		Source: r.registry, BytesPerSecond: cfg.Checkpoint.BytesPerSecond, Interval: opts.CheckpointInterval,
		Changed: wake(news), Leading: opts.Leader.Leading,
		Log: mgr.GetLogger().WithName("checkpoint"),
	})
	r.keeper.Register(ctrlmetrics.Registry)
	if err := mgr.Add(r.keeper); err != nil {
		return fmt.Errorf("adding the writer of checkpoints: %w", err)
	}
	return r.watch(mgr, news, opts.Leader.Leading)
}

// newsCapacity is far above the number of runs that have news within the time a reconcile takes;
// more is no harm, see wake.
const newsCapacity = 1024

// wake never blocks: a run whose news do not fit has more within a second.
func wake(news chan<- event.TypedGenericEvent[types.NamespacedName]) func(types.NamespacedName) {
	return func(name types.NamespacedName) {
		select {
		case news <- event.TypedGenericEvent[types.NamespacedName]{Object: name}:
		default:
		}
	}
}

// clientTLS returns the configuration for calls to the runners of a run.
func clientTLS(store *pki.Store) func(context.Context, types.UID) (*tls.Config, error) {
	return func(ctx context.Context, run types.UID) (*tls.Config, error) {
		authority, err := store.Get(ctx)
		if err != nil {
			return nil, err
		}
		return authority.ClientConfig(run), nil
	}
}

func (r *reconciler) watch(mgr ctrl.Manager, news <-chan event.TypedGenericEvent[types.NamespacedName],
	leading func() bool) error {
	toRequest := handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, name types.NamespacedName) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: name}}
		})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("loadtest").
		For(&v1alpha1.LoadTest{}, builder.WithPredicates(predicate.Or(ofUsers(), r.memory.ofOthers()))).
		Owns(&batchv1.Job{}).
		Owns(configMapMetadata(), builder.OnlyMetadata).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ofPod)).
		Watches(&statev1alpha1.LoadTestLock{}, lock.Handler()).
		WatchesRawSource(source.Channel(news, toRequest)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.observe.cfg.MaxConcurrentReconciles,
			RateLimiter: refusal.Waits()}).
		Complete(leadership.Reconciler(r, leading))
	return wrap(err, "creating the controller")
}

// ofUsers selects what users change of a LoadTest. The Job of a test that has not started inherits labels and
// annotations, such as that of a queue, and those of Argo CD and Flux say whether a TTL has an effect.
func ofUsers() predicate.Predicate {
	return predicate.Or(changes.OfSpec(), predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{},
		deletionBegun())
}

// deletionBegun: a LoadTest that is deleted in the foreground stays for a while.
func deletionBegun() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetDeletionTimestamp() != nil })
}

// ofPod returns the LoadTest of a pod, by its label. A wrong label causes an unnecessary pass.
func ofPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[desired.LabelLoadTest]
	if ref := metav1.GetControllerOf(pod); name == "" || ref == nil || ref.Kind != "Job" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// controlAddress is where a runner pod answers.
func controlAddress(pod *corev1.Pod) string {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(runnerv1alpha1.ControlPort))
}
