package shards

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Order is a message for a runner, and when it is due. That depends on what the runner reported last, and not on what
// was sent: messages are idempotent, answers can be lost, and a process that takes over has sent nothing.
type Order struct {
	// Text names it in the docs.
	Text string
	kind Kind
	due  func(s *runner, m *round) bool
}

// round is what the loss of a runner, its poll and an order for it depend on beside the runner.
type round struct {
	Moment
	d *Desired
	// clock is the time by the operator's clock, unreachable that of the Options.
	clock       int64
	unreachable time.Duration
	// runners is the number of runners. members are the shards with a share of the load.
	runners int
	members []int
	// start: a runner that is ready may start. change: there is a change to send. drained: no request of the load is in
	// flight any more. watch: a runner is silent, so that also runners that are done show whether the operator reaches
	// any.
	start, change, drained, watch bool
	// probeOver: the current probe should be over, except for its last responses.
	probeOver bool
	// observer reads the observations of the plan.
	observer *runner
}

var (
	// sendTooLate is for a runner that joins after the end, or that this process reached for the first time after the
	// results were stored.
	sendTooLate = Order{"`Stop`, if the results are stored", CallStop,
		func(s *runner, m *round) bool { return m.d.Record.End != nil && s.snapshot.Stopped == "" }}
	sendShare = Order{"`Update` with its share", CallUpdate,
		func(s *runner, _ *round) bool { return s.snapshot.Revision == 0 }}
	sendStart = Order{"`Start`, once the start is stored", CallStart, func(s *runner, m *round) bool {
		return m.start && (!m.change || s.knowsStart()) && m.d.Record.Stop == nil
	}}
	sendStop = Order{"`Stop`, once the stop is stored", CallStop, func(s *runner, m *round) bool {
		return m.d.Record.Stop != nil && m.d.Record.Start != nil && s.snapshot.Stopped == ""
	}}
	sendChange   = Order{"each change of the record", CallUpdate, func(_ *runner, m *round) bool { return m.change }}
	sendTeardown = Order{"`Teardown`, when all are drained", CallTeardown, func(s *runner, m *round) bool {
		return m.drained && s.snapshot.State == runnerv1alpha1.StateDrained
	}}

	sendAck = Order{"`Ack`, once the results are stored", CallAck,
		func(s *runner, m *round) bool { return m.d.Record.End != nil && !s.acked }}
	sendAckLeft = Order{"`Ack`, once its counts are stored", CallAck,
		func(s *runner, _ *round) bool { return s.stored && !s.acked }}
	// sendAckLost is for a runner that ended early. What was stored of it may be less than its final counts.
	sendAckLost = Order{sendAck.Text, CallAck, func(s *runner, m *round) bool { return s.final() && sendAck.due(s, m) }}

	// A lost runner that answers again must send nothing that another runner sends, and its counts are of use. Without
	// teardown it never ends, and neither does the test.
	sendTeardownBack = ifBack(sendTeardown.Text, CallTeardown, sendTeardown.due)
	sendStopBack     = ifBack("`Stop`, if the test ends or it does not know the start", CallStop,
		func(s *runner, m *round) bool {
			return s.snapshot.Stopped == "" && (m.d.Record.Stop != nil || m.d.Record.End != nil || !s.knowsStart())
		})
	sendChangeBack = ifBack("the change that takes its share", CallUpdate,
		func(s *runner, m *round) bool { return s.snapshot.Stopped == "" && m.change })
)

// ifBack is an order for a lost runner, which is due only if the runner answers again.
func ifBack(text string, kind Kind, due func(*runner, *round) bool) Order {
	return Order{"if it answers: " + text, kind,
		func(s *runner, m *round) bool { return s.back() && !s.final() && due(s, m) }}
}

// next is what to ask of a runner now.
func (s *runner) next(m *round) Kind {
	switch {
	case s.calling != CallNone || s.pod.Address == "" || s.pod.Ended:
		return CallNone
	case s.snapshot == nil:
		return CallSnapshot
	}
	for _, o := range s.behaviour().Orders {
		if o.due(s, m) {
			return o.kind
		}
	}
	if s.final() && (s.acked || !m.watch) {
		return CallNone
	}
	return CallSnapshot
}
