package shards

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/verdict"
)

// Desired is what the reconciler wants of a run, and what it sees of its pods.
type Desired struct {
	Name types.NamespacedName
	UID  types.UID
	// Attempt numbers the Jobs of the run, Job is the UID; another one begins from nothing.
	Attempt int
	Job     types.UID
	// Plan has been checked; it is shared and must not be changed.
	Plan *runnerv1alpha1.Plan
	// Shards is how many there should be now: those of the plan before the start, what spec asks for
	// after it. Those from there on are to leave.
	Shards int
	// ShardsRevision numbers the changes of Shards. A view with this number gives no share to a shard from there on.
	ShardsRevision int64
	// Changes are those of the run record, oldest first, without shares; never empty. Runners get only these.
	Changes []runnerv1alpha1.Update
	// Rebalance gives the share of a lost shard to the others.
	Rebalance bool
	// LossTolerated: the loss of a shard does not end the test.
	LossTolerated bool
	// Pods by shard: of those whose runner is not recorded, the oldest. A shard without an entry has no
	// pod.
	Pods map[int]Pod
	// Owners are the UIDs of the pods that got the share of a shard last. Another pod of the shard has to join.
	Owners map[int]types.UID
	// Recorded are the runners that are over, of which has been stored what they have counted.
	Recorded []Recorded
	// MayStart: the decision to start has been stored. From then on a shard without a pod is
	// lost.
	MayStart bool
	// Live is what the spec says of the values that can change while the test runs.
	Live Live
	// Probes are those of a search.
	Probes Probes
	// Stop is the reason to end the run early; empty: none.
	Stop string
	// LoadEnd is when the runners have had their last response if they get no more orders; zero: that is not known. Retention is how long they
	// keep their counts then.
	LoadEnd   time.Time
	Retention time.Duration
	// Failed are the thresholds that failed while the test ran, as stored.
	Failed map[string]verdict.Observation
	// Stored: the results are safe, runners may go.
	Stored bool
}

// Pod is a runner pod as the API server tells it.
type Pod struct {
	Name string
	Node string
	UID  types.UID
	// Address of the control endpoint, host:port; empty while the runner's container does not
	// run.
	Address string
	// Ended: no container runs any more. Why says how it ended.
	Ended bool
	Why   string
	// Terminating: the pod was deleted, and still exists.
	Terminating bool
	// Gone: the pod object does not exist any more. Its processes may.
	Gone bool
}

// Recorded is a runner that is over: it was lost, or it has left before the end because the test was
// scaled down. Its pod is no longer looked at; another pod of the same shard is another runner.
type Recorded struct {
	Shard int
	// Pod is that of the runner; a runner that was lost before it had one has none.
	Pod types.UID
	// Member: it had a share of the load.
	Member bool
	// Loss is nil when it has left. Final: its counts are final; if it was lost, it was reached again.
	Loss  *Loss
	Final bool
	// Snapshot is the last one, if there was one.
	Snapshot *runnerv1alpha1.Snapshot
	// Address is that of a lost runner whose pod exists and which was not reported to have ended; empty: it is not polled.
	Address string
}

// Loss says that a runner ended before its time.
type Loss struct {
	Pod     string    `json:"pod,omitempty"`
	Node    string    `json:"node,omitempty"`
	Message string    `json:"message"`
	Time    time.Time `json:"time"`
}
