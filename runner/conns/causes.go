package conns

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/h3"
)

// This file says what is wrong with a connection.

// cause returns a cause of the given kind with the address of the connection.
func (c *Conn) cause(kind rv.Cause, detail string) failure.Cause {
	return failure.Cause{Kind: kind, Detail: detail, Address: c.address}
}

// brokenBy returns the cause of an error of the socket. TCP gives up an open connection if the peer acknowledges
// nothing, with the same error as a connect that times out.
func (c *Conn) brokenBy(err error) failure.Cause {
	if connectingIn[c.state] == 0 && errors.Is(err, syscall.ETIMEDOUT) {
		return c.cause(rv.CauseSilent, syscall.ETIMEDOUT.Error())
	}
	return failure.Of(err, c.address)
}

// violation returns the cause of a client's error, with the rule of the RFC that the peer broke.
func (c *Conn) violation(err error) failure.Cause {
	why := c.cause(rv.CauseProtocol, err.Error())
	if e := (*h2.ConnError)(nil); errors.As(err, &e) {
		why.Detail = e.Rule()
		if e.Reason == h2.AnsweredHTTP1 {
			why.Kind, why.Detail = rv.CauseHTTP1, ""
		}
	}
	if e := (*h3.ConnError)(nil); errors.As(err, &e) {
		why.Detail = e.Rule()
	}
	if !c.client.Ready() {
		why = c.orGoAway(why)
	}
	if e := (*h1.Error)(nil); errors.As(err, &e) {
		why.Detail = e.Rule()
		if e.Reason == h1.AnsweredHTTP2 {
			why.Kind, why.Detail = rv.CauseHTTP2, ""
		}
	}
	return why
}

// describe returns the name of the connection's target and the URL of its endpoint, for messages.
func (c *Conn) describe() string {
	return fmt.Sprintf("target %s (%s)", c.pool.Plan.Name, c.Endpoint().Base())
}

// awaitedOf is what a connection waits for in each state in which it is not open yet.
var awaitedOf = [connStates]string{
	resolving: "name resolution has not ended", dialing: "TCP has not connected",
	handshaking: "the TLS handshake has not ended",
	opening:     "connected, but the peer has sent no SETTINGS (RFC 9113 3.4, RFC 9114 3.2)",
}

// slow describes what the connection waits for if it has waited for half of connectTimeout, or else returns "".
func (c *Conn) slow(now int64) string {
	waited := time.Duration(now - c.since)
	what := awaitedOf[c.state]
	if what == "" || waited < c.pool.Plan.ConnectTimeout/2 {
		return ""
	}
	if c.state == handshaking && c.pool.Plan.TLS == nil {
		what = "the server has answered neither the preface of HTTP/2 nor OPTIONS * of HTTP/1.1"
	}
	return fmt.Sprintf("%s: %s for %v (%s)", c.describe(), what, waited.Round(100*time.Millisecond), c.address)
}
