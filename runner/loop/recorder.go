package loop

import (
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/extract"
	"github.com/h2surge/h2surge/runner/fiveg"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/message"
)

// recorder counts what the worker does; Swap replaces the measure.Recorder.
type recorder struct {
	*measure.Recorder
	program *chain.Program
	// warmUp is true for the stages that are not measured.
	warmUp     []bool
	selections selections
	samples    *samples
	scratch    []byte // of one call
	last       lastOutcome
}

// lastOutcome is that of a request outside of all rate stages.
type lastOutcome struct {
	// failed is the failed check of the last response, status its status. cause is why the last request without a whole
	// response failed.
	failed string
	status int
	cause  failure.Cause
}

// unanswered is an outcome of a request that got no whole response.
type unanswered uint8

const (
	byTimeout unanswered = iota
	byReset
	byLoss
)

func newRecorder(p *chain.Program, rates []rv.Rate, of []rv.Selection) recorder {
	r := recorder{
		Recorder: measure.New(measure.Shape{
			Steps: len(p.Steps), Chains: len(p.Chains), Stages: len(rates), Targets: len(p.Targets), Selections: len(of), Listeners: len(p.Listeners),
		}),
		program: p, selections: newSelections(of, p, rates), samples: &samples{},
	}
	for i := range rates {
		r.warmUp = append(r.warmUp, rates[i].WarmUp)
	}
	return r
}

// swap returns what was recorded. From now on, spare gets what is recorded.
func (r *recorder) swap(spare *measure.Recorder) (full *measure.Recorder) {
	full, r.Recorder = r.Recorder, spare
	return full
}

// slot counts a slot and records when it was picked up, and which part of the lag is due to the sleep interval: the part
// before the earliest time at which the worker could pick up slots.
func (r *recorder) slot(stage int, due, pickedUp, earliest int64) {
	r.Stages[stage].Slots++
	if r.warmUp[stage] {
		return
	}
	r.Lag.Record((pickedUp - due) / 1000)
	r.Batched += max(0, min(pickedUp, earliest)-due)
}

// started counts a slot whose chain instance has started. Over is true after the last stage.
func (r *recorder) started(stage int, over bool) {
	r.Stages[stage].Started++
	if over {
		r.Stages[stage].StartedInDrain++
	}
}

// endLate counts an instance that has ended after the load.
func (r *recorder) endLate(why string) {
	if why == "" {
		r.GracefulChains.Completed++
	} else {
		r.GracefulChains.Aborted++
	}
}

// ended counts an instance of a measured stage that has ended. The parameter why is what aborted it, or "".
func (r *recorder) ended(in *instance, why string) {
	c := &r.Chains[in.Chain]
	if why == "" {
		c.Completed++
		return
	}
	c.Aborted++
	c.AbortedBy.Add(why)
}

// nap counts a nap.
func (r *recorder) nap(d time.Duration) {
	r.Naps++
	r.Napped += int64(d)
}

// warm says that a request is of a warm-up stage; it must be of a rate stage.
func (r *recorder) warm(q *book.Request) bool { return r.warmUp[q.Stage] }

// measured says that a request counts in the results.
func (r *recorder) measured(q *book.Request) bool { return q.Stage >= 0 && !r.warm(q) }

// sent counts a request of a stage that is sent for the first time. Over is true if the schedule of its stage is over, and allOver if
// all are. Down is for how long its connection was not open while it waited.
func (r *recorder) sent(q *book.Request, over, allOver bool, down int64) {
	st := &r.Stages[q.Stage]
	st.Sent++
	if over {
		st.SentInDrain++
	}
	if q.Starts {
		r.started(int(q.Stage), over)
	}
	if r.warm(q) {
		r.WarmUpSent++
		return
	}
	r.Steps[q.Step].Sent++
	if r.selections.ofRequests() {
		r.selectSent(q, allOver)
	}
	switch {
	case q.Hop > 0:
		r.Steps[q.Step].Redirects++
	case q.Attempt > 0:
		r.Steps[q.Step].Retries++
	}
	t := &r.Targets[r.program.Steps[q.Step].Target]
	t.Reconnecting.Record(down / 1000)
	t.Blocked.Record((q.Sent - q.Picked - down) / 1000)
}

