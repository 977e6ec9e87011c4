package loadtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/internal/verdict"
	"github.com/h2surge/h2surge/internal/version"
)

// syncFinish stores the report when the runners have ended, and then how the run ended.
func (r *reconciler) syncFinish(ctx context.Context, s *scope) (bool, error) {
	if s.report == nil || !s.view.Over() || !s.recordsStored() {
		return true, nil
	}
	s.report.Search = s.searched()
	policyHash, err := plan.PolicyHash(s.plan)
	if err != nil {
		return false, err
	}
	s.report.PolicyHash = policyHash
	judged, err := verdict.Judge(s.plan, s.report, s.facts())
	if err != nil {
		return false, fmt.Errorf("computing the verdict: %w", err)
	}
	s.report.Verdict = judged
	return r.store(ctx, s, s.endingOf(&judged))
}

func (r *reconciler) endBeforeStart(ctx context.Context, s *scope, why *blocker) (bool, error) {
	outcome := runnerv1alpha1.OutcomeError
	if why.Reason == v1alpha1.ReasonStopped {
		outcome = runnerv1alpha1.OutcomeStopped
	}
	report, err := result.Build(result.Input{Plan: s.plan, PlanHash: s.planHash, Version: version.Get().Version})
	if err != nil {
		return false, fmt.Errorf("building an empty report: %w", err)
	}
	report.Verdict = runnerv1alpha1.Verdict{Outcome: outcome, Reason: why.Reason, Message: why.Message}
	s.report = report
	return r.store(ctx, s, s.endingOf(&report.Verdict))
}

// recordsStored returns whether the counts of each runner that ended before the test are stored, and the report has them.
func (s *scope) recordsStored() bool {
	for i := range s.view.Shards {
		sh := &s.view.Shards[i]
		if (sh.Lost != nil || sh.Left) && (!sh.Stored || !s.isRecorded(i, sh.Pod.UID)) {
			return false
		}
	}
	return true
}

func runnerOf(shard int, snap *runnerv1alpha1.Snapshot) result.Runner {
	who := result.Runner{Shard: shard}
	if snap != nil {
		who.Boot = snap.Boot
	}
	return who
}

// lost are the runners that had a part of the load and were lost.
func (s *scope) lost() []result.Runner {
	var out []result.Runner
	for i := range s.endedRunners {
		if rec := &s.endedRunners[i]; rec.Loss != nil && rec.Member {
			out = append(out, runnerOf(rec.Index, rec.Snapshot))
		}
	}
	for i := range s.view.Shards {
		if sh := &s.view.Shards[i]; sh.Lost != nil && sh.Member && !s.isRecorded(i, sh.Pod.UID) {
			out = append(out, runnerOf(i, sh.Snapshot))
		}
	}
	return out
}

// incomplete: counts of a lost runner are missing. A runner that was reached again has all, but with onShardLost Fail the test ended because of
// it.
func (s *scope) incomplete() bool {
	if s.policy() == v1alpha1.ShardLostFail {
		return len(s.lost()) > 0
	}
	return slices.ContainsFunc(s.run.Shards, func(rec record.Shard) bool { return rec.Loss != nil && rec.Member && rec.State != state.Done }) ||
		slices.ContainsFunc(s.view.Shards, func(sh collect.Shard) bool {
			return sh.Lost != nil && sh.Member && sh.State != state.Done && !s.isRecorded(sh.Index, sh.Pod.UID)
		})
}

// facts for the verdict. A deadline that the operator enforced looks like a stop to the runners. A loss is
// tolerated unless it ended the run, or no runner remained.
func (s *scope) facts() verdict.Facts {
	facts := verdict.FactsOf(s.view.Snapshots(s.policy() != v1alpha1.ShardLostFail))
	if s.report.Stopped == stopByDeadline && facts.Problem == "" {
		facts = verdict.Facts{
			Problem: runnerv1alpha1.ProblemDeadline,
			Message: fmt.Sprintf("activeDeadlineSeconds (%d) passed", *s.lt.Spec.ActiveDeadlineSeconds),
		}
	}
	facts.LossTolerated = s.policy() != v1alpha1.ShardLostFail && s.report.Stopped != stopByTooFew && s.remaining() > 0
	s.setThresholds(&facts)
	return facts
}

// endingOf says how the run ends, all but where the report lies.
func (s *scope) endingOf(v *runnerv1alpha1.Verdict) *record.End {
	end := &record.End{
		Reason: v.Reason, Message: clip(v.Message, maxMessage), Time: metav1.NewTime(s.now),
		Started: s.startDecided(), StartedGeneration: s.startedGeneration(),
		PlanHash: s.planHash, Warnings: s.warnings, Shards: s.counts(),
		Runners: s.runners(), Verdict: compactVerdict(v),
	}
	if completed(v) && !s.aborted() {
		end.Reason = v1alpha1.ReasonCompleted
	}
	if end.Shards.Lost > 0 {
		end.Message = clip(end.Message+": "+lostMessage(end.Runners), maxMessage)
	}
	if end.Started {
		start := metav1.NewTime(s.run.Start.Time.Time)
		end.StartTime = &start
		end.Results, end.Summary, end.Skew, end.Search = s.results(), s.summary(), s.skew(), s.searchStatus(true)
	}
	return end
}

