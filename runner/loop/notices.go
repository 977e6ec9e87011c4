package loop

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/caller"
)

const (
	// maxIncoming bounds the memory for notifications that have not all come. A peer need not send the rest.
	maxIncoming = 64 << 20
	// largestIdleNotification is the most that an exchange takes that is used for the next notification.
	largestIdleNotification = 64 << 10
)

// notice is a notification in an exchange.
type notice struct {
	x *book.Exchange
	// method, path and authority are the sizes of these parts of the request, which exchange.octets begins with in this order.
	method, path, authority int
}

// OnRequest implements h2.ServerHandler.
func (c *served) OnRequest(id uint32, method, path []byte) (tok uint32) {
	ls := c.ls
	if ls.exchanges.Full() {
		c.refuseNotification(id, http2.ErrCodeRefusedStream)
		return 0
	}
	n := notice{x: ls.exchanges.Alloc(ls.all[c.listener].plan.MaxBody), method: len(method), path: len(path)}
	ls.exchanges.Head(n.x, method, path)
	if k := len(ls.spare); k > 0 {
		tok = ls.spare[k-1]
		ls.spare = ls.spare[:k-1]
		ls.open[tok] = n
		return tok
	}
	ls.open = append(ls.open, n)
	return uint32(len(ls.open) - 1)
}

// OnHeader implements h2.ServerHandler.
func (c *served) OnHeader(_, tok uint32, name, value []byte) {
	n := &c.ls.open[tok]
	switch {
	case string(name) == ":authority":
		c.ls.exchanges.Head(n.x, value)
		n.authority = len(value)
	case name[0] != ':':
		c.ls.exchanges.Field(n.x, name, value)
	}
}

// OnData implements h2.ServerHandler.
func (c *served) OnData(id, tok uint32, p []byte) {
	ls := c.ls
	if !ls.exchanges.Data(ls.open[tok].x, p) {
		c.OnReset(id, tok)
		c.refuseNotification(id, http2.ErrCodeEnhanceYourCalm)
	}
}

// refuseNotification resets a stream because notifications that are not complete take too much memory.
func (c *served) refuseNotification(id uint32, code http2.ErrCode) {
	c.h2.ResetStream(id, code)
	if ls := c.ls; !ls.overloaded {
		ls.overloaded = true
		ls.log.Warn("the peers of listeners have begun too many notifications that are not complete; further ones are reset, but not logged",
			"listener", ls.all[c.listener].plan.Name, "limitBytes", maxIncoming)
	}
}

// OnEnd implements h2.ServerHandler. The notification is answered whether a step awaits it or not.
func (c *served) OnEnd(id, tok uint32) {
	ls := c.ls
	n := ls.open[tok]
	x := ls.whole(n)
	ls.release(tok)
	l := &ls.all[c.listener]
	if v := l.callers.Check(c.isNamed, x.Request, ls.wall()); v != caller.Accepted {
		l.received++
		l.refuse(v)
		c.respond(id, x, refusals[v].block, refusals[v].body)
		ls.exchanges.Release(x)
		return
	}
	c.respond(id, x, l.plan.Response, l.plan.Body)
	ls.notified(l, n)
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
	x := c.ls.open[tok].x
	c.ls.release(tok)
	c.ls.exchanges.Release(x)
}

// release frees the record of a notification, not its exchange.
func (ls *listeners) release(tok uint32) {
	ls.open[tok] = notice{}
	ls.spare = append(ls.spare, tok)
}

// acceptedStatus is the status that a notification has for the checks of a step: that of a response that passes.
const acceptedStatus = 200

// whole returns the exchange with the notification as its request, and also as its response, so that checks and captures find
// it there.
func (ls *listeners) whole(n notice) *book.Exchange {
	ls.exchanges.CompleteRequest(n.x, n.method, n.path, n.authority, acceptedStatus)
	return n.x
}

// keep keeps a notification until take.
func (ls *listeners) keep(n notice) (handle int32) {
	if k := len(ls.vacant); k > 0 {
		handle = ls.vacant[k-1]
		ls.vacant = ls.vacant[:k-1]
		ls.kept[handle] = n
		return handle
	}
	ls.kept = append(ls.kept, n)
	return int32(len(ls.kept) - 1)
}

// take returns a notification that was kept.
func (ls *listeners) take(handle int32) notice {
	n := ls.kept[handle]
	ls.kept[handle] = notice{}
	ls.vacant = append(ls.vacant, handle)
	return n
}

// keepEarly lets a notification wait for a step to come. The table counts its memory until takeEarly, so that early ones do not keep
// others out.
func (ls *listeners) keepEarly(handle int32) {
	ls.exchanges.Lend(ls.kept[handle].x)
}

// takeEarly returns a notification that has waited for a step. The caller calls whole if it reads it.
func (ls *listeners) takeEarly(handle int32) notice {
	n := ls.take(handle)
	ls.exchanges.TakeBack(n.x)
	return n
}
