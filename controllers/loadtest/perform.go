package loadtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// maxRetryInterval bounds the time after which the operator repeats a write that the API server refused.
const maxRetryInterval = 30 * time.Second

// errRefused ends a pass after a write that attempt did not make. The facts have the reason for the status.
var errRefused = errors.New("a write was refused")

// attempt makes a write of the run. It returns false if the write was not made: a name is taken, the API server
// refuses the write, which the facts record for the status, or err is not nil. It repeats a refused write after a
// second, later after up to maxRetryInterval, and passes before that do not call the API server.
func (r *reconciler) attempt(ctx context.Context, f *run.Facts, what string, write func() error) (made bool, err error) {
	c := r.memory.of(f.LoadTest)
	before, refused := c.refused[what]
	if refused && f.Now.Before(before.Next) {
		f.Refuse(before)
		return false, nil
	}
	err = write()
	text := refusal.Of(err)
	if text == "" {
		delete(c.refused, what)
		stop, err := conflict(f, err)
		return !stop, err
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false, err // ends the run
	}
	if !refused {
		before = run.Refusal{What: what, Since: f.Now}
		logr.FromContextOrDiscard(ctx).Info("The API server refuses a write", "object", what, "message", text)
	}
	before.Text, before.Next = text, f.Now.Add(min(max(f.Now.Sub(before.Since), time.Second), maxRetryInterval))
	if c.refused == nil {
		c.refused = map[string]run.Refusal{}
	}
	c.refused[what] = before
	f.Refuse(before)
	return false, nil
}

