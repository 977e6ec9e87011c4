package loadtest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

func conditionOf(lt *v1alpha1.LoadTest, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(lt.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// TestDeniedBeforeAnyPod: condition PlanReady names the field and the limit or the rule, and no Job exists.
func TestDeniedBeforeAnyPod(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*v1alpha1.LoadTestSpec)
		want string
	}{
		{"rate", func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](2001) }, "spec.rates: the highest rates of spec.rates and of all chains are together 2001 requests per second; allowed: at most 2000; denied by limits.requestsPerSecond"},
		{"target", func(s *v1alpha1.LoadTestSpec) { s.Targets[0].URL = "http://169.254.169.254/latest" }, "spec.targets[0].url: no LoadTest can send requests to this host; denied by rule Metadata in targets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorldWith(t, func(cfg *configv1alpha1.OperatorConfig) { cfg.Limits.RequestsPerSecond = 2000 })
			lt := twoShards("denied", time.Second).Build()
			tt.edit(&lt.Spec)
			w.apply(lt)
			got := w.awaitPhase("denied", v1alpha1.PhaseInvalid)
			w.wantCondition(got, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, v1alpha1.ReasonDeniedByPolicy)
			if c := conditionOf(got, v1alpha1.ConditionPlanReady); !strings.HasPrefix(c.Message, tt.want) {
				t.Errorf("message %q, want %q", c.Message, tt.want)
			}
			if n := len(w.jobs()); n != 0 {
				t.Errorf("%d Jobs, want none", n)
			}
		})
	}
}

// changeNodes replaces the operator by one that finds another node each time that it lists them, also than its predecessor.
func (w *world) changeNodes() {
	w.Helper()
	w.endOperator()
	kube := rest.CopyConfig(apiServer)
	kube.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path != "/api/v1/nodes" {
				return rt.RoundTrip(req)
			}
			body := fmt.Sprintf(`{"apiVersion":"v1","kind":"NodeList","items":[{"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.%d"}]}}]}`, w.nodes.Add(1))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
		})
	})
	done, cancel, _ := w.replica(kube)
	w.stop = func() { cancel(); w.must(<-done) }
	w.Cleanup(w.endOperator)
}

// plans are the names of the ConfigMaps that have plans of a test.
func (w *world) plans(name string) (out []string) {
	w.Helper()
	var all corev1.ConfigMapList
	w.must(w.client.List(w.ctx, &all, client.InNamespace(w.ns)))
	for i := range all.Items {
		if strings.HasPrefix(all.Items[i].Name, name+"-plan-") {
			out = append(out, all.Items[i].Name)
		}
	}
	return out
}

// TestNodesChangeBeforeTheStart: a test that may not start stores no plan, which stays until the LoadTest is deleted.
func TestNodesChangeBeforeTheStart(t *testing.T) {
	w := newWorld(t)
	w.changeNodes()
	w.apply(locked("a", load).Build())
	w.awaitLoad("a", 100)
	w.apply(locked("waits", load).Build())
	w.awaitLocked("waits", "held by LoadTest "+w.ns+"/a")
	w.apply(twoShards("held", load).Edit(func(s *v1alpha1.LoadTestSpec) { s.Suspend = true }).Build())
	w.awaitPhase("held", v1alpha1.PhaseSuspended)
	for ttl := range int32(2) {
		w.later(2 * time.Minute)
		for _, name := range []string{"waits", "held"} {
			w.edit(name, func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To(3600 + ttl) }) // brings a pass
			w.await(name, "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == int64(ttl)+2 })
			if plans := w.plans(name); len(plans) != 0 {
				t.Errorf("%s has plans %v, want none", name, plans)
			}
		}
	}
	w.edit("a", func(s *v1alpha1.LoadTestSpec) { s.Stop = true })
	w.edit("held", func(s *v1alpha1.LoadTestSpec) { s.Suspend = false })
	for _, name := range []string{"waits", "held"} {
		w.awaitLoad(name, 100)
		if plans := w.plans(name); len(plans) != 1 {
			t.Errorf("%s has plans %v, want one", name, plans)
		}
	}
}

