// Package controllers is the operator without its main: Setup adds it to a manager that NewManager returned.
package controllers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/leadership"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/controllers/loadtest"
	"github.com/h2surge/h2surge/controllers/loadtestschedule"
	"github.com/h2surge/h2surge/controllers/lock"
	"github.com/h2surge/h2surge/controllers/ttl"
	"github.com/h2surge/h2surge/controllers/upload"
)

// Options are what a test replaces; the zero value is right for production.
type Options = loadtest.Options

// Setup adds the controllers and all they need.
func Setup(ctx context.Context, mgr ctrl.Manager, cfg *configv1alpha1.OperatorConfig, opts Options) error {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Leader == nil {
		opts.Leader = onlyReplica{}
	}
	leading := opts.Leader.Leading
	for _, setup := range []func(ctrl.Manager, *configv1alpha1.OperatorConfig, func() time.Time,
		func() bool) error{loadtestschedule.Setup, ttl.Setup, upload.Setup} {
		if err := setup(mgr, cfg, opts.Clock, leading); err != nil {
			return err
		}
	}
	if err := lock.Setup(ctx, mgr, opts.Clock, leading); err != nil {
		return err
	}
	if err := loadtest.Setup(ctx, mgr, cfg, opts); err != nil {
		return err
	}
	return addInformers(ctx, mgr)
}

// addInformers adds informers of the kinds that the operator watches and that have no index, which would add them. The
// controllers would add them after the election, when this process has replaced a leader that may list these kinds.
func addInformers(ctx context.Context, mgr ctrl.Manager) error {
	for _, kind := range []client.Object{&v1alpha1.LoadTestSchedule{}, &statev1alpha1.LoadTestLock{}} {
		if _, err := mgr.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("adding the informer of %T: %w", kind, err)
		}
	}
	return nil
}

// onlyReplica is the Leader if leader election is disabled.
type onlyReplica struct{}

func (onlyReplica) Leading() bool { return true }
func (onlyReplica) Term() int64   { return 0 }

// cmd/manager protects the metrics as kubebuilder does it: the client shows a token, which the API server reviews
// (TokenReview), and needs the right to get /metrics (SubjectAccessReview).
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// NewManager returns a manager for Setup, and who decides whether this process is the leader; nil: it always is. The
// manager runs on while the API server does not answer. It is to be started with ctx.
func NewManager(ctx context.Context, kube *rest.Config, cfg *configv1alpha1.OperatorConfig, opts ctrl.Options) (
	ctrl.Manager, loadtest.Leader, error) {
	log := opts.Logger
	if log.GetSink() == nil {
		log = ctrl.Log
	}
	opts.NewCache = newCache(ctx, log.WithName("cache"))
	connections := leadership.NewConnections(log.WithName("apiserver"))
	mgrConfig := connections.Configure(kube)
	if !opts.LeaderElection {
		mgr, err := ctrl.NewManager(mgrConfig, opts)
		return mgr, nil, wrap(err)
	}
	leader, err := leadership.New(kube, leadership.Options{
		Namespace: cfg.OperatorNamespace, Name: cfg.LeaderElection.ID, RenewDeadline: ptr.Deref(opts.RenewDeadline, 0),
		Away: connections.Close,
		Log:  log.WithName("leadership"),
	})
	if err != nil {
		return nil, nil, err
	}
	opts.LeaderElectionResourceLockInterface = leader
	mgr, err := ctrl.NewManager(mgrConfig, opts)
	if err != nil {
		return nil, nil, wrap(err)
	}
	return mgr, leader, mgr.Add(leader)
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	return nil
}

// ManagerOptions returns the options of NewManager. protect is the filter of secure metrics. It is a parameter because
// the filter of controller-runtime links the libraries of the API server, which no test of this package needs.
func ManagerOptions(cfg *configv1alpha1.OperatorConfig, protect func(*rest.Config, *http.Client) (metricsserver.Filter,
	error)) ctrl.Options {
	uncached := []client.Object{&corev1.Secret{}, &statev1alpha1.LoadTestRun{}, &statev1alpha1.LoadTestCheckpoint{}}
	opts := ctrl.Options{
		Scheme:                        scheme(),
		Cache:                         cacheOptions(cfg),
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: uncached}},
		HealthProbeBindAddress:        cfg.Health.BindAddress,
		LeaderElection:                *cfg.LeaderElection.Enabled,
		LeaderElectionID:              cfg.LeaderElection.ID, // leader_election_master_status has it as its name
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(leadership.LeaseDuration),
		RenewDeadline:                 ptr.To(leadership.RenewDeadline),
		RetryPeriod:                   ptr.To(leadership.RetryPeriod),
		// The priority queue of controller-runtime 0.24 can block for ever when it is shut down, and then the process ends
		// only after GracefulShutdownTimeout (kubernetes-sigs/controller-runtime#3538).
		Controller: config.Controller{UsePriorityQueue: ptr.To(false)},
		Metrics: metricsserver.Options{
			BindAddress:   cfg.Metrics.BindAddress,
			SecureServing: *cfg.Metrics.Secure,
			CertDir:       cfg.Metrics.CertDir,
		},
	}
	if *cfg.Metrics.Secure {
		opts.Metrics.FilterProvider = protect
	}
	return opts
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	utilruntime.Must(statev1alpha1.AddToScheme(s))
	return s
}

