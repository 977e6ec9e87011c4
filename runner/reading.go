package runner

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/runner/loop"
	"github.com/h2surge/h2surge/runner/measure"
)

// answerWithin is how long a snapshot of a running test waits for the workers. A worker that is in a longer
// turn, because of a check or a script, is shown as it was at its last answer.
const answerWithin = 50 * time.Millisecond

// reading is what a worker shows of itself between two of its turns.
type reading struct {
	loop.Reading
	// recorder has what was recorded since the reading before.
	recorder *measure.Recorder
}

// read makes a reading, in a turn of the worker or before or after its run. The worker then records into spare.
func read(w *loop.Worker, spare *measure.Recorder) reading {
	return reading{recorder: w.Swap(spare), Reading: w.Read()}
}

// read updates w.last and adds what was recorded to total. If late is closed before the worker has answered, w.last
// stays, and a later call takes the answer. The caller holds foldMu.
func (w *worker) read(total *measure.Recorder, late <-chan struct{}) {
	if w.answer == nil {
		answer, spare := make(chan reading, 1), w.spare
		w.answer = answer
		w.loop.Do(func(l *loop.Worker) { answer <- read(l, spare) })
	}
	select {
	case <-w.ended: // first, so that the last snapshot is complete
	default:
		select {
		case r := <-w.answer:
			w.accept(r, total)
			return
		case <-late:
			return
		case <-w.ended:
		}
	}
	select {
	case r := <-w.answer:
		w.accept(r, total)
	default:
	}
	w.accept(read(w.loop, w.spare), total) // what came after the answer
}

// accept merges the histograms, which the worker does not write to any more, outside of its turns.
func (w *worker) accept(r reading, total *measure.Recorder) {
	r.recorder.FoldInto(total)
	w.spare, w.last, w.answer = r.recorder, r, nil
}

// addTo adds the last reading to a snapshot.
func (r *reading) addTo(s *rv.Snapshot, g *gauges) {
	g.add(s, &r.Reading)
	if at := r.StartedAt; at != 0 && (s.StartedAt == 0 || at < s.StartedAt) {
		s.StartedAt = at
	}
	s.EndedAt, g.sending = max(s.EndedAt, r.EndedAt), g.sending || r.EndedAt == 0
	if r.Problem != "" && s.Problem == "" && s.State == rv.StateConnecting {
		s.Problem, s.Message = r.Problem, r.Message
	}
	if r.Lapsed != "" && s.Message == "" && s.State == rv.StateRunning {
		s.Message = "requests are sent without authorization: " + r.Lapsed
	}
	if s.State == rv.StateDone {
		s.Samples = build.AddSamples(s.Samples, r.Samples)
		s.Slowest = build.AddSlowest(s.Slowest, r.Slowest)
	}
	if r.TeardownFailure != "" {
		s.TeardownFailure = r.TeardownFailure
	}
	if r.Published && s.State != rv.StateDone {
		s.Globals = r.Globals
	}
	s.Suspended, s.Changed = s.Suspended || r.Suspended, s.Changed || r.Changed // an update reaches all workers
}
