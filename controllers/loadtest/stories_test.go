package loadtest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/runnertest"
	"github.com/h2surge/h2surge/test/builder"
)

func decodeReport(t *testing.T, gz []byte) *runnerv1alpha1.Report {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		t.Fatal(err)
	}
	out := &runnerv1alpha1.Report{}
	if err := json.NewDecoder(z).Decode(out); err != nil {
		t.Fatal(err)
	}
	return out
}

// twoShards sends 1000 requests a second for d.
func twoShards(name string, d time.Duration) *builder.LoadTest {
	return builder.Minimal(name).Shards(2).Connections(2).Rates(builder.PerSecond("hold", 1000, d))
}

func TestHappyPath(t *testing.T) {
	w := newWorld(t)
	w.apply(builder.Minimal("happy").Shards(2).Connections(2).Rates(builder.PerSecond("hold", 1000, load/2), builder.PerSecond("more", 1000, load/2)).Threshold(builder.P99("20ms")).Threshold(builder.ErrorRate("1%")).Build())

	live := w.awaitLoad("happy", 500)
	w.wantCondition(live, v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled)
	w.wantCondition(live, v1alpha1.ConditionRunnersReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady)
	w.wantCondition(live, v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning)
	w.wantCondition(live, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRunning)
	for _, kind := range []string{v1alpha1.ConditionSucceeded, v1alpha1.ConditionPassed} {
		w.wantCondition(live, kind, metav1.ConditionUnknown, v1alpha1.ReasonInProgress)
	}
	if s := live.Status.Summary; s.Shards != "2/2" || s.Rate == "" || s.P50 != "1ms" || s.P99 != "1ms" || s.Errors != "0%" {
		t.Errorf("summary %+v, want each column filled", s)
	}

	wantLive := []v1alpha1.ThresholdStatus{
		{Name: "p99", Figure: "p99 of ResponseTime", Limit: "<= 20ms", Observed: "1ms", Passed: true},
		{Name: "errors", Figure: "ErrorRate", Limit: "<= 1%", Observed: "0%", Passed: true},
	}
	if diff := cmp.Diff(wantLive, live.Status.Thresholds); diff != "" {
		t.Errorf("thresholds while the test runs (-want +got):\n%s", diff)
	}

	w.endLoad("happy")
	lt := w.awaitPhase("happy", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	st := lt.Status
	if st.Results.Requests.Sent != 300_000 || st.Results.Partial || st.Results.Chains[0].Steps[0].Sent != 300_000 {
		t.Errorf("results %+v, want 300000 sent, in one step, and not partial", st.Results)
	}
	if live.Status.Results.Stages != nil {
		t.Errorf("stages while the test runs: %+v", live.Status.Results.Stages)
	}
	for i, s := range st.Results.Stages {
		if s.Sent != 150_000 || s.Succeeded != 150_000 || s.ErrorRate != 0 || s.ResponseTime == nil || *s.ResponseTime.P99Microseconds != 1000 || i > 1 {
			t.Errorf("stage %d: %+v", i, s)
		}
	}
	if n := len(st.Results.Stages); n != 2 {
		t.Errorf("figures of %d stages, want 2", n)
	}
	if st.StartTime == nil || st.CompletionTime == nil || st.StartSkewMicroseconds == nil {
		t.Errorf("start %v, completion %v, skew %v", st.StartTime, st.CompletionTime, st.StartSkewMicroseconds)
	}
	if diff := cmp.Diff(&v1alpha1.ShardCounts{Desired: 2, Ready: 2}, st.Shards); diff != "" {
		t.Errorf("shards (-want +got):\n%s", diff)
	}
	if r := w.report(lt); r.Requests.Sent != 300_000 || r.PlanHash != st.PlanHash || r.Verdict.Outcome != runnerv1alpha1.OutcomePassed {
		t.Errorf("report: sent %d, plan %s, verdict %+v", r.Requests.Sent, r.PlanHash, r.Verdict)
	}
	for _, pod := range []string{"happy-1-0", "happy-1-1"} {
		r := w.runner(pod)
		w.Eventually(r.Acked).Should(gomega.BeTrue())
		if diff := cmp.Diff([]string{"update", "start", "ack"}, r.Calls()); diff != "" {
			t.Errorf("calls to %s (-want +got):\n%s", pod, diff)
		}
	}
	w.wantEvents("happy", "PlanReady", "RunnersReady", "Started", "Completed")
	w.awaitGone(&corev1.Secret{}, desired.TLSName(lt))
	w.wantOwned(lt)
}

// wantOwned: what remains of a run goes with its LoadTest, because the garbage collector follows the owner.
func (w *world) wantOwned(lt *v1alpha1.LoadTest) {
	w.Helper()
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.ConfigMapList{}} {
		w.must(w.client.List(w.ctx, list, client.InNamespace(w.ns), client.MatchingLabels{desired.LabelLoadTest: lt.Name}))
		n := 0
		for _, o := range itemsOf(list) {
			n++
			if !metav1.IsControlledBy(o, lt) {
				w.Errorf("%T %s does not belong to the LoadTest", o, o.GetName())
			}
		}
		if n == 0 {
			w.Errorf("no object in a %T", list)
		}
	}
}