// slimPod keeps of a pod what the operator reads: there is a pod for each shard.
func slimPod(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	is := &pod.Status
	slim := &corev1.Pod{
		ObjectMeta: slimMeta(pod, batchv1.JobCompletionIndexAnnotation),
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status:     corev1.PodStatus{Phase: is.Phase, Reason: is.Reason, Message: is.Message, PodIP: is.PodIP},
	}
	slim.Status.InitContainerStatuses = slimContainers(is.InitContainerStatuses)
	slim.Status.ContainerStatuses = slimContainers(is.ContainerStatuses)
	for _, c := range is.Conditions {
		if c.Type == corev1.PodScheduled || c.Type == corev1.PodReadyToStartContainers {
			slim.Status.Conditions = append(slim.Status.Conditions, c)
		}
	}
	return slim, nil
}

// slimContainers bounds what the kubelet repeats of the spec of a pod: the API server does not bound names of images.
func slimContainers(all []corev1.ContainerStatus) (out []corev1.ContainerStatus) {
	for i := range all {
		c := &all[i]
		if c.State.Waiting != nil {
			c.State.Waiting.Message = shorten.To(c.State.Waiting.Message, 512)
		}
		out = append(out, corev1.ContainerStatus{Name: c.Name, Image: shorten.To(c.Image, 512), State: c.State,
			LastTerminationState: c.LastTerminationState})
	}
	return out
}

// slimJob keeps of a Job what the operator reads.
func slimJob(o any) (any, error) {
	job, ok := o.(*batchv1.Job)
	if !ok {
		return o, nil
	}
	is := &job.Status
	return &batchv1.Job{
		ObjectMeta: slimMeta(job, run.AnnotationElastic),
		Spec:       batchv1.JobSpec{Completions: job.Spec.Completions, Suspend: job.Spec.Suspend},
		Status: batchv1.JobStatus{Conditions: is.Conditions, Succeeded: is.Succeeded, Failed: is.Failed,
			CompletedIndexes: is.CompletedIndexes, FailedIndexes: is.FailedIndexes},
	}, nil
}

// slimMetadata keeps of a ConfigMap what the operator reads.
func slimMetadata(o any) (any, error) {
	if cm, ok := o.(*metav1.PartialObjectMetadata); ok {
		cm.ObjectMeta = slimMeta(cm)
	}
	return o, nil
}

// slimMeta keeps what the operator reads of any kind, and some annotations. A tenant can write annotations of 256 KiB,
// and labels, finalizers and owners without a bound.
func slimMeta(o metav1.Object, annotations ...string) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
		Labels:      only(o.GetLabels(), desired.LabelManagedBy, desired.LabelLoadTest, run.LabelQueue),
		Annotations: only(o.GetAnnotations(), annotations...),
	}
	// A reference to a LoadTest or a Job is shorter. The API server does not bound references.
	if c := metav1.GetControllerOf(o); c != nil && len(c.APIVersion)+len(c.Kind)+len(c.Name)+len(c.UID) <= 1024 {
		out.OwnerReferences = []metav1.OwnerReference{*c}
	}
	return out
}

// only returns the entries with the keys, which are constants. It leaves out values that are longer than a label.
func only(all map[string]string, keys ...string) (out map[string]string) {
	for _, key := range keys {
		if value, ok := all[key]; ok && len(value) <= 63 {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// cacheOptions keep what belongs to runs and nothing else: not every pod of the cluster, and no Secret at all. A tenant
// can give the label to other objects, so the cache keeps a bounded part of each.
func cacheOptions(cfg *configv1alpha1.OperatorConfig) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{desired.LabelManagedBy: desired.Application})}
	pods, jobs, configMaps := ours, ours, ours
	pods.Transform, jobs.Transform, configMaps.Transform = slimPod, slimJob, slimMetadata
	out := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: configMaps, &corev1.Pod{}: pods, &batchv1.Job{}: jobs,
		},
	}
	for _, ns := range cfg.Namespaces {
		if out.DefaultNamespaces == nil {
			out.DefaultNamespaces = map[string]cache.Config{}
		}
		out.DefaultNamespaces[ns] = cache.Config{}
	}
	return out
}
