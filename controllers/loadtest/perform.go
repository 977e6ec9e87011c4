package loadtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// maxRetryInterval bounds the time after which the operator repeats a write that the API server refused.
const maxRetryInterval = 30 * time.Second

// errRefused ends a pass after a write that attempt did not make. The scope has the reason for the status.
var errRefused = errors.New("a write was refused")

// attempt makes a write of the run. It returns false if the write was not made: a name is taken, the API server
// refuses the write, which the scope records for the status, or err is not nil. It repeats a refused write after a
// second, later after up to maxRetryInterval, and passes before that do not call the API server.
func (r *reconciler) attempt(ctx context.Context, s *scope, what string, write func() error) (made bool, err error) {
	c := r.memory.of(s.LoadTest)
	before, refused := c.refused[what]
	if refused && s.Now.Before(before.Next) {
		s.Refuse(before)
		return false, nil
	}
	err = write()
	text := refusal.Of(err)
	if text == "" {
		delete(c.refused, what)
		stop, err := s.conflict(err)
		return !stop, err
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false, err // ends the run
	}
	if !refused {
		before = run.Refusal{What: what, Since: s.Now}
		logr.FromContextOrDiscard(ctx).Info("The API server refuses a write", "object", what, "message", text)
	}
	before.Text, before.Next = text, s.Now.Add(min(max(s.Now.Sub(before.Since), time.Second), maxRetryInterval))
	if c.refused == nil {
		c.refused = map[string]run.Refusal{}
	}
	c.refused[what] = before
	s.Refuse(before)
	return false, nil
}

// refusedError returns the refusal that ended a pass without attempt, such as that of a deletion. ok is false if
// err is not a refusal.
func (s *scope) refusedError(err error) (w run.Refusal, ok bool) {
	text := refusal.Of(err)
	if text == "" {
		return w, false
	}
	doing, _, _ := strings.Cut(err.Error(), ": ")
	return run.Refusal{What: doing, Text: text, Since: s.Now, Next: s.Now.Add(maxRetryInterval)}, true
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

// conflict notes a conflict in the scope. It returns any other error, and whether there was a conflict or an error.
func (s *scope) conflict(err error) (bool, error) {
	var conflict *conflictError
	switch {
	case err == nil:
		return false, nil
	case !errors.As(err, &conflict):
		return true, err
	case conflict.remains:
		s.Block(&run.Blocker{Condition: v1alpha1.ConditionRunnersReady, Reason: v1alpha1.ReasonWaitingForPods, Message: conflict.Error(), Retry: remainsInterval})
	default:
		s.Block(&run.Blocker{Condition: v1alpha1.ConditionPlanReady, Reason: v1alpha1.ReasonNameConflict, Message: conflict.Error(), Retry: conflictInterval})
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
func (r *reconciler) perform(ctx context.Context, s *scope, all ...decide.Operation) (made bool, err error) {
	made = true
	c := r.memory.of(s.LoadTest)
	for _, op := range all {
		if op.Once != "" && c.once[op.What] == op.Once {
			continue
		}
		ok, err := r.attempt(ctx, s, op.What, func() error { return r.do(ctx, s, op) })
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
func (r *reconciler) must(ctx context.Context, s *scope, all ...decide.Operation) error {
	made, err := r.perform(ctx, s, all...)
	if err == nil && !made {
		return errRefused
	}
	return err
}

func (r *reconciler) do(ctx context.Context, s *scope, op decide.Operation) error {
	switch {
	case op.Apply != nil:
		return r.apply(ctx, op)
	case op.DropCounts:
		return r.checkpoints.DeleteAll(ctx, s.Key(), s.LoadTest.UID)
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
