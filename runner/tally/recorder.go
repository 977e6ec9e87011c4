package tally

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

// Recorder counts what a worker does. Swap replaces the measure.Recorder, which is complete after Flush.
type Recorder struct {
	*measure.Recorder
	sent    sameSent
	done    sameDone
	program *chain.Program
	// warmUp is true for the stages that are not measured.
	warmUp     []bool
	selections selections
	samples    *samples
	scratch    []byte  // of one call
	last       Outcome // of a request outside of all rate stages
}

// Outcome is that of a request outside of all rate stages.
type Outcome struct {
	// Failed is the failed check of the last response, Status its status. Cause is why the last request without a whole
	// response failed.
	Failed string
	Status int
	Cause  failure.Cause
}

// Unanswered is an outcome of a request that got no whole response.
type Unanswered uint8

// The outcomes of requests that got no whole response: the timeout passed, the peer reset the stream, or the connection
// was lost.
const (
	ByTimeout Unanswered = iota
	ByReset
	ByLoss
)

// New returns the recorder of a worker, with figures for the selections.
func New(p *chain.Program, rates []rv.Rate, of []rv.Selection) Recorder {
	r := Recorder{
		Recorder: measure.New(measure.Shape{
			Steps: len(p.Steps), Chains: len(p.Chains), Stages: len(rates), Targets: len(p.Targets), Selections: len(of),
			Listeners: len(p.Listeners),
		}),
		program: p, selections: newSelections(of, p, rates), samples: &samples{},
	}
	for i := range rates {
		r.warmUp = append(r.warmUp, rates[i].WarmUp)
	}
	return r
}

// Swap returns what was recorded. From now on, spare gets what is recorded.
func (r *Recorder) Swap(spare *measure.Recorder) (full *measure.Recorder) {
	r.Flush()
	full, r.Recorder = r.Recorder, spare
	return full
}

// Slot counts a slot and records when it was picked up, and which part of the lag is due to the sleep interval: the
// part before the earliest time at which the worker could pick up slots.
func (r *Recorder) Slot(stage int, due, pickedUp, earliest int64) {
	r.Stages[stage].Slots++
	if r.warmUp[stage] {
		return
	}
	r.Lag.Record((pickedUp - due) / 1000)
	r.Batched += max(0, min(pickedUp, earliest)-due)
}

// Started counts a slot whose chain instance has started. Over is true after the last stage.
func (r *Recorder) Started(stage int, over bool) {
	r.Stages[stage].Started++
	if over {
		r.Stages[stage].StartedInDrain++
	}
}

// Began counts an instance of a chain that has started in a measured stage.
func (r *Recorder) Began(chain int) { r.Chains[chain].Started++ }

// Exhaust notes that a schedule has ended because its chains had no more values.
func (r *Recorder) Exhaust() { r.Exhausted = true }

// CutOff counts instances that have not ended after the load when no more of their steps are sent.
func (r *Recorder) CutOff(n int64) { r.Graceful.CutOff += n }

// EndedLate counts an instance that has ended after the load.
func (r *Recorder) EndedLate(why string) {
	if why == "" {
		r.Graceful.Completed++
	} else {
		r.Graceful.Aborted++
	}
}

// Ended counts an instance of a chain that has started in a measured stage and has ended. The parameter why is what
// aborted it, or "".
func (r *Recorder) Ended(chain int32, why string) {
	c := &r.Chains[chain]
	if why == "" {
		c.Completed++
		return
	}
	c.Aborted++
	c.AbortedBy.Add(why, 1)
}

// Nap counts a nap.
func (r *Recorder) Nap(d time.Duration) {
	r.Naps++
	r.Napped += int64(d)
}

// IsWarm returns whether a request of a rate stage is of a warm-up stage.
func (r *Recorder) IsWarm(q *book.Request) bool { return r.warmUp[q.Stage] }

// measured returns whether a request counts in the results.
func (r *Recorder) measured(q *book.Request) bool { return q.Stage >= 0 && !r.IsWarm(q) }

// Sent counts a request that is sent for the first time. Over is true if the schedule of its stage is over, and allOver
// if all are. Down is for how long its connection was not open while it waited.
func (r *Recorder) Sent(q *book.Request, over, allOver bool, down int64) {
	if q.Stage < 0 {
		r.once(q.Stage).Sent++
		return
	}
	if q.Starts {
		r.Started(int(q.Stage), over)
	}
	if !r.IsWarm(q) {
		if r.selections.ofRequests() {
			r.selectSent(q, allOver)
		}
		switch {
		case q.Hop > 0:
			r.Steps[q.Step].Redirects++
		case q.Attempt > 0:
			r.Steps[q.Step].Retries++
		}
	}
	if blocked := q.Sent - q.Picked - down; !r.sent.covers(q, over, down, blocked) {
		r.flushSent()
		r.sent = sameSent{step: q.Step, stage: q.Stage, over: over, down: down, blocked: blocked}
	}
	r.sent.n++
}

