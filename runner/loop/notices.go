package loop

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/caller"
	"github.com/h2surge/h2surge/runner/message"
)

// maxIncoming bounds the octets of notifications that have not all come. A peer need not send the rest.
const maxIncoming = 64 << 20

// notice is a notification whose octets have not all come.
type notice struct {
	x *exchange
	// method, path and authority are the sizes of these parts of the request, which exchange.kept has in this order.
	method, path, authority int
}

// OnRequest implements h2.ServerHandler.
func (c *served) OnRequest(id uint32, method, path []byte) (tok uint32) {
	ls := c.ls
	if ls.incoming >= maxIncoming {
		c.refuseNotification(id, http2.ErrCodeRefusedStream)
		return 0
	}
	ls.incoming += len(method) + len(path)
	n := notice{x: ls.exchanges.alloc(ls.all[c.listener].plan.MaxBody), method: len(method), path: len(path)}
	n.x.kept = append(append(n.x.kept[:0], method...), path...)
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
	before := n.x.size()
	switch {
	case string(name) == ":authority":
		n.x.kept = append(n.x.kept, value...)
		n.authority = len(value)
	case name[0] != ':':
		n.x.field(name, value)
	}
	c.ls.incoming += n.x.size() - before
}

// OnData implements h2.ServerHandler.
func (c *served) OnData(id, tok uint32, p []byte) {
	ls := c.ls
	x := ls.open[tok].x
	before := x.size()
	x.data(p)
	if ls.incoming += x.size() - before; ls.incoming > maxIncoming {
		c.OnReset(id, tok)
		c.refuseNotification(id, http2.ErrCodeEnhanceYourCalm)
	}
}

// refuseNotification resets a stream because too many octets of notifications wait for the rest.
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
	x := ls.open[tok].whole()
	ls.release(tok)
	l := &ls.all[c.listener]
	if v := l.callers.Check(c.isNamed, x.Request, ls.wall()); v != caller.Accepted {
		l.received++
		l.refuse(v)
		c.respond(id, x, refusals[v].block, refusals[v].body)
		ls.exchanges.release(x)
		return
	}
	c.respond(id, x, l.plan.Response, l.plan.Body)
	ls.notified(c.listener, x)
}

// respond sends a response. That to HEAD has no content (RFC 9110 9.3.2).
func (c *served) respond(id uint32, x *exchange, block, body []byte) {
	if string(x.Request.Method) == "HEAD" { //nolint:usestdlibvars // net/http is not worth linking for a word
		body = nil
	}
	c.h2.Respond(id, append(c.h2.Begin(), block...), body)
}

// OnReset implements h2.ServerHandler.
func (c *served) OnReset(_, tok uint32) {
	x := c.ls.open[tok].x
	c.ls.release(tok)
	c.ls.exchanges.release(x)
}

// release frees the record of a notification. Its exchange must have all octets.
func (ls *listeners) release(tok uint32) {
	ls.incoming -= ls.open[tok].x.size()
	ls.open[tok] = notice{}
	ls.spare = append(ls.spare, tok)
}

// acceptedStatus is the status that a notification has for the checks of a step: that of a response that passes.
const acceptedStatus = 200

// whole returns the exchange with the notification as its request, and also as its response, so that checks and captures find
// it there.
func (n *notice) whole() *exchange {
	x := n.x
	method, rest := x.kept[:n.method], x.kept[n.method:]
	x.request = message.Message{Method: method, Scheme: schemeHTTP, Path: rest[:n.path], Authority: rest[n.path : n.path+n.authority]}
	x.Request = &x.request
	r := x.complete(acceptedStatus, 0).Response
	x.request.Fields, x.request.Body = r.Fields, r.Body
	return x
}

var schemeHTTP = []byte("http")

// keep keeps a notification for a step to come.
func (ls *listeners) keep(x *exchange) (handle int32) {
	if n := len(ls.vacant); n > 0 {
		handle = ls.vacant[n-1]
		ls.vacant = ls.vacant[:n-1]
		ls.kept[handle] = x
		return handle
	}
	ls.kept = append(ls.kept, x)
	return int32(len(ls.kept) - 1)
}

// take returns a notification that was kept.
func (ls *listeners) take(handle int32) *exchange {
	x := ls.kept[handle]
	ls.kept[handle] = nil
	ls.vacant = append(ls.vacant, handle)
	return x
}