func itemsOf(list client.ObjectList) (out []client.Object) {
	switch l := list.(type) {
	case *batchv1.JobList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *corev1.ConfigMapList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *corev1.SecretList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	}
	return out
}

func TestBadPlan(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("bad", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Templates[0].Path = "/${nowhere}"
	}).Build())
	lt := w.awaitPhase("bad", v1alpha1.PhaseInvalid)
	w.wantCondition(lt, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec)
	w.wantCondition(lt, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec)
	if c := conditionsOf(lt); !bytes.Contains([]byte(c), []byte("spec.templates[0].path")) {
		t.Errorf("no path of the fault in\n%s", c)
	}
	var jobs batchv1.JobList
	w.must(w.client.List(w.ctx, &jobs, client.InNamespace(w.ns)))
	if len(jobs.Items) != 0 {
		t.Errorf("%d Jobs for a plan that cannot be made", len(jobs.Items))
	}
	w.edit("bad", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/" })
	lt = w.awaitPhase("bad", v1alpha1.PhaseCompleted)
	if lt.Status.StartedGeneration != 2 {
		t.Errorf("generation %d ran, want 2", lt.Status.StartedGeneration)
	}
	w.wantEvents("bad", "InvalidSpec", "PlanReady", "RunnersReady", "Started", "Completed")
}

func TestInvalidPodTemplate(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("pod", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Runner.PodTemplate = rawTemplate(`{"spec":{"containers":[{"name":"runner","imagePullPolicy":"Sometimes"}]}}`)
	}).Build())
	lt := w.awaitPhase("pod", v1alpha1.PhaseInvalid)
	w.wantCondition(lt, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec)
}

func TestDeleteWhileRunning(t *testing.T) {
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(how), func(t *testing.T) {
			w := newWorld(t)
			lt := w.apply(twoShards("deleted", load).Build())
			w.awaitLoad("deleted", 100)
			w.must(w.client.Delete(w.ctx, lt, client.PropagationPolicy(how)))
			for _, pod := range []string{"deleted-1-0", "deleted-1-1"} {
				w.Eventually(w.runner(pod).Stopped).Should(gomega.Equal(&runnerv1alpha1.Stop{Reason: "deleted"}))
			}
		})
	}
}

// Pods of a namespace that is being deleted may go before the LoadTest does.
func TestNamespaceDeletedWhileRunning(t *testing.T) {
	w := newWorld(t)
	w.checkpoints = time.Hour // the loss creates the first one, which the API server refuses
	w.operator()
	lt := w.apply(twoShards("terminating", load).Build())
	w.awaitLoad("terminating", 100)
	w.must(w.client.Delete(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lt.Namespace}}))
	w.kill("terminating-1-1")
	w.Eventually(w.runner("terminating-1-0").Stopped).Should(gomega.Equal(&runnerv1alpha1.Stop{Reason: "deleted"}))
}

