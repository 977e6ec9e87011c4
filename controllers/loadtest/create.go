package loadtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Rights to make runners.
//   - secrets create: the certificate of a run, in its namespace. It is never read back; the
//     kubelet mounts it.
//   - services create and get: the headless Service that gives runners names, if listeners have TLS. The operator reads
//     a Service of the same name only to see whether it exists and whose it is; the garbage collector deletes it.
//   - jobs create and patch: server-side apply.
//   - loadtests/finalizers update: the owner reference of a Job blocks the deletion of its LoadTest in the foreground.
//     The admission plugin OwnerReferencesPermissionEnforcement, which OpenShift enables, requires this right for it.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=services,verbs=create;get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;patch
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests/finalizers,verbs=update

// createRunners creates the Secret, the Service if listeners need names, and the Job. A Job that the API server calls
// invalid is a mistake in the user's template; the cause of another refusal, such as a quota, can go away.
func (p *performer) createRunners(ctx context.Context, f *run.Facts, job *batchv1.Job) (applied *batchv1.Job,
	err error) {
	secret := "Secret " + desired.TLSName(f.LoadTest)
	if err := p.attempt(ctx, f, secret, func() error { return p.makeSecret(ctx, f) }); err != nil {
		return nil, err
	}
	if desired.HasNames(&f.LoadTest.Spec) {
		service := desired.Service(f.LoadTest)
		if err := p.attempt(ctx, f, "Service "+service.Name,
			func() error { return p.create(ctx, f.LoadTest, service) }); err != nil {
			return nil, err
		}
	}
	err = p.attempt(ctx, f, "Job "+job.Name, func() error {
		if err := p.beginWait(ctx, f); err != nil {
			return err
		}
		applied, err = p.applyJob(ctx, job)
		if apierrors.IsInvalid(err) {
			f.Block(run.Invalid(v1alpha1.ReasonInvalidSpec, "spec.runner: the API server refuses the Job of the runners: "+
				err.Error()))
			return errRefused
		}
		return err
	})
	return applied, err
}

// conflictError reports that an object with a name that the run needs is not the operator's.
type conflictError struct {
	what string
	// remains reports that the owner is a deleted LoadTest of the same name. The garbage collector deletes the object.
	remains bool
}

func (e *conflictError) Error() string {
	if e.remains {
		return e.what + " of an earlier LoadTest of this name exists until the garbage collector deletes it; if it stays for a minute, delete it"
	}
	return e.what + " exists, and the operator did not create it; delete it, or give the LoadTest another name"
}

// conflict notes a conflict, and returns errRefused for it. It returns any other error as it is.
func conflict(f *run.Facts, err error) error {
	var conflict *conflictError
	switch {
	case !errors.As(err, &conflict):
		return err
	case conflict.remains:
		f.Block(&run.Blocker{Condition: v1alpha1.ConditionRunnersReady, Reason: v1alpha1.ReasonWaitingForPods,
			Message: conflict.Error(), Retry: remainsInterval})
	default:
		f.Block(&run.Blocker{Condition: v1alpha1.ConditionPlanReady, Reason: v1alpha1.ReasonNameConflict,
			Message: conflict.Error(), Retry: conflictInterval})
	}
	return errRefused
}

// create makes a child, or reads the one that is there into it. It reads first, because a quota that is used up refuses
// to create an object that exists. A child of another owner is neither changed nor taken over: a conflictError is
// returned.
func (p *performer) create(ctx context.Context, lt *v1alpha1.LoadTest, child client.Object) error {
	if found, err := existing(ctx, p.reader, lt, child); found || err != nil {
		return err
	}
	return wrap(p.client.Create(ctx, child),
		fmt.Sprintf("creating %s %s", child.GetObjectKind().GroupVersionKind().Kind, child.GetName()))
}

// existing reads a child past the cache, which only has what carries our label. It returns false
// when there is none of that name.
func existing(ctx context.Context, from client.Reader, lt *v1alpha1.LoadTest, child client.Object) (bool, error) {
	what := fmt.Sprintf("%s %s", child.GetObjectKind().GroupVersionKind().Kind, child.GetName())
	err := from.Get(ctx, client.ObjectKeyFromObject(child), child)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", what, err)
	}
	if metav1.IsControlledBy(child, lt) {
		return true, nil
	}
	ref := metav1.GetControllerOf(child)
	remains := ref != nil && ref.Kind == "LoadTest" && ref.Name == lt.Name && ref.UID != lt.UID
	return false, &conflictError{what: what, remains: remains}
}

