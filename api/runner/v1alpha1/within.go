package v1alpha1

import "time"

// MaxOnce bounds what is allowed for chains that run once, whose repeats and retries could take for
// ever.
const MaxOnce = time.Hour

// SetupWithin is how long the setup chains may take: the sum of what each of them may, but no more
// than MaxOnce. Zero: there are none.
func (p *Plan) SetupWithin() time.Duration {
	var total time.Duration
	for i := range p.Chains {
		if p.Chains[i].Phase == PhaseSetup {
			total = min(total+p.Chains[i].Within(), MaxOnce)
		}
	}
	return total
}

// Within is how long an instance of a chain may take when it waits for no slot and no stream, but no
// more than MaxOnce: every step is repeated as often as it may be, and each time all its retries time
// out.
func (c *Chain) Within() time.Duration {
	var total time.Duration
	for i := range c.Steps {
		total = min(total+c.Steps[i].within(), MaxOnce)
	}
	return total
}

func (s *Step) within() time.Duration {
	var one time.Duration
	if s.Think != nil {
		one = min(max(s.Think.Fixed, s.Think.Max), MaxOnce)
	}
	one = min(one+min(s.Timeout, MaxOnce), MaxOnce)
	for backoff, n := s.OnFailure.Backoff, 0; n < s.OnFailure.Retries && one < MaxOnce; n++ {
		pause := min(backoff, s.OnFailure.MaxBackoff, MaxOnce)
		one = min(one+pause+min(s.Timeout, MaxOnce), MaxOnce)
		backoff = 2 * pause
	}
	repeat := max(1, time.Duration(s.Repeat))
	if one > MaxOnce/repeat { // their product may not even be a Duration
		return MaxOnce
	}
	return one * repeat
}