func TestRunAgainUnderTheSameName(t *testing.T) {
	w := newWorld(t)
	first := w.apply(twoShards("again", time.Second).Build())
	w.awaitPhase("again", v1alpha1.PhaseCompleted)
	w.must(w.client.Delete(w.ctx, first))
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.client.Get(w.ctx, client.ObjectKeyFromObject(first), &v1alpha1.LoadTest{}))
	}).Should(gomega.BeTrue())
	second := w.apply(twoShards("again", time.Second).Build())
	// envtest has no garbage collector: what the first has left is in the way, and said to be.
	w.await("again", "waiting", func(lt *v1alpha1.LoadTest) bool {
		return bytes.Contains([]byte(conditionsOf(lt)), []byte("of an earlier LoadTest of this name exists"))
	})
	lt := w.get("again")
	if lt.Status.CompletionTime != nil || lt.Status.Results != nil {
		t.Error("the second took the results of the first for its own")
	}
	w.sweep(first)
	lt = w.awaitPhase("again", v1alpha1.PhaseCompleted)
	if lt.UID != second.UID || lt.Status.Results.Requests.Sent != 1000 {
		t.Errorf("sent %d, want 1000", lt.Status.Results.Requests.Sent)
	}
}

// sweep is the garbage collector.
func (w *world) sweep(owner client.Object) {
	w.Helper()
	var owned []client.Object
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}} {
		w.must(w.client.List(w.ctx, list, client.InNamespace(w.ns)))
		for _, o := range itemsOf(list) {
			if metav1.IsControlledBy(o, owner) {
				owned = append(owned, o)
			}
		}
	}
	w.collectGarbage(owned...)
}

func TestOperatorRestarts(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("survivor", load).Build())
	before := w.awaitLoad("survivor", 1000)
	w.operator()
	w.awaitLoad("survivor", before.Status.Results.Requests.Sent+500)
	w.endOperator()
	w.endLoad("survivor")
	w.Eventually(func() runnerv1alpha1.State {
		s, err := w.runner("survivor-1-0").Snapshot(w.ctx)
		w.must(err)
		return s.State
	}).Should(gomega.Equal(runnerv1alpha1.StateDone))
	w.operator() // the end came while nobody looked
	lt := w.awaitPhase("survivor", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	if n := lt.Status.Results.Requests.Sent; n != 300_000 || lt.Status.Results.Partial {
		t.Errorf("sent %d, partial %v; want 300000, whole", n, lt.Status.Results.Partial)
	}
	if !lt.Status.StartTime.Equal(before.Status.StartTime) {
		t.Errorf("start time %v became %v", before.Status.StartTime, lt.Status.StartTime)
	}
	for _, pod := range []string{"survivor-1-0", "survivor-1-1"} {
		calls := w.runner(pod).Calls()
		if n := len(slices.DeleteFunc(calls, func(c string) bool { return c != "start" })); n != 1 {
			t.Errorf("%s was started %d times", pod, n)
		}
	}
	w.wantEventsAmong("survivor", "PlanReady", "RunnersReady", "Started", "Completed")
}

// TestPlanDeletedWhileRunning: the operator compiles the plan of a run again, without the changes since its start. The nodes can be others since.
func TestPlanDeletedWhileRunning(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("planless", load).Build())
	w.awaitLoad("planless", 200)
	w.setRate("planless", 2000)
	w.awaitApplied("planless", 1)
	w.endOperator()
	w.must(w.client.Delete(w.ctx, w.configMap(w.run("planless").Plan.Name)))
	w.changeNodes()
	w.endLoad("planless")
	lt := w.awaitPhase("planless", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
}