// reportIsFree returns a conflictError if the name of the report is taken, which would cost the results after the load.
func (p *performer) reportIsFree(ctx context.Context, lt *v1alpha1.LoadTest) error {
	cm := desired.Report(lt, nil)
	found, err := existing(ctx, p.reader, lt, cm)
	if found {
		err = &conflictError{what: "ConfigMap " + cm.Name}
	}
	return err
}

// beginWait lets startTimeout run from now on, if an earlier attempt to create the Job was refused.
func (p *performer) beginWait(ctx context.Context, f *run.Facts) error {
	if len(f.Record.Changes) == 0 || f.Now.Sub(f.Record.Changes[0].DecidedAt.Time) < time.Second {
		return nil
	}
	return p.store(ctx, f, func(run *record.Record) error {
		run.Changes[0].DecidedAt = f.MicroTime()
		return nil
	})
}

// makeSecret leaves one that exists alone: its name holds the UID of the LoadTest. The operator cannot read it, so it
// creates it again: a quota that is used up refuses that, and the run continues with the Secret of the record. The
// record gets the UID of a new one, because the end of the run deletes only that. While a creation has no answer, the
// record has no UID: the Secret of an earlier pass can have been deleted since.
func (p *performer) makeSecret(ctx context.Context, f *run.Facts) error {
	authority, err := p.pki.Get(ctx)
	if err != nil {
		return err
	}
	files, err := authority.RunnerFiles(f.LoadTest.UID)
	if err != nil {
		return err
	}
	secret, before := desired.TLS(f.LoadTest, files), f.Record.Secret
	if err := p.storeSecret(ctx, f, ""); err != nil {
		return err
	}
	err = p.client.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) || before != "" && refusal.OfQuota(err) {
		return p.storeSecret(ctx, f, before)
	}
	if err != nil {
		return fmt.Errorf("creating the runners' certificate: %w", err)
	}
	return p.storeSecret(ctx, f, secret.UID)
}

// storeSecret writes nothing if the record has the UID.
func (p *performer) storeSecret(ctx context.Context, f *run.Facts, uid types.UID) error {
	return p.store(ctx, f, func(run *record.Record) error {
		run.Secret = uid
		return nil
	})
}

// applyJob does not force: if another client created a Job of this name since the operator looked, the fields conflict.
// Other conflicts pass, such as that of a ResourceQuota that others change, too.
func (p *performer) applyJob(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	ac, err := desired.Apply(job)
	if err != nil {
		return nil, err
	}
	if err := p.client.Apply(ctx, ac, client.FieldOwner(desired.FieldManager)); err != nil {
		if apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
			return nil, &conflictError{what: "Job " + job.Name}
		}
		return nil, fmt.Errorf("applying Job %s: %w", job.Name, err)
	}
	applied := job.DeepCopy()
	applied.UID, applied.CreationTimestamp = *ac.UID, *ac.CreationTimestamp
	return applied, nil
}

// storeReport creates the ConfigMap of the report, unless an earlier pass did. The record has the digest and the end of
// the report first, because a tenant can create a ConfigMap with the name and the owner, and a successor can know less
// of the run.
func (p *performer) storeReport(ctx context.Context, f *run.Facts, cm *corev1.ConfigMap, end *record.End) error {
	return p.attempt(ctx, f, "ConfigMap "+cm.Name, func() error {
		if found, err := p.hasReport(ctx, f); found || err != nil {
			return err
		}
		if digest := desired.ReportDigest(cm); f.Record.Report != digest || f.Record.Ending == nil {
			if err := p.store(ctx, f, func(run *record.Record) error {
				run.Report, run.Ending = digest, end
				return nil
			}); err != nil {
				return err
			}
		}
		// A former operator can have a record without the report that its successor chose, and would create one that no
		// operator accepts.
		if err := p.memory.of(f.LoadTest).record.Check(ctx, f.LoadTest); err != nil {
			return err
		}
		if err := p.client.Create(ctx, cm); err != nil {
			return fmt.Errorf("creating ConfigMap %s: %w", cm.Name, err)
		}
		return nil
	})
}

// hasReport returns whether the report of the record is stored. The error is a conflictError if its name is taken.
func (p *performer) hasReport(ctx context.Context, f *run.Facts) (bool, error) {
	cm := desired.Report(f.LoadTest, nil)
	found, err := existing(ctx, p.reader, f.LoadTest, cm)
	if found && !desired.IsReport(cm, f.Record.Report) {
		err = &conflictError{what: "ConfigMap " + cm.Name}
	}
	return found && err == nil, err
}
