package loadtest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
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
	for _, source := range f.Plan.Sources() {
		found, err := o.baseline(ctx, f, source)
		if err != nil {
			return fmt.Errorf("reading the baseline: %w", err)
		}
		f.Baselines[source] = found
	}
	return nil
}

// baseline reads one report. What the API server does not have, and what is not a report, is not an error of the pass.
func (o *observer) baseline(ctx context.Context, f *run.Facts, source runnerv1alpha1.BaselineSource) (baseline.Found,
	error) {
	cm := &corev1.ConfigMap{}
	err := o.reader.Get(ctx, client.ObjectKey{Namespace: f.LoadTest.Namespace, Name: source.ConfigMap}, cm)
	if apierrors.IsNotFound(err) {
		return baseline.Found{Why: "it does not exist"}, nil
	}
	if err != nil {
		return baseline.Found{}, err
	}
	if _, has := cm.BinaryData[desired.KeyReport]; !has {
		return baseline.Found{Why: "it has no key " + desired.KeyReport}, nil
	}
	_, report, err := desired.DecodeReport(cm)
	if err != nil || report == nil {
		return baseline.Found{Why: fmt.Sprintf("it cannot be read: %v", err)}, nil
	}
	return baseline.Found{Report: report}, nil
}
