package runner

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/runner/loop"
	"github.com/h2surge/h2surge/runner/measure"
)

// answerWithin is how long a snapshot of a running test waits for the workers. A worker that is in a longer
// turn, because of a check or a script, is shown as it was at its last answer.
const answerWithin = 50 * time.Millisecond

// reading is what a worker shows of itself between two of its turns.
type reading struct {
	// recorder has what was recorded since the reading before.
	recorder           *measure.Recorder
	gauges             loop.Gauges
	startedAt, endedAt int64
	problem            string
	teardownFailure    string
	samples            []rv.Sample
	// globals that setup has captured, if published.
	globals   []string
	published bool
}

// read makes a reading, in a turn of the worker or outside of its life. The worker records into spare then.
func read(w *loop.Worker, spare *measure.Recorder) reading {
	out := reading{recorder: w.Swap(spare), gauges: w.Gauge(), startedAt: w.Started(), endedAt: w.Ended(), problem: w.Problem(), teardownFailure: w.TeardownFailure(), samples: w.Samples()}
	out.globals, out.published = w.Globals()
	return out
}

// look brings m.last up to date and adds what was recorded to total. When late is closed before the worker
// has answered, m.last stays, and a later look takes the answer. The caller holds foldMu.
func (m *member) look(total *measure.Recorder, late <-chan struct{}) {
	if m.answer == nil {
		answer, spare := make(chan reading, 1), m.spare
		m.answer = answer
		m.worker.Do(func(w *loop.Worker) { answer <- read(w, spare) })
	}
	select {
	case <-m.ended: // first, so that the last snapshot is complete
	default:
		select {
		case r := <-m.answer:
			m.accept(r, total)
			return
		case <-late:
			return
		case <-m.ended:
		}
	}
	select {
	case r := <-m.answer:
		m.accept(r, total)
	default:
	}
	m.accept(read(m.worker, m.spare), total) // what came after the answer
}

// accept merges the histograms, which the worker does not write to any more, outside of its turns.
func (m *member) accept(r reading, total *measure.Recorder) {
	r.recorder.FoldInto(total)
	m.spare, m.last, m.answer = r.recorder, r, nil
}

// addTo adds the last reading to a snapshot.
func (r *reading) addTo(s *rv.Snapshot, g *gauges) {
	g.add(r.gauges)
	if at := r.startedAt; at != 0 && (s.StartedAt == 0 || at < s.StartedAt) {
		s.StartedAt = at
	}
	s.EndedAt, g.sending = max(s.EndedAt, r.endedAt), g.sending || r.endedAt == 0
	if r.problem != "" && s.Problem == "" && s.State == rv.StateConnecting {
		s.Problem, s.Message = rv.ProblemConnect, r.problem
	}
	if s.State == rv.StateDone {
		s.Samples = result.AddSamples(s.Samples, r.samples)
	}
	if r.teardownFailure != "" {
		s.TeardownFailure = r.teardownFailure
	}
	if r.published && s.State != rv.StateDone {
		s.Globals = r.globals
	}
	s.Suspended, s.Changed = s.Suspended || g.suspended, s.Changed || g.changed
}
