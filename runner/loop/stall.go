package loop

import (
	"fmt"
	"time"

	"github.com/h2surge/h2surge/runner/listen"
)

// stall watches for a load that cannot end: a stage that is bounded by its number of requests only, while nothing
// can be sent any more.
type stall struct {
	*sender
	listeners *listen.Listeners
	// after is how long the worker waits for progress: the longest timeout, the longest connect timeout and the longest
	// delay of a chain.
	after time.Duration
	// rested is resting of the last turn. restedAt is when it was last true.
	rested   bool
	restedAt int64
	// why says why the load has ended; empty: it has not stalled.
	why string
}

// stallsAfter returns how long the worker waits for progress.
func stallsAfter(cfg *Config) time.Duration {
	var connect, delay time.Duration
	for i := range cfg.Program.Targets {
		connect = max(connect, cfg.Program.Targets[i].ConnectTimeout)
	}
	for i := range cfg.Program.Chains {
		delay = max(delay, time.Duration(cfg.Program.Chains[i].Delay))
	}
	return cfg.MaxWait + connect + delay
}

// next is when the load has stalled if nothing happens until then, or never. A request in flight gets an outcome.
func (s *stall) next() int64 {
	if !s.slots.MayStall() || s.rested || s.requests.AnyInFlight() {
		return never
	}
	return max(s.requests.ProgressAt(), s.restedAt) + int64(s.after)
}

// resting returns whether something is under way that lets requests be sent later: a think time, a back-off, a
// notification that a step awaits, or the pause of the lease or of the request limit.
func (s *stall) resting() bool {
	return s.flow.Sleeps() || s.listeners.Waits() || s.slots.Paused() || s.limit.NextToken() != never
}

// check returns whether the load has stalled now. The time of a stage that may stall counts from its begin.
func (s *stall) check() bool {
	if !s.slots.MayStall() {
		s.requests.Progress(s.now)
		return false
	}
	rests := s.resting()
	if rests || s.rested {
		s.restedAt = s.now
	}
	s.rested = rests
	if s.now < s.next() {
		return false
	}
	s.why = fmt.Sprintf("no request was answered, timed out or was reset for %v", s.after)
	for i := range s.targets.Len() {
		if why := s.conns.To(int32(i)).Unconnected(); why.Failed() {
			s.why += "; target " + s.conns.To(int32(i)).Plan.Name + ": " + why.String()
			break
		}
	}
	return true
}