func TestAllRunnersLostWhileNobodyLooked(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("orphan", load).Build())
	w.awaitLoad("orphan", 100)
	w.endOperator()
	w.kill("orphan-1-0")
	w.kill("orphan-1-1")
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.operator()
	lt := w.awaitPhase("orphan", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	var jobs batchv1.JobList
	w.must(w.client.List(w.ctx, &jobs, client.InNamespace(w.ns)))
	if len(jobs.Items) != 1 {
		t.Errorf("%d Jobs: a test that had begun was begun again", len(jobs.Items))
	}
}

// listens gives a test a listener whose URL has a name, so that it needs a Service.
func listens(lt *v1alpha1.LoadTest) *v1alpha1.LoadTest {
	lt.Spec.Listeners = []v1alpha1.Listener{{Name: "events", TLS: &v1alpha1.ListenerTLS{}}}
	return lt
}

func TestNameClash(t *testing.T) {
	foreign := map[string]client.Object{
		"the Job": &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "clash-1"}, Spec: foreignJob()},
		"the Service": &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "listeners-clash"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
		},
		"the report": &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "clash-report"}, Data: map[string]string{"mine": "yes"}},
	}
	for name, other := range foreign {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			other.SetNamespace(w.ns)
			w.must(w.client.Create(w.ctx, other))
			version := other.GetResourceVersion()
			w.apply(listens(twoShards("clash", time.Second).Build()))
			lt := w.await("clash", "stalled", func(lt *v1alpha1.LoadTest) bool {
				return bytes.Contains([]byte(conditionsOf(lt)), []byte("Stalled=True NameConflict"))
			})
			w.wantCondition(lt, v1alpha1.ConditionPlanReady, metav1.ConditionFalse, v1alpha1.ReasonNameConflict)
			if lt.Status.StartTime != nil {
				t.Error("the load began before the conflict was found")
			}
			w.must(w.client.Get(w.ctx, client.ObjectKeyFromObject(other), other))
			if other.GetResourceVersion() != version || metav1.GetControllerOf(other) != nil {
				t.Error("the foreign object was changed")
			}
			w.must(w.client.Delete(w.ctx, other, client.PropagationPolicy(metav1.DeletePropagationBackground)))
			w.edit("clash", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // sooner than the retry
			w.awaitPhase("clash", v1alpha1.PhaseCompleted)
		})
	}
}

func foreignJob() batchv1.JobSpec {
	return batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "mine", Image: "mine:1"}},
	}}}
}

func TestRunnerLost(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("half", load).Build())
	before := w.awaitLoad("half", 1000).Status.Results.Requests.Sent
	w.kill("half-1-1")
	lt := w.awaitPhase("half", v1alpha1.PhaseFailed)
	if diff := cmp.Diff(&runnerv1alpha1.Stop{Reason: "spec.runner.onShardLost", Drain: true}, w.runner("half-1-0").Stopped()); diff != "" {
		t.Errorf("how the other was stopped (-want +got):\n%s", diff)
	}
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonRunnerLost)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionFalse, v1alpha1.ReasonNotSucceeded)
	r := w.report(lt)
	if !lt.Status.Results.Partial || !r.Partial || r.Generator.ShardsLost != 1 || r.Verdict.Outcome != runnerv1alpha1.OutcomeError || r.Requests.Sent < before {
		t.Errorf("partial %v and %v, %d lost, %s, %d sent", lt.Status.Results.Partial, r.Partial, r.Generator.ShardsLost, r.Verdict.Outcome, r.Requests.Sent)
	}
	w.Eventually(w.runner("half-1-0").Acked).Should(gomega.BeTrue())
	w.wantEvents("half", "PlanReady", "RunnersReady", "Started", "RunnerLost", "RunnerLost") // the loss, the end
}

