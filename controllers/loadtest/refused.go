package loadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
)

// maxRetryInterval bounds the time after which the operator repeats a write that the API server refused.
const maxRetryInterval = 30 * time.Second

// refusedWrite is a write that the API server refused, such as the report that exceeds a quota.
type refusedWrite struct {
	// what names the object: "ConfigMap pcf-report".
	what string
	// text is the API server's message.
	text string
	// since is the time of the first refusal, next that of the next try.
	since, next time.Time
}

// errRefused ends a pass after a write that attempt did not make. The scope has the reason for the status.
var errRefused = errors.New("a write was refused")

// attempt makes a write of the run. It returns false if the write was not made: a name is taken, the API server
// refuses the write, which the scope records for the status, or err is not nil. It repeats a refused write after a
// second, later after up to maxRetryInterval, and passes before that do not call the API server.
func (r *reconciler) attempt(ctx context.Context, s *scope, what string, write func() error) (made bool, err error) {
	c := r.memory.of(s.lt)
	before, refused := c.refused[what]
	if refused && s.now.Before(before.next) {
		s.refuse(before)
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
		before = refusedWrite{what: what, since: s.now}
		logr.FromContextOrDiscard(ctx).Info("The API server refuses a write", "object", what, "message", text)
	}
	before.text, before.next = text, s.now.Add(min(max(s.now.Sub(before.since), time.Second), maxRetryInterval))
	if c.refused == nil {
		c.refused = map[string]refusedWrite{}
	}
	c.refused[what] = before
	s.refuse(before)
	return false, nil
}

// refuse records a refused write for the status.
func (s *scope) refuse(w refusedWrite) {
	s.refused = append(s.refused, w)
	s.again(w.next.Sub(s.now))
}

// refusedError returns the refusal that ended a pass without attempt, such as that of a deletion. ok is false if
// err is not a refusal.
func (s *scope) refusedError(err error) (w refusedWrite, ok bool) {
	text := refusal.Of(err)
	if text == "" {
		return w, false
	}
	doing, _, _ := strings.Cut(err.Error(), ": ")
	return refusedWrite{what: doing, text: text, since: s.now, next: s.now.Add(maxRetryInterval)}, true
}

// refusedMessage lists the refused writes; empty: there are none. It does not change with each try.
func (s *scope) refusedMessage() string {
	var out []string
	for _, w := range s.refused {
		if text := fmt.Sprintf("the API server refuses %s: %s", w.what, w.text); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return clip(strings.Join(out, "; "), maxMessage-1024)
}

// refusedForTooLong ends a test whose runners the API server refuses for as long as pods may take to run: its turn with a lock, and the patience
// of who waits for it, are over then. nil: it does not.
func (s *scope) refusedForTooLong() *blocker {
	limit := s.cfg.Runner.PodTimeout.Duration
	for _, w := range s.refused {
		kind, _, _ := strings.Cut(w.what, " ")
		if slices.Contains([]string{"Job", "Secret", "Service"}, kind) && s.now.Sub(w.since) >= limit {
			return never(s.refusedReason(), fmt.Sprintf("Timed out after %s: %s", limit, s.refusedMessage()))
		}
	}
	return nil
}

// refusedReason is the reason of RunnersReady for a refused write before the start.
func (s *scope) refusedReason() string {
	if slices.ContainsFunc(s.refused, func(w refusedWrite) bool { return strings.HasPrefix(w.what, "Job ") }) {
		return v1alpha1.ReasonJobCreationFailed
	}
	return v1alpha1.ReasonWriteRefused
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