// TestNodesChangeWithTheOperator: a node that joins while another operator takes over leads to no other Job, but another rule of the configuration does.
func TestNodesChangeWithTheOperator(t *testing.T) {
	for name, tt := range map[string]struct {
		denied []configv1alpha1.AddressRule
		want   int // attempts
	}{
		"the same rules": {nil, 1},
		"another rule":   {[]configv1alpha1.AddressRule{{Name: "core", CIDRs: []string{"198.51.100.0/24"}}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.holding(func(*batchv1.Job, int) bool { return true })
			w.changeNodes()
			w.apply(twoShards("waits", load).Build())
			w.awaitPhase("waits", v1alpha1.PhaseStarting)
			w.endOperator()
			w.cfg.Targets.Denied = tt.denied
			w.changeNodes()
			w.holding(nil)
			w.awaitLoad("waits", 100)
			if run, plans := w.run("waits"), w.plans("waits"); run.Attempt != tt.want || len(plans) != tt.want {
				t.Errorf("attempt %d, plans %v; want %d of each", run.Attempt, plans, tt.want)
			}
		})
	}
}

// TestDeniedUntilAnEdit: an operator that allows what the one before denied does not run the test, which has finished, until a user edits it.
func TestDeniedUntilAnEdit(t *testing.T) {
	w := newWorldWith(t, func(cfg *configv1alpha1.OperatorConfig) { cfg.Limits.RequestsPerSecond = 500 })
	w.apply(twoShards("denied", time.Second).Build())
	denied := w.awaitPhase("denied", v1alpha1.PhaseInvalid)
	w.endOperator()
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the pass of the next operator removes it
		lt := w.get("denied")
		apimeta.SetStatusCondition(&lt.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonRetryingAfterError, Message: "The operator failed 3 times in a row, and tries again"})
		return w.client.Status().Update(w.ctx, lt)
	}))
	w.cfg.Limits.RequestsPerSecond = 0
	w.operator()
	lt := w.await("denied", "a pass", func(lt *v1alpha1.LoadTest) bool {
		return conditionOf(lt, v1alpha1.ConditionReconciling).Reason != v1alpha1.ReasonRetryingAfterError
	})
	if diff := cmp.Diff(denied.Status, lt.Status); diff != "" {
		t.Errorf("status (-denied +allowed):\n%s", diff)
	}
	if n := len(w.jobs()); n != 0 || w.exists(&statev1alpha1.LoadTestRun{}, desired.RunName(lt)) {
		t.Errorf("%d Jobs, or a run record; want neither", n)
	}
	w.edit("denied", func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](900) })
	w.awaitPhase("denied", v1alpha1.PhaseCompleted)
}

// TestChangesAboveLimits: a rate and a number of shards above the limit have no effect, by edit or by the scale subresource.
func TestChangesAboveLimits(t *testing.T) {
	w := newWorldWith(t, func(cfg *configv1alpha1.OperatorConfig) { cfg.Limits.RequestsPerSecond, cfg.Limits.Shards = 2000, 2 })
	w.apply(twoShards("bound", load).Edit(func(s *v1alpha1.LoadTestSpec) { s.Targets[0].Connections = ptr.To[int32](4) }).Build())
	w.awaitLoad("bound", 500)
	w.setRate("bound", 3000)
	w.awaitMessage("bound", v1alpha1.ConditionReconciling, v1alpha1.ReasonChangeNotApplied, "denied by limits.requestsPerSecond")
	w.setRate("bound", 2000)
	w.awaitApplied("bound", 1)
	w.scale("bound", 3)
	w.awaitMessage("bound", v1alpha1.ConditionReconciling, v1alpha1.ReasonChangeNotApplied, "spec.runner.shards: is 3; allowed: at most 2; denied by limits.shards")
	if n := len(w.jobs()); n != 1 || *w.jobs()[0].Spec.Completions != 2 {
		t.Errorf("%d Jobs, the first has %d indices; want 1 with 2", n, *w.jobs()[0].Spec.Completions)
	}
	w.endLoad("bound")
	w.awaitPhase("bound", v1alpha1.PhaseCompleted)
}

// TestDeniedByRunner: a runner that must not connect ends the test before it starts, with the rule in the condition.
func TestDeniedByRunner(t *testing.T) {
	w := newWorld(t)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.apply(twoShards("rebound", time.Second).Build())
	const message = "target main: the operator's configuration denies the address by rule: Metadata (169.254.169.254:80)"
	w.runner("rebound-1-0").Fail(runnerv1alpha1.ProblemPolicy, message)
	lt := w.awaitPhase("rebound", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonDeniedByPolicy)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonDeniedByPolicy)
	if c := conditionOf(lt, v1alpha1.ConditionFinished); !strings.Contains(c.Message, message) || lt.Status.StartTime != nil {
		t.Errorf("message %q, start %v", c.Message, lt.Status.StartTime)
	}
}
