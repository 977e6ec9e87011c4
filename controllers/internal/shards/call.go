package shards

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// ID identifies a runner of a run. A shard has several runners one after another if it has several pods.
type ID struct {
	Shard int
	Pod   types.UID
}

// Kind is the message of a call.
type Kind int

// Kinds of calls.
const (
	CallNone Kind = iota
	// CallSnapshot has no message. The answers to all messages but Ack have a snapshot, too.
	CallSnapshot
	CallUpdate
	CallStart
	CallStop
	CallTeardown
	CallAck
)

// Call is one exchange with a runner. Only the message of its kind is set. All times are those of the operator's clock.
type Call struct {
	ID      ID
	Address string
	Kind    Kind
	Update  runnerv1alpha1.Update
	Start   runnerv1alpha1.Start
	Stop    runnerv1alpha1.Stop
	Ack     runnerv1alpha1.Ack
	// Totals leaves the response times of steps out of the snapshot.
	Totals bool
	// Lease renews the lease of the runner; zero: it does not.
	Lease runnerv1alpha1.Lease
	// Observe is the value of runnerv1alpha1.QueryObserve; empty: the plan has no observations.
	Observe string
}

// Answer is what came of a call.
type Answer struct {
	// Snapshot is nil if the runner did not answer, or acknowledged the end.
	Snapshot *runnerv1alpha1.Snapshot
	// Clock is the best measurement of the runner's clock so far.
	Clock Sample
	// Err is why there is no answer. Refused is what the runner had against an update, although it answers.
	Err, Refused error
}

// Sample is one measurement of a runner's clock.
type Sample struct {
	// Offset is added to the runner's clock to get that of the operator.
	Offset int64
	// RTT is the round trip in which it was measured; zero: not measured. Half of it bounds the error.
	RTT time.Duration
}

// Better returns whether a sample is more exact than another one.
func (s Sample) Better(than Sample) bool {
	return s.RTT > 0 && (than.RTT == 0 || s.RTT < than.RTT)
}

// Pace has the times between two polls of a runner.
type Pace struct {
	// Least is between the polls of a runner that is over, Regular between those of one that works, and Hurried between
	// those of one that will soon report something else. Regular depends on the number of runners, and is at least Least.
	// Hurried is at most Least.
	Least, Regular, Hurried time.Duration
}
