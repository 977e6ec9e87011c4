package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/slots"
)

// sender makes requests, and sends those for which a stream is free.
type sender struct {
	*outcomes
	authorizations *authorizations
	limit          slots.Limiter
}

// maxWaiting bounds the requests that wait for a stream on one worker, and so its memory: some
// 400 MB with their chain instances. Slots that come due beyond it are dropped at once.
const maxWaiting = 1 << 20

// newRequest makes the request of a step. Due is the instant of its slot.
func (s *sender) newRequest(a chain.Activation, target int32, due int64, stage int16) book.ID {
	id := s.requests.Add(a, target, due, s.now, stage)
	s.slots.Count(stage, 1)
	s.flow.BeginStep(a)
	return id
}

// admit gives a request the token of the request limit. It is due now if requests have waited for tokens.
func (s *sender) admit(id book.ID) {
	admitted, waited := s.limit.Admit(s.now)
	r := s.requests.At(id)
	r.Admit(admitted)
	if waited {
		r.DueNow(s.now)
	}
}

// admitUnpaced makes requests of the ready steps that need no slot.
func (s *sender) admitUnpaced() {
	for s.flow.HasUnpaced(s.slots.Paused()) && s.limit.Ready(s.now) {
		step := s.flow.Unpaced()
		in := s.flow.At(step.Instance)
		stage := in.Stage
		if in.Late {
			stage = book.StageGraceful
		}
		id := s.newRequest(step.Activation, step.Target, step.Since, stage)
		s.admit(id)
		s.wait(id)
	}
}

// sendWaiting sends waiting requests, oldest first, as long as a stream is free, and opens connections for the others.
func (s *sender) sendWaiting() {
	s.sendReserved()
	for i := range s.targets.Len() {
		s.sendWaitingTo(int32(i))
		s.conns.ConnectFor(int32(i)) // a closed loop needs all connections
	}
	s.sendReserved()
	s.dropWaiting(s.now)
}

func (s *sender) sendWaitingTo(target int32) {
	for s.requests.Waiting(target) > 0 {
		if s.conns.To(target).OwnedBy(s.requests.Oldest(target).Instance) != nil { // it is sent again
			s.requests.Reserve(s.requests.Pop(target))
			continue
		}
		c := s.conns.To(target).Take()
		if c == nil {
			s.conns.ConnectFor(target)
			if c = s.conns.To(target).Take(); c == nil { // one that the loop connects takes requests at once
				return
			}
		}
		s.send(s.requests.Pop(target), c)
	}
}

// send renders a request on a connection that has a free stream. It returns false if there is none: the script of the
// request failed, or the request limit is reached.
func (s *sender) send(id book.ID, c *conns.Conn) bool {
	r := s.requests.At(id)
	step := &s.program.Steps[r.Step]
	if !s.limit.Allows(r.Admitted, r.Retried, s.now) {
		s.conns.To(c.Target()).Offer(c)
		s.dropRequest(id, rv.AbortDropped, failure.Cause{Kind: rv.CauseRequestLimit})
		return false
	}
	stream, ok := s.open(c, id)
	if !ok {
		s.conns.To(c.Target()).Offer(c)
		if s.sources.Unfit() {
			s.dropRequest(id, rv.AbortDropped, failure.Cause{Kind: rv.CauseMessage, Detail: step.Name})
		} else {
			s.dropRequest(id, rv.AbortScript, s.scripts.cause(step))
		}
		return false
	}
	s.requests.Sent(id, stream, c.Index(), s.now)
	in := s.flow.At(r.Instance)
	in.Sent(s.now)
	if !r.Retried {
		if s.flow.FollowsAbort(r.Activation) { // counted here, because a request that waits may be dropped
			s.countAlways(in, r.Stage == book.StageGraceful, true)
		}
		over := r.Stage >= 0 && s.slots.OfStage(int(r.Stage)).Over()
		s.rec.Sent(r, over, over && s.slots.Over(), c.Down(r.Picked, s.now))
		if len(step.Credentials) > 0 && !s.targets.At(c.Target()).Uncredentialed && s.authorizations.lack(step) {
			s.rec.SentWithout(step.Target)
		}
	}
	s.own(c, r)
	s.conns.Carried(c)
	return true
}

// own gives a connection to the chain instance of a request, with those of its requests that wait.
func (s *sender) own(c *conns.Conn, r *book.Request) {
	if s.conns.To(c.Target()).Own(c, r.Instance) && s.flow.At(r.Instance).Outstanding() > 1 {
		s.requests.ReserveAll(r.Instance, c.Target())
	}
}

// wait lets a request wait for a stream: of the connection of its chain instance, or of any.
func (s *sender) wait(id book.ID) {
	if r := s.requests.At(id); s.conns.To(r.Target).OwnedBy(r.Instance) != nil {
		s.requests.Reserve(id)
		return
	}
	s.requests.Wait(id)
}

// sendReserved sends the requests that wait for the connections of their chain instances. If such a connection has
// ended, a request waits for any.
func (s *sender) sendReserved() {
	for range s.requests.Reserved() {
		id := s.requests.PopReserved()
		r := s.requests.At(id)
		switch p := s.conns.To(r.Target); {
		case p.OwnedBy(r.Instance) == nil:
			s.requests.WaitAgain(id)
		case p.TakeFor(r.Instance) == nil:
			s.requests.Reserve(id)
		default:
			s.send(id, p.TakeFor(r.Instance))
		}
	}
}