func TestRunnerLostBeforeStart(t *testing.T) {
	w := newWorld(t)
	w.holding(func(job *batchv1.Job, index int) bool { return job.Name == "retry-1" && index == 1 })
	w.apply(twoShards("retry", time.Second).Build())
	w.runner("retry-1-0")
	w.exit("retry-1-0", 137, "OOMKilled", "")
	lt := w.awaitPhase("retry", v1alpha1.PhaseCompleted)
	if pod := lt.Status.Runners[0].Pod; pod != "retry-2-0" {
		t.Errorf("pod %s did the work, want one of the second Job", pod)
	}
	w.Eventually(func() int {
		var jobs batchv1.JobList
		w.must(w.client.List(w.ctx, &jobs, client.InNamespace(w.ns)))
		return len(jobs.Items)
	}).Should(gomega.Equal(1))
}

func TestRunnersLostBeforeStartAgainAndAgain(t *testing.T) {
	w := newWorld(t)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.apply(twoShards("crash", time.Second).Build())
	for attempt := 1; attempt <= 3; attempt++ {
		pod := fmt.Sprintf("crash-%d-0", attempt)
		w.runner(pod)
		w.exit(pod, 1, "Error", "no such file")
	}
	lt := w.awaitPhase("crash", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonRunnerLost)
	w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	if lt.Status.StartTime != nil {
		t.Error("a run that never started has a start time")
	}
	w.Eventually(func() int { // pods must not linger
		var jobs batchv1.JobList
		w.must(w.client.List(w.ctx, &jobs, client.InNamespace(w.ns)))
		return len(jobs.Items)
	}).Should(gomega.BeZero())
}

func TestPlanRejected(t *testing.T) {
	w := newWorld(t)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.apply(twoShards("rejected", time.Second).Build())
	w.runner("rejected-1-0").Fail(runnerv1alpha1.ProblemPlan, "a newer runner is needed")
	lt := w.awaitPhase("rejected", v1alpha1.PhaseFailed)
	w.wantNotStarted(lt, string(runnerv1alpha1.ProblemPlan), "a newer runner is needed")
}

// TestVersionMismatch: a test with a runner of a build that is too old ends before the start.
func TestVersionMismatch(t *testing.T) {
	w := newWorld(t)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.apply(twoShards("mixed", time.Second).Build())
	w.runner("mixed-1-0").Shape(func(s *runnerv1alpha1.Snapshot) { s.Protocol = 0 })
	lt := w.awaitPhase("mixed", v1alpha1.PhaseFailed)
	w.wantNotStarted(lt, v1alpha1.ReasonVersionMismatch, "The runner (build unknown) has protocol version 1, and the operator (build ")
}

// wantNotStarted checks that a test ended before its start, with a reason and a cause.
func (w *world) wantNotStarted(lt *v1alpha1.LoadTest, reason, cause string) {
	w.Helper()
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, reason)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, reason)
	if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished); !strings.Contains(c.Message, cause) {
		w.Errorf("message %q, want %q in it", c.Message, cause)
	}
	if lt.Status.StartTime != nil {
		w.Errorf("the test started at %v", lt.Status.StartTime)
	}
}

// withOnce adds a chain that captures a token before the load, which sends it, and one that runs after
// the load.
func withOnce(b *builder.LoadTest) *builder.LoadTest {
	return b.Template(v1alpha1.Template{Name: "login"}).Template(v1alpha1.Template{Name: "logout"}).
		Capture("login", "token", v1alpha1.ValueSource{Header: "x-token"}).
		Edit(func(s *v1alpha1.LoadTestSpec) {
			s.Templates[0].Path = "/${token}"
			s.Chains[1].Phase, s.Chains[2].Phase = v1alpha1.PhaseSetup, v1alpha1.PhaseTeardown
		})
}

