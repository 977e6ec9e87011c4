package loop

import (
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/extract"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/message"
)

// recorder counts what the worker does; Swap replaces the measure.Recorder.
type recorder struct{ *measure.Recorder }

// lag records when a slot was picked up, and which part of the lag is due to the sleep interval: the part before the
// earliest time at which the worker could pick up slots.
func (r recorder) lag(due, pickedUp, earliest int64) {
	r.Lag.Record((pickedUp - due) / 1000)
	r.Batched += max(0, min(pickedUp, earliest)-due)
}

// started counts a slot whose chain instance has started. Over is true after the last stage.
func (r recorder) started(stage int, over bool) {
	r.Stages[stage].Started++
	if over {
		r.Stages[stage].StartedInDrain++
	}
}

// endLate counts an instance that has ended after the load.
func (r recorder) endLate(why string) {
	if why == "" {
		r.GracefulChains.Completed++
	} else {
		r.GracefulChains.Aborted++
	}
}

// nap counts a nap.
func (r recorder) nap(d time.Duration) {
	r.Naps++
	r.Napped += int64(d)
}

// warm says that a request is of a warm-up stage; it must be of a rate stage.
func (w *Worker) warm(r *request) bool { return w.schedules.warmUp(int(r.stage)) }

// measured says that a request counts in the results.
func (w *Worker) measured(r *request) bool { return r.stage >= 0 && !w.warm(r) }

// count counts a failure.
func (r recorder) count(of rv.FailureOf, c failure.Cause) {
	r.Failures.Add(rv.Failure{Of: of, Cause: c.Kind, Detail: c.Detail, Address: c.Address})
}

// countRequest counts a failed request of a measured stage, with the address of its connection.
func (w *Worker) countRequest(of rv.FailureOf, r *request, c failure.Cause) {
	if c.Address == "" {
		c.Address = w.conns.all[r.conn].address
	}
	w.rec.count(of, c)
}

// countDropped counts a slot of a stage that was never sent.
func (w *Worker) countDropped(stage int, cause failure.Cause) { w.countDroppedSlots(stage, cause, 1) }

func (w *Worker) countDroppedSlots(stage int, cause failure.Cause, n int64) {
	w.rec.Stages[stage].Dropped += n
	if !w.schedules.warmUp(stage) {
		w.rec.Dropped += n
		w.selectDropped(stage, n)
		w.rec.Failures.AddMany(rv.Failure{Of: rv.FailureDropped, Cause: cause.Kind, Detail: cause.Detail, Address: cause.Address}, n)
	}
}

// countProblem counts problem details by their cause, and for the step by status and cause.
func (w *Worker) countProblem(r *request, x *message.Exchange) {
	head := append(strconv.AppendInt(w.buffers.scratch[:0], int64(r.status), 10), ' ')
	cause, ok := extract.Cause(head, x.Response.Body)
	if !ok {
		return
	}
	w.rec.Causes.AddBytes(cause, rv.MaxCauses, rv.CauseOther)
	w.buffers.scratch = append(head, cause...)
	w.rec.Steps[r.step].Problems.AddBytes(w.buffers.scratch, rv.MaxProblems, rv.CauseOther)
}

// onceCounters returns the counters of the requests outside of all rate stages.
func (w *Worker) onceCounters(stage int16) *measure.Once {
	switch stage {
	case teardownStage:
		return &w.rec.Teardown
	case gracefulStage:
		return &w.rec.Graceful
	}
	return &w.rec.Setup
}
