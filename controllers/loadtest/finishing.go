package loadtest

import (
	"cmp"
	"context"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/controllers/internal/status"
)

// finish stores the report when the runners have ended, and then how the run ended.
func (r *reconciler) finish(ctx context.Context, f *run.Facts) error {
	if f.Record.Ending != nil { // a runner can be lost since
		found, err := r.perform.hasReport(ctx, f)
		if err := conflict(f, err); err != nil {
			return err
		}
		if found {
			return r.storeEnd(ctx, f, f.Record.Ending)
		}
	}
	if err := r.observe.baselines(ctx, f); err != nil {
		return err
	}
	report, err := decide.Report(f)
	if report == nil || err != nil {
		return err
	}
	return r.end(ctx, f, report)
}

// decided ends a run of which an earlier pass decided that it never starts.
func (r *reconciler) decided(_ context.Context, f *run.Facts) (*run.Blocker, error) {
	if e := f.Record.Ending; e != nil {
		return run.Never(e.Reason, e.Message), nil
	}
	return nil, nil
}

// endBeforeStart does so for a run that never starts.
func (r *reconciler) endBeforeStart(ctx context.Context, f *run.Facts, why *run.Blocker) error {
	report, err := decide.EmptyReport(f, why)
	if err != nil {
		return err
	}
	return r.end(ctx, f, report)
}

// end stores the report, and then in the record how the run ended. The run has ended when the record says so. A run
// whose report is too large without its details ends without a report.
func (r *reconciler) end(ctx context.Context, f *run.Facts, report *runnerv1alpha1.Report) error {
	f.Report = report
	end := status.End(f, &report.Verdict)
	gz, dropped, err := fit(*f.Report, f.Config.Report.MaxBytes)
	if err != nil {
		end.Message = shorten.To(end.Message+"; the report is not stored: "+err.Error(), run.MaxMessage)
		return r.storeEnd(ctx, f, end)
	}
	cm := desired.Report(f.LoadTest, gz)
	end.Report = &v1alpha1.ReportStatus{ConfigMapRef: v1alpha1.ConfigMapReference{Name: cm.Name}, Dropped: dropped}
	if err := r.perform.storeReport(ctx, f, cm, end); err != nil {
		return err
	}
	return r.storeEnd(ctx, f, cmp.Or(f.Record.Ending, end)) // an earlier version stored none with the digest
}

func (r *reconciler) storeEnd(ctx context.Context, f *run.Facts, end *record.End) error {
	if f.StartDecided() {
		if err := r.perform.must(ctx, f, decide.DeleteBudget(f)); err != nil {
			return err
		}
	}
	err := r.perform.store(ctx, f, func(run *record.Record) error {
		run.End, run.Ending = end, nil
		return run.On(record.EventEnd)
	})
	if err == nil {
		f.Again(0)
	}
	return err
}