// wantNowhere looks for a text in everything that the operator has written.
func (w *world) wantNowhere(secret string) {
	w.Helper()
	var maps corev1.ConfigMapList
	w.must(w.client.List(w.ctx, &maps, client.InNamespace(w.ns)))
	for i := range maps.Items {
		for key, gz := range maps.Items[i].BinaryData {
			z, err := gzip.NewReader(bytes.NewReader(gz))
			w.must(err)
			plain, err := io.ReadAll(z)
			w.must(err)
			maps.Items[i].BinaryData[key] = plain
			if bytes.Contains(plain, []byte(secret)) {
				w.Errorf("%s of ConfigMap %s has it", key, maps.Items[i].Name)
			}
		}
	}
	for _, list := range []client.ObjectList{
		&maps, &v1alpha1.LoadTestList{}, &eventsv1.EventList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.SecretList{},
	} {
		if list != &maps {
			w.must(w.client.List(w.ctx, list, client.InNamespace(w.ns)))
		}
		raw, err := json.Marshal(list)
		w.must(err)
		if len(raw) < 300 {
			w.Errorf("nothing to look at in a %T: %s", list, raw)
		}
		if bytes.Contains(raw, []byte(secret)) {
			w.Errorf("a %T has it", list)
		}
	}
}

func TestSetupAndTeardown(t *testing.T) {
	w := newWorld(t)
	w.apply(withOnce(twoShards("once", 2*time.Second)).Build())
	lt := w.awaitPhase("once", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	for pod, want := range map[string][]string{
		"once-1-0": {"update", "start", "teardown", "ack"}, "once-1-1": {"update", "start", "ack"},
	} {
		r := w.runner(pod)
		w.Eventually(r.Acked).Should(gomega.BeTrue())
		if diff := cmp.Diff([]string{runnertest.Captured}, r.Globals()); diff != "" {
			t.Errorf("globals of %s (-want +got):\n%s", pod, diff)
		}
		if diff := cmp.Diff(want, r.Calls()); diff != "" {
			t.Errorf("calls to %s (-want +got):\n%s", pod, diff)
		}
	}
	once := v1alpha1.OnceResult{Sent: 1, Succeeded: 1}
	if r := lt.Status.Results; r.Setup != once || r.Teardown != once || r.Requests.Sent != 2000 {
		t.Errorf("setup %+v, teardown %+v, sent %d; want one, one and 2000", r.Setup, r.Teardown, r.Requests.Sent)
	}
	w.wantEvents("once", "PlanReady", "RunnersReady", "Started", "Completed")
	w.wantNowhere(runnertest.Captured)
}

// A runner that is lost leaves its last snapshot behind, but not what setup has captured.
func TestRunnerThatRanSetupIsLost(t *testing.T) {
	w := newWorld(t)
	w.apply(withOnce(twoShards("bereft", load)).Build())
	w.awaitLoad("bereft", 500)
	w.kill("bereft-1-0")
	w.holding(func(*batchv1.Job, int) bool { return true })
	lt := w.awaitPhase("bereft", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	if n := len(w.records("bereft")); n != 1 {
		t.Errorf("%d records, want one", n)
	}
	if r := lt.Status.Results; r.Setup.Sent != 1 || r.Teardown.Sent != 0 {
		t.Errorf("setup %+v, teardown %+v", r.Setup, r.Teardown)
	}
	w.wantNowhere(runnertest.Captured)
}

// A runner that waits for the teardown chains ends while the operator is away. They do not run.
func TestRunnerLostBeforeTeardown(t *testing.T) {
	w := newWorld(t)
	w.apply(withOnce(twoShards("undone", load)).Build())
	before := w.awaitLoad("undone", 500)
	w.endOperator()
	w.endLoad("undone")
	w.kill("undone-1-0")
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.operator()
	lt := w.awaitPhase("undone", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	if r := lt.Status.Results; r.Teardown.Sent != 0 || !r.Partial || r.Requests.Sent < before.Status.Results.Requests.Sent {
		t.Errorf("teardown %+v, partial %v, sent %d; want at least %d", r.Teardown, r.Partial, r.Requests.Sent, before.Status.Results.Requests.Sent)
	}
	if calls := w.runner("undone-1-0").Calls(); slices.Contains(calls, "teardown") {
		t.Errorf("calls to the lost runner: %v", calls)
	}
}

func TestSetupFailed(t *testing.T) {
	w := newWorld(t)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.apply(withOnce(twoShards("unset", time.Second)).Build())
	// The other runner never becomes ready, so that the test cannot start before the operator sees the failure.
	w.runner("unset-1-0").Fail(runnerv1alpha1.ProblemSetup, "setup chain login: step login: timedOut")
	lt := w.awaitPhase("unset", v1alpha1.PhaseFailed)
	for kind, status := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionFinished: metav1.ConditionTrue, v1alpha1.ConditionStalled: metav1.ConditionTrue,
		v1alpha1.ConditionSucceeded: metav1.ConditionFalse, v1alpha1.ConditionRunnersReady: metav1.ConditionFalse,
	} {
		w.wantCondition(lt, kind, status, v1alpha1.ReasonSetupFailed)
	}
	if v := lt.Status.Verdict; v.Reason != v1alpha1.ReasonSetupFailed || v.Message != "setup chain login: step login: timedOut" || lt.Status.StartTime != nil {
		t.Errorf("verdict %+v, start %v", v, lt.Status.StartTime)
	}
	if !w.runner("unset-1-0").Begun().IsZero() {
		t.Error("the load began")
	}
	w.wantEvents("unset", "PlanReady", "SetupFailed")
}

func TestTargetUnreachable(t *testing.T) {
	neverReady(t, runnerv1alpha1.ProblemConnect, v1alpha1.ReasonTargetUnreachable)
}

func TestNotAuthorized(t *testing.T) {
	neverReady(t, runnerv1alpha1.ProblemAuthorization, v1alpha1.ReasonNotAuthorized)
}

// neverReady checks that a problem of a runner is a reason of RunnersReady and, after the time to get ready, of Finished.
func neverReady(t *testing.T, problem runnerv1alpha1.Problem, reason string) {
	t.Helper()
	w := newWorld(t)
	held := true
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 && held })
	w.apply(twoShards("dead", time.Second).Build())
	w.runner("dead-1-0").Fail(problem, "target: refused")
	w.await("dead", "told", func(lt *v1alpha1.LoadTest) bool { // before the other runner is ready, so that the test cannot start
		return bytes.Contains([]byte(conditionsOf(lt)), []byte("RunnersReady=False "+reason))
	})
	w.holding(nil)
	w.await("dead", "ready on one shard", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Shards != nil && lt.Status.Shards.Ready == 1 })
	w.later(time.Hour)
	w.wantNotStarted(w.awaitPhase("dead", v1alpha1.PhaseFailed), reason, "target: refused")
}

