package loadtest

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/controllers/internal/status"
)

// syncUpload uploads the report of a run that has ended, until the storage has it or the deadline has passed. The record
// then has the result. An operator that restarts before that uploads the same files again.
func (r *reconciler) syncUpload(ctx context.Context, s *scope) (bool, error) {
	if !s.uploads(r.cfg) {
		return true, nil
	}
	s.upload = r.uploads.State(s.LoadTest.UID)
	switch u := &s.upload; {
	case u.Running:
	case u.URL != "":
		return r.uploaded(ctx, s, &record.Upload{URL: u.URL})
	case u.Failures > 0 && !s.Now.Before(s.Record.End.Time.Add(r.cfg.ResultStorage.Deadline.Duration)):
		return r.uploaded(ctx, s, &record.Upload{Error: fmt.Sprintf("the operator stopped after %d uploads: %v", u.Failures, u.Err)})
	case s.Now.Before(u.Next):
		s.Again(u.Next.Sub(s.Now))
	default:
		return r.startUpload(ctx, s)
	}
	return true, nil
}

// uploads returns whether the report of a run that has ended must still be uploaded.
func (s *scope) uploads(cfg *configv1alpha1.OperatorConfig) bool {
	return cfg.ResultStorage != nil && s.Record.End != nil && s.Record.End.ReportRef != nil && s.Record.Upload == nil
}

func (r *reconciler) uploaded(ctx context.Context, s *scope, result *record.Upload) (bool, error) {
	err := r.decide(ctx, s, func(run *record.Record) error {
		run.Upload = result
		return nil
	})
	if err != nil {
		return false, err
	}
	r.uploads.Forget(s.LoadTest.UID)
	return true, nil
}

func (r *reconciler) startUpload(ctx context.Context, s *scope) (bool, error) {
	cm := &corev1.ConfigMap{}
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: s.LoadTest.Namespace, Name: s.Record.End.ReportRef.Name}, cm)
	if apierrors.IsNotFound(err) || err == nil && !isReport(cm, s.Record.Report) {
		return r.uploaded(ctx, s, &record.Upload{Error: fmt.Sprintf("ConfigMap %s was deleted", s.Record.End.ReportRef.Name)})
	}
	if err != nil {
		return false, fmt.Errorf("reading the report: %w", err)
	}
	run, gz := s.resultRun(), cm.BinaryData[desired.KeyReport]
	s.upload.Running = true
	r.uploads.Start(s.Key(), s.LoadTest.UID, func(ctx context.Context) (string, error) {
		var report runnerv1alpha1.Report
		raw, err := gunzip(gz)
		if err == nil {
			err = decodeGzip(gz, &report)
		}
		if err != nil {
			return "", fmt.Errorf("reading the report: %w", err)
		}
		return r.storage.Upload(ctx, run, raw, &report)
	})
	return true, nil
}

// resultRun is the same in each attempt, so that they write the same objects.
func (s *scope) resultRun() configv1alpha1.ResultRun {
	run := configv1alpha1.ResultRun{Namespace: s.LoadTest.Namespace, Name: s.LoadTest.Name, UID: string(s.LoadTest.UID), Start: s.Record.End.Time.Time}
	if s.Record.End.StartTime != nil {
		run.Start = s.Record.End.StartTime.Time
	}
	return run
}

// statusOf returns the status of a pass.
func statusOf(s *scope) *v1alpha1.LoadTestStatus {
	st := status.Of(s.Facts)
	if s.Record.End != nil {
		reportStored(s, st)
	}
	return st
}

// reportStored sets condition ReportStored of a run that has ended and status.reportURL.
func reportStored(s *scope, st *v1alpha1.LoadTestStatus) {
	set := func(is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionReportStored, Status: is, Reason: reason, Message: shorten.To(message, run.MaxMessage),
			ObservedGeneration: s.LoadTest.Generation, LastTransitionTime: metav1.NewTime(s.Now.Truncate(time.Second)),
		})
	}
	switch u := s.Record.Upload; {
	case u != nil && u.URL != "":
		st.ReportURL = u.URL
		set(metav1.ConditionTrue, v1alpha1.ReasonUploaded, "The storage has report.html, report.csv and report.json")
	case u != nil:
		set(metav1.ConditionFalse, v1alpha1.ReasonUploadAbandoned, "The report is not uploaded: "+u.Error)
	case s.upload.Failures > 0:
		set(metav1.ConditionFalse, v1alpha1.ReasonUploadFailed, fmt.Sprintf("Upload %d failed, and the operator tries again: %v", s.upload.Failures, s.upload.Err))
	case s.upload.Running && meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReportStored) == nil:
		set(metav1.ConditionUnknown, v1alpha1.ReasonUploading, "The operator uploads the report")
	}
}
