package loadtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/controllers/internal/state"
	"github.com/h2surge/h2surge/controllers/internal/status"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/internal/verdict"
	"github.com/h2surge/h2surge/internal/version"
)

// syncFinish stores the report when the runners have ended, and then how the run ended.
func (r *reconciler) syncFinish(ctx context.Context, s *scope) (bool, error) {
	if s.Report == nil || !s.View.Over() || !decide.RecordsStored(s.Facts) {
		return true, nil
	}
	s.Report.Search = status.Searched(s.Facts)
	policyHash, err := plan.PolicyHash(s.Plan)
	if err != nil {
		return false, err
	}
	s.Report.PolicyHash = policyHash
	judged, err := verdict.Judge(s.Plan, s.Report, decide.VerdictFacts(s.Facts))
	if err != nil {
		return false, fmt.Errorf("computing the verdict: %w", err)
	}
	s.Report.Verdict = judged
	return r.store(ctx, s, status.End(s.Facts, &judged))
}

func (r *reconciler) endBeforeStart(ctx context.Context, s *scope, why *run.Blocker) (bool, error) {
	outcome := runnerv1alpha1.OutcomeError
	if why.Reason == v1alpha1.ReasonStopped {
		outcome = runnerv1alpha1.OutcomeStopped
	}
	report, err := result.Build(result.Input{Plan: s.Plan, PlanHash: s.PlanHash, Version: version.Get().Version})
	if err != nil {
		return false, fmt.Errorf("building an empty report: %w", err)
	}
	report.Verdict = runnerv1alpha1.Verdict{Outcome: outcome, Reason: why.Reason, Message: why.Message}
	s.Report = report
	return r.store(ctx, s, status.End(s.Facts, &report.Verdict))
}

// store stores the report, and then in the record how the run ended. The run has ended when the record says so. A run whose report is too large
// without its details ends without a report.
func (r *reconciler) store(ctx context.Context, s *scope, end *record.End) (bool, error) {
	gz, dropped, err := fit(*s.Report, r.cfg.Report.MaxBytes, reportDetails)
	if err != nil {
		end.Message = shorten.To(end.Message+"; the report is not stored: "+err.Error(), run.MaxMessage)
		return r.storeEnd(ctx, s, end)
	}
	stored, err := r.storeReport(ctx, s, desired.Report(s.LoadTest, gz))
	if stored == nil || err != nil {
		return err == nil, err
	}
	if have := stored.BinaryData[desired.KeyReport]; !bytes.Equal(have, gz) {
		// An earlier pass stored it and could not store the end: the verdict must be the one in the report.
		var earlier runnerv1alpha1.Report
		if err := decodeGzip(have, &earlier); err != nil {
			return false, fmt.Errorf("reading the report that an earlier pass stored: %w", err)
		}
		end = status.End(s.Facts, &earlier.Verdict)
	}
	end.ReportRef = &v1alpha1.ReportReference{Name: stored.Name, Dropped: dropped}
	return r.storeEnd(ctx, s, end)
}

func (r *reconciler) storeEnd(ctx context.Context, s *scope, end *record.End) (bool, error) {
	if s.StartDecided() {
		if err := r.must(ctx, s, decide.DeleteBudget(s.Facts)); err != nil {
			return false, err
		}
	}
	err := r.decide(ctx, s, func(run *record.Record) error {
		run.End = end
		return run.On(state.End)
	})
	if err == nil {
		s.Again(0)
	}
	return false, err
}

// storeReport creates the ConfigMap of the report, and returns it or the one that an earlier pass created; nil: the API server refuses it, or
// another object has its name. The record has the digest first, because a tenant can create a ConfigMap with the name and the owner.
func (r *reconciler) storeReport(ctx context.Context, s *scope, cm *corev1.ConfigMap) (stored *corev1.ConfigMap, err error) {
	_, err = r.attempt(ctx, s, "ConfigMap "+cm.Name, func() error {
		have := &corev1.ConfigMap{TypeMeta: cm.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
		found, err := r.existing(ctx, s.LoadTest, have)
		switch {
		case err != nil:
			return err
		case found && !desired.IsReport(have, s.Record.Report):
			return &conflictError{what: "ConfigMap " + cm.Name}
		case found:
			stored = have
			return nil
		}
		if digest := desired.ReportDigest(cm); s.Record.Report != digest {
			if err := r.decide(ctx, s, func(run *record.Record) error {
				run.Report = digest
				return nil
			}); err != nil {
				return err
			}
		}
		if err := r.client.Create(ctx, cm); err != nil {
			return fmt.Errorf("creating ConfigMap %s: %w", cm.Name, err)
		}
		stored = cm
		return nil
	})
	return stored, err
}

var reportDetails = []detail[runnerv1alpha1.Report]{
	{"windows.histogram", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Windows = slices.Clone(r.Windows)
		for i := range r.Windows {
			r.Windows[i].Histogram = runnerv1alpha1.Histogram{}
		}
		return r
	}},
	{"histograms", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Histograms = nil
		return r
	}},
	{"windows", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Windows, r.WindowsFrom = nil, 0
		return r
	}},
	{"shards", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Shards = nil
		return r
	}},
	{"targets", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Targets = nil
		return r
	}},
	{"steps", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Steps = nil
		return r
	}},
	{"samples", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Samples, r.Slowest = nil, nil
		return r
	}},
	{"operations", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Operations = nil
		return r
	}},
	{"generator.cpus", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Generator.CPUs = nil
		return r
	}},
	{"causes", func(r runnerv1alpha1.Report) runnerv1alpha1.Report {
		r.Causes, r.Failures = nil, nil
		return r
	}},
}

// syncRelease ends the runners of a run that has ended.
func (r *reconciler) syncRelease(ctx context.Context, s *scope) (bool, error) {
	if _, err := r.perform(ctx, s, decide.Finished(s.Facts)...); err != nil {
		return false, err
	}
	if decide.Released(s.Facts) {
		r.release(s.LoadTest)
		return true, nil
	}
	if s.Plan == nil {
		if err := r.storedPlan(ctx, s); err != nil {
			return false, err
		}
	}
	_, err := r.registry.Ensure(r.wanted(s))
	return err == nil, err
}

// release ends the polls of a run, and forgets what only a running test needs: a plan can have megabytes.
func (r *reconciler) release(lt *v1alpha1.LoadTest) {
	r.registry.Forget(lt.UID)
	c := r.memory.of(lt)
	c.plan, c.present, c.addresses, c.counts = nil, nil, nil, nil
}