func TestStop(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("stopped", load).Build())
	w.awaitLoad("stopped", 500)
	w.edit("stopped", func(s *v1alpha1.LoadTestSpec) { s.Stop = true })
	for _, pod := range []string{"stopped-1-0", "stopped-1-1"} {
		w.Eventually(w.runner(pod).Stopped).Should(gomega.Equal(&runnerv1alpha1.Stop{Reason: "spec.stop", Drain: true}))
	}
	lt := w.awaitPhase("stopped", v1alpha1.PhaseStopped)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonStopped)
	if lt.Status.Results.Requests.Sent < 500 || lt.Status.Shards.Lost != 0 {
		t.Errorf("sent %d, lost %d; want the results kept", lt.Status.Results.Requests.Sent, lt.Status.Shards.Lost)
	}
	w.Eventually(w.runner("stopped-1-0").Acked).Should(gomega.BeTrue())
}

func TestDeadline(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("late", load).Deadline(3600).Build())
	w.awaitLoad("late", 100)
	w.later(time.Hour)
	lt := w.awaitPhase("late", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonDeadlineExceeded)
	if lt.Status.Results.Requests.Sent == 0 {
		t.Error("what was measured was not kept")
	}
}

// A LoadTest that Flux would create again stays after its TTL. If Flux does not manage it any more, it is deleted.
func TestTTLOfGitOps(t *testing.T) {
	w := newWorld(t)
	lt := twoShards("managed", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.TTLSecondsByOutcome = &v1alpha1.TTLByOutcome{Passed: ptr.To[int32](0)}
	}).Build()
	lt.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "app"}
	lt = w.apply(lt)
	w.awaitPhase("managed", v1alpha1.PhaseCompleted)
	w.wantEvents("managed", "PlanReady", "RunnersReady", "Started", "Completed", "TTLIgnored")
	edit := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null},"spec":{"ttlSecondsByOutcome":{"failed":60}}}`)) // brings a pass
	w.must(w.client.Patch(w.ctx, lt, edit))
	w.awaitGone(lt, "managed")
}

func TestEditAfterFinish(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("done", time.Second).Build())
	w.awaitPhase("done", v1alpha1.PhaseCompleted)
	w.edit("done", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) })
	lt := w.await("done", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	if bytes.Contains([]byte(conditionsOf(lt)), []byte(v1alpha1.EditedAfterFinish)) {
		t.Error("another TTL was taken for another test")
	}
	w.edit("done", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" })
	lt = w.await("done", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 3 })
	w.wantEdited(lt)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	if lt.Status.Phase != v1alpha1.PhaseCompleted || lt.Status.StartedGeneration != 1 {
		t.Errorf("phase %s, generation %d ran", lt.Status.Phase, lt.Status.StartedGeneration)
	}
	for i, policy := range []v1alpha1.ShardLostAction{v1alpha1.ShardLostContinue, v1alpha1.ShardLostFail} { // which the plan does not have
		w.edit("done", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path, s.Runner.OnShardLost = "/", policy })
		lt = w.await("done", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == int64(4+i) })
		if edited := strings.Contains(conditionsOf(lt), v1alpha1.EditedAfterFinish); edited != (policy == v1alpha1.ShardLostContinue) {
			t.Errorf("onShardLost %s is reported: %v", policy, edited)
		}
	}
	w.edit("done", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" })
	w.await("done", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 6 })
	// Without its report the run stays ended.
	w.must(w.client.Delete(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "done-report"}}))
	w.edit("done", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/" })
	lt = w.await("done", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 7 })
	if lt.Status.Phase != v1alpha1.PhaseCompleted || lt.Status.Results.Requests.Sent != 1000 {
		t.Errorf("phase %s, results %+v", lt.Status.Phase, lt.Status.Results)
	}
	if bytes.Contains([]byte(conditionsOf(lt)), []byte(v1alpha1.EditedAfterFinish)) {
		t.Error("the spec is again the one that ran")
	}
}

// The spec that a test ended with before its start is not always that of its last Job.
func TestEditAfterAnEndBeforeTheStart(t *testing.T) {
	for name, tt := range map[string]struct {
		phase v1alpha1.Phase // before the end
		first func(*v1alpha1.LoadTestSpec)
		last  func(*v1alpha1.LoadTestSpec) // stops it
	}{
		"without a Job": {v1alpha1.PhaseSuspended, func(s *v1alpha1.LoadTestSpec) { s.Suspend = true }, func(s *v1alpha1.LoadTestSpec) { s.Stop = true }},
		"with the Job of another spec": {v1alpha1.PhaseStarting, func(*v1alpha1.LoadTestSpec) {}, func(s *v1alpha1.LoadTestSpec) {
			s.Rates[0].RequestsPerSecond, s.Stop = ptr.To[int64](7), true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.holding(func(*batchv1.Job, int) bool { return true })
			w.apply(twoShards("unstarted", load).Edit(tt.first).Build())
			w.awaitPhase("unstarted", tt.phase)
			w.edit("unstarted", tt.last)
			w.awaitPhase("unstarted", v1alpha1.PhaseStopped)
			w.edit("unstarted", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
			lt := w.await("unstarted", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 3 })
			if text := conditionsOf(lt); strings.Contains(text, v1alpha1.EditedAfterFinish) || slices.Contains(w.eventsOf("unstarted"), v1alpha1.ReasonChangeNotApplied) {
				t.Errorf("the spec that ended is reported as edited after the end:\n%s", text)
			}
			w.edit("unstarted", func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" })
			w.wantEdited(w.await("unstarted", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 4 }))
		})
	}
}
