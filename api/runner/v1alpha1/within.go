package v1alpha1

import "time"

// MaxOnce is the maximum duration of chains that run once, because their repeats and retries could take very long.
const MaxOnce = time.Hour

// Length returns how long the stages of the load take, from its start to the end of the last one; false: a stage ends
// by requests.
func (p *Plan) Length() (longest time.Duration, bounded bool) {
	ends := map[int]time.Duration{} // by the chain with rates of its own; 0: the other chains
	for i := range p.Rates {
		r := &p.Rates[i]
		if r.Duration == 0 {
			return 0, false
		}
		if _, begun := ends[r.Chain]; !begun && r.Chain > 0 {
			ends[r.Chain] = p.Chains[r.Chain-1].StartAfter
		}
		ends[r.Chain] += r.Duration
		longest = max(longest, ends[r.Chain])
	}
	return longest, true
}

// SetupWithin returns how long the setup chains can take: the sum over these chains, but at most MaxOnce. It returns
// zero if there are no setup chains.
func (p *Plan) SetupWithin() time.Duration {
	var total time.Duration
	for i := range p.Chains {
		if p.Chains[i].Phase == PhaseSetup {
			total = min(total+p.Chains[i].Within(), MaxOnce)
		}
	}
	return total
}

// Within returns how long an instance of a chain can take if it does not wait for a slot or a stream, but at most
// MaxOnce. It assumes that every step is repeated as often as possible, and that all its retries time out each time.
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
	one = min(one+s.withinAttempt(), MaxOnce)
	for backoff, n := s.OnFailure.Backoff, 0; n < s.OnFailure.Retries && one < MaxOnce; n++ {
		pause := min(backoff, s.OnFailure.MaxBackoff, MaxOnce)
		one = min(one+pause+s.withinAttempt(), MaxOnce)
		backoff = 2 * pause
	}
	repeat := max(1, time.Duration(s.Repeat))
	if one > MaxOnce/repeat { // their product may not even be a Duration
		return MaxOnce
	}
	return one * repeat
}

// withinAttempt returns how long a request and the redirects that it follows can take.
func (s *Step) withinAttempt() time.Duration {
	return min(min(s.Timeout, MaxOnce)*time.Duration(1+s.MaxRedirects), MaxOnce)
}
