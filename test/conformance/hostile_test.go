package conformance

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// requestsPerRow is what a row sends in all; the violation meets the first of them.
const requestsPerRow = 8

// h2row is one thing that a server does. Exactly one of commit and preface is set.
type h2row struct {
	// name begins with the section of RFC 9113 (or 7541) that says what is wanted.
	name string
	// commit runs when the first request, of stream id, is in flight.
	commit func(c *h2conn, id uint32)
	// preface runs instead of the greeting, on a connection of which nothing was read.
	preface func(c *h2conn)
	// settings of the greeting before commit.
	settings []http2.Setting
	plan     func(*rv.Plan)
	want     outcome
}

// place is what the client ends because of a violation.
type place int

const (
	nothing place = iota
	theStream
	theConnection
)

// outcome is what a row must lead to: where the client's error was said, with one of the codes, and
// what was counted. All other requests succeed.
type outcome struct {
	place place
	codes []http2.ErrCode

	lost, reset, timedOut, failedChecks, retried int64
	// abandoned: the first connection is replaced though the client said no error on it.
	abandoned bool
}

// goAway is a connection error (RFC 9113 5.4.1): the request in flight is lost with it.
func goAway(codes ...http2.ErrCode) outcome {
	return outcome{place: theConnection, codes: codes, lost: 1}
}

// refused is a connection error before any request was sent.
func refused(codes ...http2.ErrCode) outcome {
	return outcome{place: theConnection, codes: codes}
}

// reset is a stream error (RFC 9113 5.4.2): the connection goes on.
func reset(codes ...http2.ErrCode) outcome {
	return outcome{place: theStream, codes: codes, reset: 1}
}

// tolerated is no error to the client.
var tolerated = outcome{}

func runH2Rows(t *testing.T, rows []h2row) {
	t.Helper()
	for _, row := range rows {
		list(t, h2Rows, row.name, row.want.String())
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.run(t)
		})
	}
}

func (row *h2row) run(t *testing.T) {
	p := newH2Peer(t, row.script)
	p.start()
	plan := newPlan(p.address, rv.ProtocolH2C, requestsPerRow)
	if row.plan != nil {
		row.plan(plan)
	}
	s := mustExecute(t, plan)
	p.await()
	row.want.check(t, &s.Counters)
	row.want.checkPeer(t, p)
}

func (row *h2row) script(c *h2conn) {
	if row.preface != nil {
		row.preface(c)
		return
	}
	c.greet(row.settings...)
	if id := c.next(); id != 0 {
		row.commit(c, id)
	}
}

func (o *outcome) check(t *testing.T, c *rv.Counters) {
	t.Helper()
	good := c.Sent - o.lost - o.reset - o.timedOut - o.failedChecks
	got := outcome{lost: c.ConnectionLost, reset: c.Reset, timedOut: c.TimedOut, failedChecks: c.FailedChecks, retried: c.Retried}
	if got.lost != o.lost || got.reset != o.reset || got.timedOut != o.timedOut || got.failedChecks != o.failedChecks ||
		got.retried != o.retried || c.Succeeded != good || c.Dropped != 0 || c.InFlightAtEnd != 0 || good == 0 {
		t.Errorf("counted %+v, want lost %d, reset %d, timed out %d, failed checks %d, retried %d, all others succeeded",
			*c, o.lost, o.reset, o.timedOut, o.failedChecks, o.retried)
	}
	connects := int64(1)
	if o.place == theConnection || o.abandoned {
		connects = 2
	}
	if c.Connects != connects {
		t.Errorf("%d connections, want %d", c.Connects, connects)
	}
}

// checkPeer looks at what the peer has seen: no fault of the client's on any connection, and on the
// first the error that was wanted.
func (o *outcome) checkPeer(t *testing.T, p *h2peer) {
	t.Helper()
	for _, c := range p.conns {
		for _, f := range c.faults {
			t.Errorf("connection %d: the client is at fault: %s", c.number, f)
		}
	}
	if len(p.conns) == 0 {
		t.Fatal("the peer saw no connection")
	}
	stops := p.conns[0].stopsBut(http2.ErrCodeNo)
	if o.place == nothing {
		if len(stops) > 0 {
			t.Errorf("the client stopped %v, want nothing", stops)
		}
		return
	}
	if len(stops) != 1 || (stops[0].id == 0) != (o.place == theConnection) || !slices.Contains(o.codes, stops[0].code) {
		t.Errorf("the client stopped %v, want one of %v on %s", stops, o.codes, o.place)
	}
}

func (p place) String() string {
	return [...]string{"nothing", "the stream", "the connection"}[p]
}

func u16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// setting is one of a SETTINGS frame.
func setting(id http2.SettingID, v uint32) []byte { return append(u16(uint16(id)), u32(v)...) }

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// status200 is an indexed :status 200 (RFC 7541 A).
var status200 = []byte{0x88}
