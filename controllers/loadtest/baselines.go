package loadtest

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/report/baseline"
)

// baselines reads the reports that the thresholds of a test compare with, when its runners have ended.
func (o *observer) baselines(ctx context.Context, f *run.Facts) error {
	if len(f.Plan.Baselines) == 0 || !f.View.Over() {
		return nil
	}
	f.Baselines = map[runnerv1alpha1.BaselineSource]baseline.Found{}
	left := desired.BaselineSize
	for _, source := range f.Plan.Sources() {
		found, err := o.baseline(ctx, f, source, &left)
		if err != nil {
			return fmt.Errorf("reading the baseline: %w", err)
		}
		f.Baselines[source] = found
	}
	return nil
}

// baseline reads one report, and takes its size off left. What the API server does not have, and what is not a report,
// is not an error of the pass.
func (o *observer) baseline(ctx context.Context, f *run.Facts, source runnerv1alpha1.BaselineSource,
	left *runnerv1alpha1.Size) (baseline.Found, error) {
	name := source.ConfigMap
	if source.Schedule != "" {
		last, err := o.lastOf(ctx, f, source.Schedule)
		if err != nil {
			return baseline.Found{}, err
		}
		if last == nil {
			return baseline.Found{Why: "it has no earlier run that passed"}, nil
		}
		name = last.Status.Report.ConfigMapRef.Name
	}
	cm := &corev1.ConfigMap{}
	err := o.reader.Get(ctx, client.ObjectKey{Namespace: f.LoadTest.Namespace, Name: name}, cm)
	if apierrors.IsNotFound(err) {
		return baseline.Found{Why: "it does not exist"}, nil
	}
	if err != nil {
		return baseline.Found{}, err
	}
	if _, has := cm.BinaryData[v1alpha1.KeyReport]; !has {
		return baseline.Found{Why: "it has no key " + v1alpha1.KeyReport}, nil
	}
	report, err := desired.DecodeBaseline(cm, left)
	if err != nil {
		return baseline.Found{Why: fmt.Sprintf("it cannot be read: %v", err)}, nil
	}
	return baseline.Found{Report: report}, nil
}

// lastOf returns the last LoadTest of a schedule that can be the baseline of a test; nil: it has none. It started
// before the test, so that two runs at the same time are not compared with each other.
func (o *observer) lastOf(ctx context.Context, f *run.Facts, schedule string) (last *v1alpha1.LoadTest, err error) {
	var list v1alpha1.LoadTestList
	err = o.client.List(ctx, &list, client.InNamespace(f.LoadTest.Namespace),
		client.MatchingLabels{v1alpha1.LabelSchedule: schedule})
	if err != nil {
		return nil, fmt.Errorf("listing the LoadTests of schedule %s: %w", schedule, err)
	}
	for i := range list.Items {
		lt := &list.Items[i]
		if isBaseline(lt, schedule) && lt.Status.StartTime.Time.Before(f.Record.Start.Time.Time) &&
			lt.UID != f.LoadTest.UID && (last == nil || last.Status.StartTime.Before(lt.Status.StartTime)) {
			last = lt
		}
	}
	return last, nil
}

// isBaseline returns whether a LoadTest is of a schedule, and its run can be a baseline. Users can set labels, so the
// owner decides.
func isBaseline(lt *v1alpha1.LoadTest, schedule string) bool {
	st, owner := &lt.Status, metav1.GetControllerOf(lt)
	return owner != nil && owner.Kind == "LoadTestSchedule" && owner.Name == schedule && lt.DeletionTimestamp == nil &&
		st.Verdict != nil && st.Report != nil && st.StartTime != nil &&
		baseline.IsCandidate(verdictOf(st.Verdict)) && !slices.ContainsFunc(st.Changes, isOfRate)
}

// isOfRate returns whether a change is one of a rate.
func isOfRate(c v1alpha1.Change) bool {
	return c.Field != run.FieldSuspend && c.Field != run.FieldShards
}

// verdictOf returns what IsCandidate reads of a verdict.
func verdictOf(v *v1alpha1.Verdict) *runnerv1alpha1.Verdict {
	out := &runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.Outcome(v.Outcome), Reason: v.Reason}
	for _, t := range v.Thresholds {
		out.Thresholds = append(out.Thresholds, runnerv1alpha1.ThresholdResult{Observed: t.Observed,
			Baseline: &runnerv1alpha1.BaselineResult{NotCompared: t.NotCompared}})
	}
	return out
}