// Done counts a whole response. Its times are those of the measured stages only.
func (r *Recorder) Done(q *book.Request, failed string, now int64) {
	switch {
	case q.Stage < 0:
		r.last.Failed, r.last.Status = failed, int(q.Status)
		if failed == "" {
			r.once(q.Stage).Succeeded++
		}
		return
	case r.IsWarm(q):
		r.WarmUpDone++
		if failed == "" {
			r.WarmUpSucceeded++
		}
		return
	}
	if q.Control != 0 {
		r.countControl(q)
	}
	if x := q.Exchange; x != nil && x.Cut && r.program.Steps[q.Step].WantBody {
		r.Steps[q.Step].ResponsesTruncated++
	}
	if r.program.Steps[q.Step].Streams && q.Call().Received > 0 {
		r.Steps[q.Step].LastMessage.Record((q.Call().Last - q.Sent) / 1000)
	}
	if r.selections.ofRequests() {
		r.selectDone(q, failed == "", now)
	}
	if !r.done.covers(q, failed, now) {
		r.flushDone()
		r.done = sameDone{step: q.Step, status: q.Status, due: q.Due, sent: q.Sent, first: q.First, now: now, failed: failed}
	}
	r.done.n++
}

// Messages records n messages of the stream of a response. last is when the one before them arrived; 0: they are the
// first.
func (r *Recorder) Messages(q *book.Request, n int, last, now int64) {
	if !r.measured(q) {
		return
	}
	st := &r.Steps[q.Step]
	if last == 0 {
		st.FirstMessage.Record((now - q.Sent) / 1000)
	} else {
		st.BetweenMessages.Record((now - last) / 1000)
	}
	st.BetweenMessages.RecordN(0, int64(n-1))
}

// countControl counts which information about load a response has.
func (r *Recorder) countControl(q *book.Request) {
	st := &r.Steps[q.Step]
	if q.Control&fiveg.OverloadControl != 0 {
		st.OverloadControl++
	}
	if q.Control&fiveg.LoadControl != 0 {
		st.LoadControl++
	}
}

// Failed counts a request without a whole response. The cause gets the address of its connection if it has none.
func (r *Recorder) Failed(q *book.Request, why Unanswered, cause failure.Cause, address string, now int64) {
	switch {
	case q.Stage < 0:
		r.last.Cause = cause
		return
	case r.IsWarm(q):
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
	case ByTimeout:
		st.TimedOut++
		if cause.Failed() {
			r.CountFailure(rv.FailureTimedOut, cause)
		}
	case ByReset:
		st.Reset++
		r.CountFailure(rv.FailureReset, cause)
	default:
		st.ConnectionLost++
		r.CountFailure(rv.FailureConnectionLost, cause)
	}
}

// Drop counts n slots of a stage that were never sent.
func (r *Recorder) Drop(stage int, cause failure.Cause, n int64) {
	r.Stages[stage].Dropped += n
	if r.warmUp[stage] {
		return
	}
	r.Dropped += n
	r.selectDropped(stage, n)
	r.Failures.AddMany(rv.Failure{Of: rv.FailureDropped, Cause: cause.Kind, Detail: cause.Detail, Address: cause.Address},
		n)
}

// DropPaused counts n slots of a stage that were due while the lease had expired.
func (r *Recorder) DropPaused(stage int, n int64) {
	r.Stages[stage].Slots += n
	r.Drop(stage, failure.Cause{Kind: rv.CauseLeaseExpired}, n)
}

// Retry counts a measured request that the peer has not processed, each time.
func (r *Recorder) Retry(q *book.Request) {
	if r.measured(q) {
		r.Retried++
	}
}

// Abandon counts a measured request that timed out and whose stream was not reset.
func (r *Recorder) Abandon(q *book.Request) {
	if r.measured(q) {
		r.Abandoned++
	}
}

// Problem counts the problem details of a measured response by their cause, and for the step by status and cause.
func (r *Recorder) Problem(q *book.Request, x *message.Exchange) {
	if x == nil || q.Status < 400 || !r.measured(q) {
		return
	}
	head := append(strconv.AppendInt(r.scratch[:0], int64(q.Status), 10), ' ')
	cause, ok := extract.Cause(head, x.Response.Body)
	if !ok {
		return
	}
	r.Causes.AddBytes(cause, rv.MaxCauses, rv.CauseOther)
	r.scratch = append(head, cause...)
	r.Steps[q.Step].Problems.AddBytes(r.scratch, rv.MaxProblems, rv.CauseOther)
}

// SentWithout counts a request that lacks a credential of its target.
func (r *Recorder) SentWithout(target int) { r.Targets[target].SentWithout++ }

// Last returns the last outcome of a request outside of all rate stages.
func (r *Recorder) Last() Outcome { return r.last }

// Awaited counts a step of a measured instance that awaits a notification.
func (r *Recorder) Awaited(listener int) { r.Listeners[listener].Awaited++ }

// Missed counts a step of a measured instance whose notification has not come.
func (r *Recorder) Missed(listener int) { r.Listeners[listener].Missing++ }

// Notified counts a notification that a measured instance awaited. Failed is the check that it failed, or "".
func (r *Recorder) Notified(listener int, took int64, failed string) {
	l := &r.Listeners[listener]
	l.Time.Record(took / 1000)
	l.InTime++
	if failed != "" {
		l.FailedChecks++
		l.FailedBy.Add(failed, 1)
	}
}

// once returns the counters of the requests outside of all rate stages.
func (r *Recorder) once(stage int16) *rv.OnceCounters {
	switch stage {
	case book.StageTeardown:
		return &r.Teardown
	case book.StageGraceful:
		return &r.Graceful.OnceCounters
	}
	return &r.Setup
}