// store stores the report, and then in the record how the run ended. The run has ended when the record says so. A run whose report is too large
// without its details ends without a report.
func (r *reconciler) store(ctx context.Context, s *scope, end *record.End) (bool, error) {
	gz, dropped, err := fit(*s.report, r.cfg.Report.MaxBytes, reportDetails)
	if err != nil {
		end.Message = clip(end.Message+"; the report is not stored: "+err.Error(), maxMessage)
		return r.storeEnd(ctx, s, end)
	}
	stored, err := r.storeReport(ctx, s, desired.Report(s.lt, gz))
	if stored == nil || err != nil {
		return err == nil, err
	}
	if have := stored.BinaryData[desired.KeyReport]; !bytes.Equal(have, gz) {
		// An earlier pass stored it and could not store the end: the verdict must be the one in the report.
		var earlier runnerv1alpha1.Report
		if err := decodeGzip(have, &earlier); err != nil {
			return false, fmt.Errorf("reading the report that an earlier pass stored: %w", err)
		}
		end = s.endingOf(&earlier.Verdict)
	}
	end.ReportRef = &v1alpha1.ReportReference{Name: stored.Name, Dropped: dropped}
	return r.storeEnd(ctx, s, end)
}

func (r *reconciler) storeEnd(ctx context.Context, s *scope, end *record.End) (bool, error) {
	if s.startDecided() {
		if err := r.deleteBudget(ctx, s); err != nil {
			return false, err
		}
	}
	err := r.decide(ctx, s, func(run *record.Record) error {
		run.End = end
		return run.On(state.End)
	})
	if err == nil {
		s.again(0)
	}
	return false, err
}

// storeReport creates the ConfigMap of the report, and returns it or the one that an earlier pass created; nil: the API server refuses it, or
// another object has its name. The record has the digest first, because a tenant can create a ConfigMap with the name and the owner.
func (r *reconciler) storeReport(ctx context.Context, s *scope, cm *corev1.ConfigMap) (stored *corev1.ConfigMap, err error) {
	_, err = r.attempt(ctx, s, "ConfigMap "+cm.Name, func() error {
		have := &corev1.ConfigMap{TypeMeta: cm.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
		found, err := r.existing(ctx, s.lt, have)
		switch {
		case err != nil:
			return err
		case found && !isReport(have, s.run.Report):
			return &conflictError{what: "ConfigMap " + cm.Name}
		case found:
			stored = have
			return nil
		}
		if digest := reportDigest(cm); s.run.Report != digest {
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

// reportDigest returns the SHA-256 of a stored report in hexadecimal.
func reportDigest(cm *corev1.ConfigMap) string {
	return fmt.Sprintf("%x", sha256.Sum256(cm.BinaryData[desired.KeyReport]))
}

// isReport returns whether the operator stored the report: it has the digest, and it is immutable.
func isReport(cm *corev1.ConfigMap, digest string) bool {
	return reportDigest(cm) == digest && ptr.Deref(cm.Immutable, false)
}

// deleteCheckpoints deletes the checkpoints of a run that has ended, once in each process: the one that stored the end may not have come to it, or
// wrote a checkpoint when it was about to be replaced.
func (r *reconciler) deleteCheckpoints(ctx context.Context, s *scope) error {
	c := r.memory.of(s.lt)
	if c.checkpointsGone || !s.end.Started {
		return nil
	}
	if err := r.checkpoints.DeleteAll(ctx, s.key(), s.lt.UID); err != nil {
		return err
	}
	c.checkpointsGone, c.counts = true, nil
	return nil
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

// syncRelease ends the runners of a run that has ended. A runner exits after the operator has acknowledged its
// final snapshot. The operator deletes the Job if a pod has not ended podGrace after the end of the run, and later if all have.
func (r *reconciler) syncRelease(ctx context.Context, s *scope) (bool, error) {
	if err := r.deleteCheckpoints(ctx, s); err != nil {
		return false, err
	}
	if err := r.deleteSecret(ctx, s); err != nil {
		return false, err
	}
	if err := r.expireFormer(ctx, s, s.end.Time.Time); err != nil {
		return false, err
	}
	if s.job == nil || s.job.DeletionTimestamp != nil {
		r.release(s.lt)
		return true, nil
	}
	if s.podsEnded() {
		r.release(s.lt)
		return true, r.expire(ctx, s, s.job, true, s.end.Time.Time)
	}
	left := s.end.Time.Add(r.cfg.Report.PodGrace.Duration).Sub(s.now)
	if !s.end.Started || left <= 0 {
		r.release(s.lt)
		return true, r.deleteJob(ctx, s.job)
	}
	s.again(left)
	if s.plan == nil {
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
	c.plan, c.present, c.addresses = nil, nil, nil
}

// jobEnded returns whether the Job controller reports the end of a Job.
func jobEnded(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// podsEnded returns whether all pods of the Job have ended without a deletion. The Job then stays for ttlAfterFinished, because the logs of
// its pods go with it. A pod whose runner has ended and whose sidecar continues has not ended.
func (s *scope) podsEnded() bool {
	if jobEnded(s.job) {
		return true
	}
	shards := map[string]bool{}
	for _, pod := range s.allPods {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return false
		}
		shards[pod.Annotations[batchv1.JobCompletionIndexAnnotation]] = true
	}
	for i := range completions(s.job) {
		if !shards[strconv.Itoa(i)] {
			return false
		}
	}
	return true
}