// refusedError returns the refusal that ended a pass without attempt, such as that of a read. ok is false if err is
// not a refusal.
func refusedError(f *run.Facts, err error) (w run.Refusal, ok bool) {
	text := refusal.Of(err)
	if text == "" {
		return w, false
	}
	doing, _, _ := strings.Cut(err.Error(), ": ")
	return run.Refusal{What: doing, Text: text, Since: f.Now, Next: f.Now.Add(maxRetryInterval)}, true
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

// create makes a child, or reads the one that is there into it. A child of another owner is
// neither changed nor taken over: a conflictError is returned.
func (r *reconciler) create(ctx context.Context, lt *v1alpha1.LoadTest, child client.Object) error {
	what := fmt.Sprintf("%s %s", child.GetObjectKind().GroupVersionKind().Kind, child.GetName())
	err := r.client.Create(ctx, child)
	if !apierrors.IsAlreadyExists(err) {
		return wrap(err, "creating "+what)
	}
	if _, err := r.existing(ctx, lt, child); err != nil {
		return err
	}
	return nil
}

// existing reads a child past the cache, which only has what carries our label. It returns false
// when there is none of that name.
func (r *reconciler) existing(ctx context.Context, lt *v1alpha1.LoadTest, child client.Object) (bool, error) {
	what := fmt.Sprintf("%s %s", child.GetObjectKind().GroupVersionKind().Kind, child.GetName())
	err := r.reader.Get(ctx, client.ObjectKeyFromObject(child), child)
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

// conflict notes a conflict. It returns any other error, and whether there was a conflict or an error.
func conflict(f *run.Facts, err error) (bool, error) {
	var conflict *conflictError
	switch {
	case err == nil:
		return false, nil
	case !errors.As(err, &conflict):
		return true, err
	case conflict.remains:
		f.Block(&run.Blocker{Condition: v1alpha1.ConditionRunnersReady, Reason: v1alpha1.ReasonWaitingForPods, Message: conflict.Error(), Retry: remainsInterval})
	default:
		f.Block(&run.Blocker{Condition: v1alpha1.ConditionPlanReady, Reason: v1alpha1.ReasonNameConflict, Message: conflict.Error(), Retry: conflictInterval})
	}
	return true, nil
}

// Rights of operations.
//   - pods delete: a lost runner that does not answer may still send load when the test ends. Only the kubelet can end it.
//   - poddisruptionbudgets create, patch and delete: the budget of a running test. The operator does not read budgets.
//   - secrets delete: the private keys of a run go with its end. The operator deletes the Secret that it created and no other one.
//   - jobs patch and delete: the number of indices; Jobs of earlier attempts, the one whose pods do not end, and those of a test that finished long ago.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=patch;delete

// perform makes writes. It returns false if one was not made, because the API server refuses it.
func (r *reconciler) perform(ctx context.Context, f *run.Facts, all ...decide.Operation) (made bool, err error) {
	made = true
	c := r.memory.of(f.LoadTest)
	for _, op := range all {
		if op.Once != "" && c.once[op.What] == op.Once {
			continue
		}
		ok, err := r.attempt(ctx, f, op.What, func() error { return r.do(ctx, f, op) })
		if err != nil {
			return false, err
		}
		if made = made && ok; ok && op.Once != "" {
			c.once[op.What] = op.Once
		}
	}
	return made, nil
}

// must makes writes that the rest of the pass relies on. The error is errRefused if the API server refuses one.
func (r *reconciler) must(ctx context.Context, f *run.Facts, all ...decide.Operation) error {
	made, err := r.perform(ctx, f, all...)
	if err == nil && !made {
		return errRefused
	}
	return err
}

func (r *reconciler) do(ctx context.Context, f *run.Facts, op decide.Operation) error {
	switch {
	case op.Apply != nil:
		return r.apply(ctx, op)
	case op.DropCounts:
		return r.checkpoints.DeleteAll(ctx, f.Key(), f.LoadTest.UID)
	}
	return r.delete(ctx, op)
}

// apply leaves an object alone that a user changed, or that is another one by now: its event brings the next pass.
func (r *reconciler) apply(ctx context.Context, op decide.Operation) error {
	options := []client.ApplyOption{client.FieldOwner(op.Manager)}
	if op.Force {
		options = append(options, client.ForceOwnership)
	}
	err := r.client.Apply(ctx, op.Apply, options...)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return wrap(err, "applying "+op.What)
}

// delete deletes an object in the background, unless it is gone or another one by now.
func (r *reconciler) delete(ctx context.Context, op decide.Operation) error {
	options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
	if uid := op.Delete.GetUID(); uid != "" {
		options = append(options, client.Preconditions{UID: &uid})
	}
	if op.Grace != nil {
		options = append(options, client.GracePeriodSeconds(*op.Grace))
	}
	err := r.client.Delete(ctx, op.Delete, options...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return wrap(err, op.What)
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// decide stores a decision in the run record. The caller acts on it only if there is no error. The error is errRefused
// if the API server refuses the record.
func (r *reconciler) decide(ctx context.Context, f *run.Facts, change func(*record.Record) error) error {
	var run *record.Record
	made, err := r.attempt(ctx, f, "LoadTestRun "+desired.RunName(f.LoadTest), func() (err error) {
		run, err = r.records.Save(ctx, f.LoadTest, func(run *record.Record) error {
			if !f.Stored {
				run.State, run.Created = record.Pending, f.MicroTime()
			}
			return change(run)
		})
		return err
	})
	if err != nil {
		return err
	}
	if !made {
		return errRefused
	}
	take(f, run)
	return nil
}

// beginWait lets startTimeout run from now on, if an earlier attempt to create the Job was refused.
func (r *reconciler) beginWait(ctx context.Context, f *run.Facts) error {
	if len(f.Record.Changes) == 0 || f.Now.Sub(f.Record.Changes[0].DecidedAt.Time) < time.Second {
		return nil
	}
	return r.decide(ctx, f, func(run *record.Record) error {
		run.Changes[0].DecidedAt = f.MicroTime()
		return nil
	})
}

// makeSecret leaves one that exists alone: its name holds the UID of the LoadTest. The record gets the UID of a new one, because the end of the
// run deletes only that.
func (r *reconciler) makeSecret(ctx context.Context, f *run.Facts) error {
	authority, err := r.pki.Get(ctx)
	if err != nil {
		return err
	}
	files, err := authority.RunnerFiles(f.LoadTest.UID)
	if err != nil {
		return err
	}
	secret := desired.TLS(f.LoadTest, files)
	if err := r.client.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("creating the runners' certificate: %w", err)
	}
	return r.decide(ctx, f, func(run *record.Record) error {
		run.Secret = secret.UID
		return nil
	})
}

// applyJob does not force: if another client created a Job of this name since the operator looked, the fields conflict.
func (r *reconciler) applyJob(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	ac, err := desired.Apply(job)
	if err != nil {
		return nil, err
	}
	if err := r.client.Apply(ctx, ac, client.FieldOwner(desired.FieldManager)); err != nil {
		if apierrors.IsConflict(err) {
			return nil, &conflictError{what: "Job " + job.Name}
		}
		return nil, fmt.Errorf("applying Job %s: %w", job.Name, err)
	}
	applied := job.DeepCopy()
	applied.UID, applied.CreationTimestamp = *ac.UID, *ac.CreationTimestamp
	return applied, nil
}

// storeReport creates the ConfigMap of the report, and returns it or the one that an earlier pass created; nil: the API server refuses it, or
// another object has its name. The record has the digest first, because a tenant can create a ConfigMap with the name and the owner.
func (r *reconciler) storeReport(ctx context.Context, f *run.Facts, cm *corev1.ConfigMap) (stored *corev1.ConfigMap, err error) {
	_, err = r.attempt(ctx, f, "ConfigMap "+cm.Name, func() error {
		have := &corev1.ConfigMap{TypeMeta: cm.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
		found, err := r.existing(ctx, f.LoadTest, have)
		switch {
		case err != nil:
			return err
		case found && !desired.IsReport(have, f.Record.Report):
			return &conflictError{what: "ConfigMap " + cm.Name}
		case found:
			stored = have
			return nil
		}
		if digest := desired.ReportDigest(cm); f.Record.Report != digest {
			if err := r.decide(ctx, f, func(run *record.Record) error {
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
