package loop

// sleeper is a step that becomes ready at an instant: after think time, or before a retry.
type sleeper struct {
	at int64
	activation
}

func (s sleeper) due() int64 { return s.at }

// wakeSleepers makes ready what has slept long enough.
func (w *Worker) wakeSleepers() {
	for w.sleepers.next() <= w.now {
		w.makeReady(w.sleepers.pop().activation)
	}
}
