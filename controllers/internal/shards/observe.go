package shards

import "strconv"

// observer returns the runner that reads the observations of the plan: the first one that answers and that the test
// continues with; nil: there is none.
func (l runners) observer() *runner {
	for _, s := range l {
		if s.pod.Address != "" && !s.pod.Ended && !s.silent && !s.state.Over() && !s.final() {
			return s
		}
	}
	return nil
}

// observe returns the value of Call.Observe. It stays valid for the runner until the next call, also if the operator
// cannot reach it for some time.
func (m *round) observe(s *runner) string {
	if len(m.d.Plan.Observe) == 0 {
		return ""
	}
	return strconv.FormatBool(s == m.observer)
}