// done counts a whole response. Its times are those of the measured stages only.
func (r *recorder) done(q *book.Request, failed string, now int64) {
	switch {
	case q.Stage < 0:
		r.last.failed, r.last.status = failed, int(q.Status)
		if failed == "" {
			r.once(q.Stage).Succeeded++
		}
		return
	case r.warm(q):
		r.WarmUpDone++
		if failed == "" {
			r.WarmUpSucceeded++
		}
		return
	}
	st := &r.Steps[q.Step]
	st.Occupied += now - q.Sent
	st.Done++
	if failed == "" {
		st.Succeeded++
	} else {
		st.FailedBy.Add(failed)
		st.FailedResponseTime.Record((now - q.Due) / 1000)
	}
	st.Codes.Add(int(q.Status))
	if q.Control&fiveg.OverloadControl != 0 {
		st.OverloadControl++
	}
	if q.Control&fiveg.LoadControl != 0 {
		st.LoadControl++
	}
	st.ResponseTime.Record((now - q.Due) / 1000)
	st.ServiceTime.Record((now - q.Sent) / 1000)
	st.TimeToFirstByte.Record((q.First - q.Sent) / 1000)
	r.Targets[r.program.Steps[q.Step].Target].Body.Record((now - q.First) / 1000)
	if r.selections.ofRequests() {
		r.selectDone(q, failed == "", now)
	}
}

// failed counts a request without a whole response. The cause gets the address of its connection if it has none.
func (r *recorder) failed(q *book.Request, why unanswered, cause failure.Cause, address string, now int64) {
	switch {
	case q.Stage < 0:
		r.last.cause = cause
		return
	case r.warm(q):
		r.WarmUpDone++
		return
	case cause.Address == "":
		cause.Address = address
	}
	st := &r.Steps[q.Step]
	if q.InFlight {
		st.Occupied += now - q.Sent
	}
	r.selectFailed(q, why)
	switch why {
	case byTimeout:
		st.TimedOut++
	case byReset:
		st.Reset++
		r.CountFailure(rv.FailureReset, cause)
	default:
		st.ConnectionLost++
		r.CountFailure(rv.FailureConnectionLost, cause)
	}
}

// dropped counts n slots of a stage that were never sent.
func (r *recorder) dropped(stage int, cause failure.Cause, n int64) {
	r.Stages[stage].Dropped += n
	if r.warmUp[stage] {
		return
	}
	r.Dropped += n
	r.selectDropped(stage, n)
	r.Failures.AddMany(rv.Failure{Of: rv.FailureDropped, Cause: cause.Kind, Detail: cause.Detail, Address: cause.Address}, n)
}

// problem counts problem details by their cause, and for the step by status and cause.
func (r *recorder) problem(q *book.Request, x *message.Exchange) {
	head := append(strconv.AppendInt(r.scratch[:0], int64(q.Status), 10), ' ')
	cause, ok := extract.Cause(head, x.Response.Body)
	if !ok {
		return
	}
	r.Causes.AddBytes(cause, rv.MaxCauses, rv.CauseOther)
	r.scratch = append(head, cause...)
	r.Steps[q.Step].Problems.AddBytes(r.scratch, rv.MaxProblems, rv.CauseOther)
}

// notified counts a notification that a measured instance awaited. Failed is the check that it failed, or "".
func (r *recorder) notified(listener int, took int64, failed string) {
	l := &r.Listeners[listener]
	l.Time.Record(took / 1000)
	l.InTime++
	if failed != "" {
		l.FailedChecks++
		l.FailedBy.Add(failed)
	}
}

// once returns the counters of the requests outside of all rate stages.
func (r *recorder) once(stage int16) *measure.Once {
	switch stage {
	case book.StageTeardown:
		return &r.Teardown
	case book.StageGraceful:
		return &r.Graceful
	}
	return &r.Setup
}
