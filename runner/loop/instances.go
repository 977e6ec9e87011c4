package loop

import "github.com/h2surge/h2surge/runner/chain"

// instance is a chain instance with the worker's bookkeeping.
type instance struct {
	chain.Instance
	// measured: it began in a measured stage.
	measured bool
}

// instances keeps chain instances and uses them again, buffers included.
type instances struct {
	all  []*instance
	idle []int32
	live int
}

func (s *instances) alloc() int32 {
	s.live++
	if n := len(s.idle); n > 0 {
		i := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return i
	}
	s.all = append(s.all, &instance{})
	return int32(len(s.all) - 1)
}

func (s *instances) release(i int32) {
	s.idle = append(s.idle, i)
	s.live--
}

// begin starts an instance of a chain.
func (w *Worker) begin(c int) int32 {
	i := w.instances.alloc()
	in := w.instances.all[i]
	in.Begin(w.program, c, w.cursors)
	in.measured = !w.stage.warmUp()
	if in.measured {
		w.rec.Chains[c].Started++
	}
	return i
}

// end releases an instance; done says that it ran all its steps.
func (w *Worker) end(i int32, done bool) {
	in := w.instances.all[i]
	if in.measured {
		if done {
			w.rec.Chains[in.Chain].Completed++
		} else {
			w.rec.Chains[in.Chain].Aborted++
		}
	}
	w.instances.release(i)
}

// stepOf is the step an instance does next.
func (w *Worker) stepOf(i int32) *chain.Step {
	in := w.instances.all[i]
	return &w.program.Steps[w.program.Chains[in.Chain].First+int(in.Step)]
}
