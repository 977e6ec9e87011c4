package loadtest

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/event"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/controllers/internal/status"
)

// failuresShown is the number of failed passes in a row after which status shows the error. Fewer are usual, such as a conflict of two writes.
const failuresShown = 3

// failing counts the passes that failed in a row, and returns what status shows of them; empty: nothing.
func (c *memoryEntry) failing(err error) string {
	if err == nil {
		c.failures = 0
		return ""
	}
	if c.failures++; c.failures < failuresShown {
		return ""
	}
	return shorten.To(fmt.Sprintf("The operator failed %d times in a row, and tries again: %v", c.failures, err), run.MaxMessage)
}

// unreadable shows that a LoadTest cannot be handled, because what it owns cannot be read. All else in its status stays. It returns the error.
func (r *reconciler) unreadable(ctx context.Context, lt *v1alpha1.LoadTest, cause error) error {
	message := r.memory.of(lt).failing(cause)
	if message == "" {
		return cause
	}
	written := lt.DeepCopy()
	written.Status = *status.Failing(lt, message, r.clock())
	if equality.Semantic.DeepEqual(lt.Status, written.Status) {
		return cause
	}
	if err := r.patchStatus(ctx, lt, written); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return errors.Join(cause, err)
	}
	return cause
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
		event.Send(ctx, r.events, lt, []event.Event{event.Warning(v1alpha1.ReasonWriteRefused, "Run", "The API server refuses the status: "+text)})
	}
	return ctrl.Result{RequeueAfter: maxRetryInterval}, nil
}
