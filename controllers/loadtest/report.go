package loadtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/event"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/controllers/internal/status"
)

// reporter writes the status, and tells of it with events and metrics.
type reporter struct {
	client  client.Client // asks before each write whether this process leads
	events  events.EventRecorder
	metrics *Collector
	memory  *memory
	clock   func() time.Time
}

// status patches the status if it has changed, and sends the events of the change.
func (w *reporter) status(ctx context.Context, f *run.Facts) error {
	w.metrics.ObserveRefused(len(f.Refused))
	before := f.LoadTest.Status.DeepCopy()
	whole := status.Of(f)
	after := status.Brief(whole)
	known := w.memory.of(f.LoadTest)
	if equality.Semantic.DeepEqual(before, after) && !known.statusUncertain {
		w.memory.wants(f.LoadTest, after)
		w.metrics.Observe(f.Key(), before, after) // an operator that has just begun knows nothing yet
		return nil
	}
	if wait := w.memory.wait(f.LoadTest, f.Now); wait > 0 && !known.statusUncertain && !status.Urgent(before, after) {
		f.Again(wait)
		w.metrics.Observe(f.Key(), before, after)
		return nil
	}
	written := f.LoadTest.DeepCopy()
	written.Status = *after.DeepCopy() // the answer is decoded into it, and the record and the metrics have parts of after
	err := w.patchStatus(ctx, f.LoadTest, written)
	known.statusUncertain = err != nil
	if apierrors.IsNotFound(err) {
		return nil // its deletion brings the next pass
	}
	if err != nil {
		return err
	}
	w.memory.wroteStatus(written, f.Now)
	known.statusRefused = false
	w.metrics.Observe(f.Key(), before, after)
	// Events about shards need all of them. An operator that has just started has seen no transition.
	if before.Runners = known.runners; known.runners == nil {
		before.Runners = whole.Runners
	}
	if !f.TakenOver() {
		known.runners = whole.Runners
	}
	event.Send(ctx, w.events, written, status.Events(before, whole))
	return nil
}

// patchStatus writes the status of written, which is lt otherwise. What follows from an old status must not be written:
// a transition would be reported twice. So it is a conflict if lt is not the newest version.
func (w *reporter) patchStatus(ctx context.Context, lt, written *v1alpha1.LoadTest) error {
	w.memory.wants(lt, written.Status.DeepCopy())
	err := w.client.Status().Patch(ctx, written, client.MergeFromWithOptions(lt, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	w.memory.of(lt).wrote(lt, written)
	return nil
}

// failuresShown is the number of failed passes in a row after which status shows the error. Fewer are usual, such as a
// conflict of two writes.
const failuresShown = 3

// failing counts the passes that failed in a row, and returns what status shows of them; empty: nothing.
func (e *entry) failing(err error) string {
	if err == nil {
		e.failures = 0
		return ""
	}
	if e.failures++; e.failures < failuresShown {
		return ""
	}
	return shorten.To(fmt.Sprintf("The operator failed %d times in a row, and tries again: %v", e.failures, err),
		run.MaxMessage)
}

// unreadable shows that a LoadTest cannot be handled, because what it owns cannot be read. All else in its status
// stays. It returns the error.
func (w *reporter) unreadable(ctx context.Context, lt *v1alpha1.LoadTest, cause error) error {
	message := w.memory.of(lt).failing(cause)
	if message == "" {
		return cause
	}
	written := lt.DeepCopy()
	written.Status = *status.Failing(lt, message, w.clock())
	if equality.Semantic.DeepEqual(lt.Status, written.Status) {
		return cause
	}
	if err := w.patchStatus(ctx, lt, written); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return errors.Join(cause, err)
	}
	return cause
}

// statusRefused reports that the API server refuses the status itself, with an event and in the log, because no
// condition can. It returns the error if it is not a refusal.
func (w *reporter) statusRefused(ctx context.Context, lt *v1alpha1.LoadTest, err error) (ctrl.Result, error) {
	text := refusal.Of(err)
	if text == "" {
		return ctrl.Result{}, err
	}
	w.metrics.ObserveRefused(1)
	if c := w.memory.of(lt); !c.statusRefused {
		c.statusRefused = true
		event.Send(ctx, w.events, lt, []event.Event{event.Warning(v1alpha1.ReasonWriteRefused, "Run",
			"The API server refuses the status: "+text)})
	}
	return ctrl.Result{RequeueAfter: refusal.MaxWait}, nil
}
