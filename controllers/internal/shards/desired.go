package shards

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// Desired is what the reconciler wants of a run, and what it sees of its pods.
type Desired struct {
	Name types.NamespacedName
	UID  types.UID
	// Record is the run record as it is stored. Plan is what runs, and has been checked. Both are shared and must not be
	// changed.
	Record *record.Record
	Plan   *runnerv1alpha1.Plan
	// Job is the UID of the Job of the attempt; another one begins from nothing.
	Job types.UID
	// Shards is how many there should be now: those of the plan before the start, what spec asks for
	// after it. Those from there on are to leave.
	Shards int
	// ShardsRevision numbers the changes of Shards. A view with this number gives no share to a shard from there on.
	ShardsRevision int64
	// Policy is spec.runner.onShardLost.
	Policy v1alpha1.ShardLostAction
	// Pods by shard: of those whose runner is not recorded, the oldest. A shard without an entry has no
	// pod. From the start on, such a shard is lost.
	Pods map[int]Pod
	// Ended are the runners of the record that ended before the test.
	Ended []Recorded
	// Retention is how long the runners keep their counts after their last response.
	Retention time.Duration
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

// Recorded is a runner of the record that was lost or left, with what its entry refers to. Its pod is no longer looked
// at; another pod of the same shard is another runner.
type Recorded struct {
	*record.Shard
	Snapshot *runnerv1alpha1.Snapshot // its stored counts; nil: there are none
	Address  string                   // of a lost runner that can still be reached; empty: it cannot
}
