package flow

import (
	"github.com/h2surge/h2surge/runner/bitmap"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/cookie"
)

// Instance is a chain instance with the worker's bookkeeping. Only this package writes its fields, except for the
// cookies.
type Instance struct {
	// The fields of this cache line change in each instance.

	// SentAt is when the last request was sent, or else when the instance began.
	SentAt int64
	// Began is when the instance began.
	Began int64
	// aborted is why the instance ends after its last activation. It is "" while the instance is not aborted.
	aborted string
	// Repeated counts how often the present step has succeeded and been repeated.
	Repeated int32
	// Stage is not negative in an instance of the load. The others run once for the whole test, and need no slots.
	Stage int16
	// outstanding counts the activations; see chain.Activation.
	outstanding int16
	// Measured is true if the instance started in a measured stage.
	Measured bool
	// begun is true after the first request of the instance.
	begun bool
	// Late is true after the first request of the instance that was sent after the load.
	Late bool
	// always is true from the first always step on. Then no failure keeps the later steps from being sent.
	always bool
	// abortedAt is the position of the group that aborted the instance.
	abortedAt      int16
	chain.Instance // without its values, which are on other lines

	Cookies cookie.Jar
	// next is the next number for values that occur once in the test, for requests that need no slot; see nextNumber.
	next int64
	// redirects are those of the steps that were redirected.
	redirects []Redirect
	_         [8]byte // whole cache lines
}

// instances are those of a worker. They are used again, with their buffers.
type instances struct {
	all []*Instance
	// inUse are the indexes of those that have not ended.
	inUse bitmap.Set
}

// At returns an instance.
func (s *instances) At(i int32) *Instance { return s.all[i] }

// All returns all instances, and the indexes of those that have ended.
func (s *instances) All() (all []*Instance, ended []int32) {
	for i := range s.all {
		if !s.inUse.Has(i) {
			ended = append(ended, int32(i))
		}
	}
	return s.all, ended
}

// take returns the index of an instance that is free.
func (s *instances) take() int32 {
	i := s.inUse.Take()
	if i == len(s.all) {
		s.all = append(s.all, &Instance{})
	}
	return int32(i)
}

// release makes an instance free.
func (s *instances) release(i int32) { s.inUse.Release(int(i)) }

// begin makes the instance one that begins now, after Start. Always is true if its first step is an always step.
func (in *Instance) begin(now int64, always bool) {
	in.always = always
	in.Stage, in.outstanding, in.Repeated, in.begun, in.Measured, in.Late, in.aborted = 0, 0, 0, false, false, false, ""
	in.Began, in.SentAt = now, now
}

// forget forgets the run before. The first number for requests that need no slot is next; zero: there is none.
func (in *Instance) forget(next int64) {
	in.Cookies.Clear()
	in.next, in.redirects = next, in.redirects[:0]
}

// Outstanding returns how many activations the instance has.
func (in *Instance) Outstanding() int { return int(in.outstanding) }

// Sent notes that a request was sent.
func (in *Instance) Sent(now int64) { in.SentAt = now }

// abort aborts the instance, unless it is already aborted.
func (in *Instance) abort(why string) {
	if in.aborted == "" {
		in.aborted, in.abortedAt = why, in.Step
	}
}

// stale returns whether the activations of the instance end without a request, because it was aborted. It then
// continues with its always steps, or ends.
func (in *Instance) stale() bool { return in.aborted != "" && !in.always }

// nextNumber returns the number that the next request draws, if it needs no slot. It is zero if the instance has no
// numbers of its own, because it started before the first change of a share.
func (in *Instance) nextNumber() int64 {
	if in.next > 0 {
		in.next++
	}
	return max(in.next-1, 0)
}
