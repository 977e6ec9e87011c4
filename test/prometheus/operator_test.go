//go:build prometheus

package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/controllers/loadtest"
)

// operator has what the operator exposes, without a cluster: its own metrics, made of statuses that
// the test makes of the run's reports, and those of a controller and an election of
// controller-runtime, whose API server is a variable.
type operator struct {
	url       string
	collector *loadtest.Collector
	key       types.NamespacedName
	status    *v1alpha1.LoadTestStatus
	started   time.Time
}

func startOperator(t *testing.T, key types.NamespacedName) *operator {
	t.Helper()
	o := &operator{collector: loadtest.NewCollector(time.Minute, 10, time.Now), key: key, status: &v1alpha1.LoadTestStatus{}}
	must(t, ctrlmetrics.Registry.Register(o.collector))
	t.Cleanup(func() { ctrlmetrics.Registry.Unregister(o.collector) })
	s := httptest.NewServer(promhttp.HandlerFor(ctrlmetrics.Registry, promhttp.HandlerOpts{}))
	t.Cleanup(s.Close)
	o.url = s.Listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() { lead(ctx) })
	running.Go(func() { reconcileForever(ctx) })
	o.observe(v1alpha1.PhasePending, nil)
	o.collector.ObserveRules([]string{"Nodes"}) // as if the operator had no right to list them
	return o
}

// reconcileForever runs a controller with the name of ours, which fails now and then.
func reconcileForever(ctx context.Context) {
	n := 0
	c, err := controller.NewTypedUnmanaged("loadtest", controller.TypedOptions[int]{
		Logger: logr.Discard(), LogConstructor: func(*int) logr.Logger { return logr.Discard() },
		Reconciler: reconcile.TypedFunc[int](func(context.Context, int) (reconcile.Result, error) {
			if n++; n%5 == 0 {
				return reconcile.Result{}, errors.New("now and then")
			}
			return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
		}),
	})
	if err != nil {
		panic(err)
	}
	err = c.Watch(source.TypedFunc[int](func(_ context.Context, q workqueue.TypedRateLimitingInterface[int]) error {
		q.Add(1)
		return nil
	}))
	if err != nil {
		panic(err)
	}
	if err := c.Start(ctx); err != nil {
		panic(err)
	}
}

// lease is one that nobody else wants.
type lease struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
}

func (l *lease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "lease")
	}
	raw, err := json.Marshal(l.record)
	return l.record, raw, err
}

func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

func (l *lease) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record = &r
	return nil
}

func (l *lease) RecordEvent(string) {}
func (l *lease) Identity() string   { return "operator" }
func (l *lease) Describe() string   { return "lease" }

// lead runs the election that the manager runs with the options of the operator.
func lead(ctx context.Context) {
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{})
	options := controllers.ManagerOptions(cfg, nil)
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &lease{}, Name: options.LeaderElectionID,
		LeaseDuration: *options.LeaseDuration, RenewDeadline: *options.RenewDeadline, RetryPeriod: *options.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
}

// observe puts a phase into the status, and a report's figures.
func (o *operator) observe(phase v1alpha1.Phase, r *rv.Report) {
	st := o.status.DeepCopy()
	st.Phase, st.Shards = phase, &v1alpha1.ShardCounts{Desired: 2, Ready: 2}
	ready := metav1.Condition{Type: v1alpha1.ConditionRunnersReady, Status: metav1.ConditionTrue, Reason: "Ready"}
	if phase == v1alpha1.PhasePending {
		ready.Status, ready.Reason = metav1.ConditionFalse, v1alpha1.ReasonWaitingForLock
	}
	meta.SetStatusCondition(&st.Conditions, ready)
	if r != nil {
		st.StartTime = &metav1.Time{Time: o.started}
		st.Results = resultsOf(r)
	}
	if phase == v1alpha1.PhaseCompleted {
		st.CompletionTime = &metav1.Time{Time: time.Now()}
		st.Verdict = &v1alpha1.Verdict{Outcome: string(r.Verdict.Outcome), Reason: r.Verdict.Reason}
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: v1alpha1.ConditionPassed, Status: metav1.ConditionTrue, Reason: "Passed"})
	}
	o.collector.Observe(o.key, o.status, st)
	o.status = st
}

func resultsOf(r *rv.Report) *v1alpha1.Results {
	n, t := &r.Requests, &r.ResponseTime
	return &v1alpha1.Results{
		Requests: v1alpha1.RequestCounts{
			Sent: n.Sent, Done: n.Done, Succeeded: n.Succeeded, FailedChecks: n.FailedChecks, TimedOut: n.TimedOut,
			Reset: n.Reset, ConnectionLost: n.ConnectionLost, InFlightAtEnd: n.InFlightAtEnd, Dropped: n.Dropped,
		},
		Rate:         v1alpha1.RateStatus{Asked: r.Rate.Asked, Achieved: r.Rate.Achieved},
		ErrorRate:    float64(r.ErrorRate),
		ResponseTime: v1alpha1.Times{P50Microseconds: &t.P50, P90Microseconds: &t.P90, P95Microseconds: &t.P95, P99Microseconds: &t.P99, P999Microseconds: &t.P999, MaxMicroseconds: &t.Max},
	}
}
