package loadtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// memory has what the operator wrote and its cache does not show yet, and decoded objects. A new process starts
// without it.
type memory struct {
	mu   sync.Mutex
	runs map[types.NamespacedName]*memoryEntry // guarded by mu
}

// memoryEntry is what the memory has of one LoadTest.
type memoryEntry struct {
	uid types.UID
	// written is the LoadTest after our last status write; superseded are the versions before
	// it that the cache may still show.
	written    *v1alpha1.LoadTest
	superseded []string
	// capacity is that of the last pass, capacityRevision the number of its last change.
	capacity         int
	capacityRevision int64
	// plan is the plan with planDigest that runs, warnings those of its compilation.
	planDigest, warnings string
	plan                 *runnerv1alpha1.Plan
	// storedPlan is the ConfigMap that has the plan of a test that has not started.
	storedPlan run.Child
	// addresses is the policy of the plan, before the test starts.
	addresses *runnerv1alpha1.AddressPolicy
	// present is what the spec of a generation says of rates and shards.
	present *run.Present
	// edited: the spec of a generation describes another test than the one that ended.
	edited           bool
	editedGeneration int64
	// counts are the stored snapshots of runners that ended.
	counts map[checkpoint.Key]*runnerv1alpha1.Snapshot
	// runners are those of all shards at the last status write.
	runners []v1alpha1.RunnerStatus
	// once has the last operation of each that this process does not repeat.
	once map[string]string
	// quoted are the last events of the Job and of a pod that cannot start.
	quoted map[types.UID]quotedEvent
	waits  run.Waits
	// refused are the writes that the API server refuses, by object.
	refused map[string]run.Refusal
	// failures is the number of passes in a row that ended with an error.
	failures int
	// statusRefused: an event has reported that the API server refuses the status.
	statusRefused bool
	// terminating: the namespace is being deleted.
	terminating bool
}

// of returns the entry of a run. Only one pass at a time works on a LoadTest, so the entry needs no lock.
func (m *memory) of(lt *v1alpha1.LoadTest) *memoryEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := types.NamespacedName{Namespace: lt.Namespace, Name: lt.Name}
	c := m.runs[key]
	if c == nil || c.uid != lt.UID {
		c = &memoryEntry{uid: lt.UID, once: map[string]string{}}
		m.runs[key] = c
	}
	return c
}

// forget returns the UID of the LoadTest that is forgotten.
func (m *memory) forget(key types.NamespacedName) (uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.runs[key]; c != nil {
		uid = c.uid
	}
	delete(m.runs, key)
	return uid
}

// newest returns lt as the cache has it, or as this process wrote it if the cache is behind.
func (m *memory) newest(lt *v1alpha1.LoadTest) *v1alpha1.LoadTest {
	c := m.of(lt)
	if slices.Contains(c.superseded, lt.ResourceVersion) {
		return c.written.DeepCopy()
	}
	c.written, c.superseded = nil, nil
	return lt
}

// keepCounts keeps the stored snapshot of a runner that ended.
func (c *memoryEntry) keepCounts(key checkpoint.Key, snapshot *runnerv1alpha1.Snapshot) {
	if c.counts == nil {
		c.counts = map[checkpoint.Key]*runnerv1alpha1.Snapshot{}
	}
	c.counts[key] = snapshot
}

// wrote keeps the LoadTest that a status write returned.
func (m *memory) wrote(lt, written *v1alpha1.LoadTest) {
	c := m.of(lt)
	c.written, c.superseded = written, append(c.superseded, lt.ResourceVersion)
}

// vanish forgets a LoadTest that was deleted, and ends its load.
func (r *reconciler) vanish(req ctrl.Request) {
	r.registry.Abort(req.NamespacedName, "")
	r.perform.records.Forget(r.memory.forget(req.NamespacedName))
	r.report.pace.forget(req.NamespacedName)
	r.report.metrics.Forget(req.NamespacedName)
}

// running makes the collector the source of checkpoints.
type running struct{ registry *collect.Registry }

// Live implements checkpoint.Source.
func (r running) Live() []checkpoint.Key {
	var out []checkpoint.Key
	for _, of := range r.registry.Running() {
		out = append(out, checkpoint.Key{LoadTest: of.Name, Run: of.UID, Shard: of.Shard, Pod: of.Pod})
	}
	return out
}

// Latest implements checkpoint.Source.
func (r running) Latest(_ context.Context, key checkpoint.Key) (*runnerv1alpha1.Snapshot, time.Time) {
	return r.registry.Latest(collect.Running{Name: key.LoadTest, UID: key.Run, Shard: key.Shard, Pod: key.Pod})
}
