package loadtest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/h2surge/h2surge/api/v1alpha1"
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

// statusRefused reports that the API server refuses the status itself, with an event and in the log, because no
// condition can. It returns the error if it is not a refusal.
func (r *reconciler) statusRefused(ctx context.Context, lt *v1alpha1.LoadTest, err error) (ctrl.Result, error) {
	text := refusal.Of(err)
	if text == "" {
		return ctrl.Result{}, err
	}
	if c := r.memory.of(lt); !c.statusRefused {
		c.statusRefused = true
		r.sendEvents(ctx, lt, []userEvent{warning(v1alpha1.ReasonWriteRefused, actionRun, "The API server refuses the status: "+text)})
	}
	return ctrl.Result{RequeueAfter: maxRetryInterval}, nil
}
