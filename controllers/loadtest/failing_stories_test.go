package loadtest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// TestReportIsTooLarge: a report that does not fit without its details does not keep the test from its end.
func TestReportIsTooLarge(t *testing.T) {
	w := newWorldWith(t, func(cfg *configv1alpha1.OperatorConfig) { cfg.Report.MaxBytes = 300 })
	w.apply(twoShards("large", time.Second).Build())
	lt := w.awaitPhase("large", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	if text := conditionsOf(lt); lt.Status.Report != nil || !strings.Contains(text, "the report is not stored: it has") {
		t.Errorf("report %v; no condition says that it is missing:\n%s", lt.Status.Report, text)
	}
	w.wantSent(lt, 1000)
}

// TestCountsAreTooLarge: the others do not send on because the last counts of a lost runner cannot be stored.
func TestCountsAreTooLarge(t *testing.T) {
	w := newWorldWith(t, func(cfg *configv1alpha1.OperatorConfig) { cfg.Report.MaxBytes = 300 })
	w.apply(twoShards("large", load).Build())
	w.awaitLoad("large", 200)
	w.kill("large-1-1")
	lt := w.awaitPhase("large", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonRunnerLost)
	if text := conditionsOf(lt); !strings.Contains(text, "its counts are missing") || !lt.Status.Results.Partial {
		t.Errorf("partial %v, and the conditions\n%s", lt.Status.Results.Partial, text)
	}
	if w.runner("large-1-0").Stopped() == nil {
		t.Error("the other runner was not stopped")
	}
}

// TestUnreadableRecord: status says that the run record cannot be read, and the test continues when it can.
func TestUnreadableRecord(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"newer version": {func(record map[string]any) { record["version"], record["created"] = 99, map[string]any{"time": 0} }, " has version 99; this operator reads version 1"},
		"other type":    {func(record map[string]any) { record["created"] = "yesterday" }, `: parsing time "yesterday"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			lt := w.apply(twoShards("newer", load).Build())
			w.awaitLoad("newer", 200)
			w.endOperator()
			before := w.rewriteRecord(lt, tt.change)
			w.operator()
			lt = w.await("newer", "failing", func(lt *v1alpha1.LoadTest) bool {
				return hasCondition(lt, v1alpha1.ConditionReconciling, v1alpha1.ReasonRetryingAfterError)
			})
			if text := conditionsOf(lt); !strings.Contains(text, "LoadTestRun "+desired.RunName(lt)+tt.want) || !strings.Contains(text, v1alpha1.ReasonRetryingAfterError) {
				t.Errorf("no condition has %q and %q:\n%s", v1alpha1.ReasonRetryingAfterError, tt.want, text)
			}
			w.rewriteRecord(lt, func(record map[string]any) { clear(record); w.must(json.Unmarshal(before, &record)) })
			w.endLoad("newer")
			w.wantSent(w.awaitPhase("newer", v1alpha1.PhaseCompleted), 300_000)
		})
	}
}

// TestLateStatusOfAPredecessor: a status that a former leader wrote, and that reached the API server after the successor looked, does not stay.
func TestLateStatusOfAPredecessor(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("late", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/${nowhere}" }).Build())
	ended := w.awaitPhase("late", v1alpha1.PhaseInvalid)
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lt := w.get("late")
		ended = lt.DeepCopy()
		meta.SetStatusCondition(&lt.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonRetryingAfterError, Message: "The operator failed 3 times in a row, and tries again", ObservedGeneration: lt.Generation})
		return w.client.Status().Update(w.ctx, lt)
	}))
	w.await("late", "what it was", func(lt *v1alpha1.LoadTest) bool { return cmp.Equal(ended.Status, lt.Status) })
}

// rewriteRecord changes the run record, and returns it as it was.
func (w *world) rewriteRecord(lt *v1alpha1.LoadTest, change func(map[string]any)) (before []byte) {
	w.Helper()
	run := &statev1alpha1.LoadTestRun{}
	w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: desired.RunName(lt)}, run))
	before = run.Record.Raw
	record := map[string]any{}
	w.must(json.Unmarshal(before, &record))
	change(record)
	var err error
	run.Record.Raw, err = json.Marshal(record)
	w.must(err)
	w.must(w.client.Update(w.ctx, run))
	return before
}
