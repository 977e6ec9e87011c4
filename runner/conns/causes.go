package conns

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
)

// This file gives each failure its cause and counts it.

// brokenBy returns a cause of the given kind with the address of a connection.
func (*Connections) brokenBy(c *Conn, kind rv.Cause, detail string) failure.Cause {
	return failure.Cause{Kind: kind, Detail: detail, Address: c.address}
}

// violation returns the cause of a session's error, with the rule of the RFC that the peer broke.
func (cs *Connections) violation(c *Conn, err error) failure.Cause {
	why := cs.brokenBy(c, rv.CauseProtocol, err.Error())
	if e := (*h2.ConnError)(nil); errors.As(err, &e) {
		why.Detail = e.Rule()
		if e.Reason == h2.AnsweredHTTP1 {
			why.Kind, why.Detail = rv.CauseHTTP1, ""
		}
	}
	if c.h2 != nil && !c.h2.Ready() {
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

// orGoAway returns the GOAWAY of an HTTP/2 peer in place of a cause, if the peer has sent one.
func (c *Conn) orGoAway(why failure.Cause) failure.Cause {
	if _, seen := c.h2.GoAway(); seen {
		why.Kind, why.Detail = rv.CauseGoAway, c.h2.GoAwayWords()
	}
	return why
}

// connectFailed counts a connection that could not be opened.
func (cs *Connections) connectFailed(c *Conn, why failure.Cause) {
	cs.rec.CountFailure(rv.FailureConnect, why)
	cs.problem = cs.describe(c) + ": " + why.Advised()
	cs.pools[c.target].failures++
	cs.disconnected(c, why)
}

// describe returns the name of a connection's target and the URL of its endpoint, for messages.
func (cs *Connections) describe(c *Conn) string {
	t := cs.pools[c.target].Plan
	return fmt.Sprintf("target %s (%s)", t.Name, t.Endpoints[c.endpoint].Base())
}

// awaitedOf is what a connection waits for in each state in which it is not open yet.
var awaitedOf = [connStates]string{
	resolving: "name resolution has not ended", dialing: "TCP has not connected", handshaking: "the TLS handshake has not ended",
	opening: "connected, but the peer has sent no SETTINGS (RFC 9113 3.4)",
}

// Slow describes the first connection without which the worker is not ready, and that has waited in its state for half of
// connectTimeout; "": there is none. It says what hangs before the attempt has failed.
func (cs *Connections) Slow() string {
	if cs.awaited == 0 {
		return ""
	}
	for _, c := range cs.all {
		waited := time.Duration(cs.now - c.since)
		what := awaitedOf[c.state]
		if c.state == handshaking && cs.pools[c.target].Plan.TLS == nil {
			what = "the server has answered neither the preface of HTTP/2 nor OPTIONS * of HTTP/1.1"
		}
		if c.awaited && what != "" && waited >= cs.pools[c.target].Plan.ConnectTimeout/2 {
			return fmt.Sprintf("%s: %s for %v (%s)", cs.describe(c), what, waited.Round(100*time.Millisecond), c.address)
		}
	}
	return ""
}

// disconnected stores why a connection to a target was lost or could not be opened. It becomes the cause of
// requests that are dropped because no connection is open.
func (cs *Connections) disconnected(c *Conn, why failure.Cause) {
	detail := string(why.Kind)
	if why.Detail != "" {
		detail += ": " + why.Detail
	}
	cs.pools[c.target].unconnected = failure.Cause{Kind: rv.CauseNoConnection, Detail: detail, Address: why.Address, Advice: failure.AdviceFor(why)}
}

// Cause returns why no connection to a target took a request in time: all were busy, all were connecting, or the last
// failure.
func (cs *Connections) Cause(target int32) failure.Cause {
	p := &cs.pools[target]
	switch all, busy, connecting := cs.placesOf(target); {
	case busy > 0:
		return failure.Cause{Kind: rv.CauseNoStream, Detail: p.Plan.Name}
	case p.unconnected.Failed() && (p.failures > 0 || connecting < all):
		return p.unconnected
	default:
		return failure.Cause{
			Kind: rv.CauseNoConnection, Detail: fmt.Sprintf("%d of %d connections to %s were connecting", connecting, all, p.Plan.Name),
		}
	}
}

// countEnd counts a lost connection and returns the cause. If the peer has sent GOAWAY, the cause is the code
// of that frame. A connection that ends before its session has the peer's SETTINGS is counted as a failed
// connect. An idle connection that the peer closes is not counted.
func (cs *Connections) countEnd(c *Conn, why failure.Cause) failure.Cause {
	if c.h2 != nil && (why.Kind == rv.CauseClosed || why.Kind == rv.CauseConnectionReset) {
		why = c.orGoAway(why)
	}
	if connectingIn[c.state] != 0 {
		cs.connectFailed(c, why)
		return why
	}
	cs.disconnected(c, why)
	switch {
	case why.Kind == rv.CauseOtherTimedOut:
	case why.Kind == rv.CauseClosed && c.session.InFlight() == 0:
	case why.Kind == rv.CauseGoAway && c.state == draining: // countGoAway has counted it.
	default:
		cs.rec.CountFailure(rv.FailureConnection, why)
	}
	return why
}

// countGoAway stores why a connection takes no more requests after a GOAWAY, and counts a GOAWAY that announces an error.
func (cs *Connections) countGoAway(c *Conn) {
	if c.h2 == nil {
		return
	}
	code, seen := c.h2.GoAway()
	if !seen {
		return
	}
	why := cs.brokenBy(c, rv.CauseGoAway, c.h2.GoAwayWords())
	cs.disconnected(c, why)
	if code != http2.ErrCodeNo {
		cs.rec.CountFailure(rv.FailureConnection, why)
	}
}
