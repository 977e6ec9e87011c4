package listen

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/caller"
)

const (
	// MaxIncoming bounds the memory for notifications that have not all come. A peer need not send the rest.
	MaxIncoming = 64 << 20
	// largestFree is the most that an exchange takes that is used for the next notification.
	largestFree = 64 << 10
)

// notice is a notification in an exchange.
type notice struct {
	x    *book.Exchange
	head book.Head
}

// OnRequest implements h2.ServerHandler.
func (c *served) OnRequest(id uint32, method, path []byte) (tok uint32) {
	ls := c.ls
	if ls.exchanges.Full() || ls.answers.full() {
		c.refuseNotification(id, http2.ErrCodeRefusedStream)
		return 0
	}
	n := notice{x: ls.exchanges.Alloc(ls.all[c.listener].plan.MaxBody)}
	n.head.Method, n.head.Path = ls.exchanges.HeadPart(n.x, method), ls.exchanges.HeadPart(n.x, path)
	return uint32(ls.open.put(n))
}

// OnHeader implements h2.ServerHandler.
func (c *served) OnHeader(_, tok uint32, name, value []byte) {
	n := &c.ls.open.all[tok]
	switch {
	case string(name) == ":scheme":
		n.head.Scheme = c.ls.exchanges.HeadPart(n.x, value)
	case string(name) == ":authority":
		n.head.Authority = c.ls.exchanges.HeadPart(n.x, value)
	case name[0] != ':':
		c.ls.exchanges.Field(n.x, name, value)
	}
}

// OnData implements h2.ServerHandler.
func (c *served) OnData(id, tok uint32, p []byte) {
	ls := c.ls
	if !ls.exchanges.Data(ls.open.all[tok].x, p) {
		c.OnReset(id, tok)
		c.refuseNotification(id, http2.ErrCodeEnhanceYourCalm)
	}
}

// refuseNotification resets a stream because notifications that are not complete, or answers that are delayed, take too
// much memory.
func (c *served) refuseNotification(id uint32, code http2.ErrCode) {
	c.h2.ResetStream(id, code)
	if ls := c.ls; !ls.overloaded {
		ls.overloaded = true
		ls.log.Warn("the notifications of listeners that are not complete, or their delayed answers, take too much memory; further ones are reset, but not logged",
			"listener", ls.all[c.listener].plan.Name, "limitBytes", MaxIncoming)
	}
}

// OnEnd implements h2.ServerHandler. The notification is answered whether a step awaits it or not.
func (c *served) OnEnd(id, tok uint32) {
	ls := c.ls
	n := ls.open.all[tok]
	ls.open.all[tok] = notice{} // the stream may be reset before it is answered
	x := ls.whole(n)
	l := &ls.all[c.listener]
	if v := l.callers.Check(c.isNamed, x.Request, ls.wall()); v != caller.Accepted {
		ls.open.take(int32(tok))
		l.received++
		l.refuse(v)
		c.respond(id, x, refusals[v].block, refusals[v].body)
		ls.exchanges.Release(x)
		return
	}
	answered := c.answer(id, tok, &x.Exchange)
	if !answered {
		ls.open.take(int32(tok))
		c.respond(id, x, l.plan.Response, l.plan.Body)
	}
	ls.notified(l, n, answered)
}

// respond sends a response. That to HEAD has no content (RFC 9110 9.3.2).
func (c *served) respond(id uint32, x *book.Exchange, block, body []byte) {
	if string(x.Request.Method) == "HEAD" { //nolint:usestdlibvars // net/http is not worth linking for a word
		body = nil
	}
	c.h2.Respond(id, append(c.h2.Begin(), block...), body)
}

// OnReset implements h2.ServerHandler.
func (c *served) OnReset(_, tok uint32) {
	c.ls.exchanges.Release(c.ls.open.take(int32(tok)).x)
}

// acceptedStatus is the status that a notification has for the checks of a step: that of a response that passes.
const acceptedStatus = 200

// whole returns the exchange with the notification as its request, and also as its response, so that checks and
// captures find it there.
func (ls *Listeners) whole(n notice) *book.Exchange {
	ls.exchanges.CompleteRequest(n.x, n.head, acceptedStatus)
	return n.x
}

// takeEarly returns a notification that has waited for a step. The caller calls whole if it reads it.
func (ls *Listeners) takeEarly(handle int32) notice {
	n := ls.kept.take(handle)
	ls.exchanges.TakeBack(n.x)
	return n
}

// notices are notifications with handles, which are used again.
type notices struct {
	all  []notice
	free []int32
}

// put adds a notification.
func (s *notices) put(n notice) (handle int32) {
	if k := len(s.free); k > 0 {
		handle = s.free[k-1]
		s.free = s.free[:k-1]
		s.all[handle] = n
		return handle
	}
	s.all = append(s.all, n)
	return int32(len(s.all) - 1)
}

// take removes a notification.
func (s *notices) take(handle int32) notice {
	n := s.all[handle]
	s.all[handle] = notice{}
	s.free = append(s.free, handle)
	return n
}

func (s *notices) len() int { return len(s.all) - len(s.free) }
