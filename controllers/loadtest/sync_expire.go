package loadtest

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// secrets delete: the private keys of a run go with its end, and not only with its LoadTest. The operator deletes the Secret that it created and
// no other one; see deleteSecret.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=delete

// deleteSecret deletes the certificate of the runners of a run that has ended, once in each process. The runners read it when they started. The
// operator cannot read the owner of a Secret, so the run record has the UID of the one that the operator created. Without it, the name must do,
// which has a part of the UID of the LoadTest: the record was deleted, is that of an earlier version, or could not be stored after the creation.
func (r *reconciler) deleteSecret(ctx context.Context, s *scope) error {
	c := r.memory.of(s.LoadTest)
	if c.secretGone {
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.LoadTest.Namespace, Name: desired.TLSName(s.LoadTest)}}
	var options []client.DeleteOption
	if uid := s.Record.Secret; uid != "" {
		options = append(options, client.Preconditions{UID: &uid})
	}
	made, err := r.attempt(ctx, s, "the deletion of Secret "+secret.Name, func() error {
		return r.delete(ctx, secret, "Secret "+secret.Name, options...)
	})
	c.secretGone = made
	return err
}

// expire deletes a Job of a test that finished at a time: after ttlAfterFinished if its pods have ended, so that users can read their logs, else
// after podGrace.
func (r *reconciler) expire(ctx context.Context, s *scope, job *batchv1.Job, podsEnded bool, finished time.Time) error {
	keep := r.cfg.Report.PodGrace.Duration
	if podsEnded {
		keep = r.cfg.Runner.TTLAfterFinished.Duration
	}
	if left := finished.Add(keep).Sub(s.Now); left > 0 {
		s.Again(left)
		return nil
	}
	return r.deleteJob(ctx, job)
}

// expireFormer does so for the Jobs of earlier attempts and for those of a test without a record.
func (r *reconciler) expireFormer(ctx context.Context, s *scope, finished time.Time) error {
	for _, job := range s.FormerJobs {
		if err := r.expire(ctx, s, job, run.JobEnded(job), finished); err != nil {
			return err
		}
	}
	return nil
}
