package loadtest

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// memory has all that this process remembers of LoadTests, but for their metrics, which stay for a time. A new process
// starts without it.
type memory struct {
	reader client.Reader
	client client.Client
	// statusInterval is the least time between two writes of a status that differ in figures only.
	statusInterval time.Duration

	mu   sync.Mutex
	runs map[types.NamespacedName]*entry // guarded by mu
}

func newMemory(reader client.Reader, c client.Client, statusInterval time.Duration) *memory {
	return &memory{reader: reader, client: c, statusInterval: statusInterval, runs: map[types.NamespacedName]*entry{}}
}

// entry is what the memory has of one LoadTest: what the operator wrote and its cache does not show yet, and decoded
// objects.
type entry struct {
	uid types.UID
	// record is the run record, checkpoints are the stored counts of runners.
	record      *record.Store
	checkpoints *checkpoint.Store
	// statusAt is when the status of a running test was written last; guarded by the mu of the memory.
	statusAt time.Time
	// status is what this process wants to be stored; guarded by the mu of the memory.
	status *v1alpha1.LoadTestStatus
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
	// counts are those of runners that ended.
	counts map[checkpoint.Key]counts
	// runners are those of all shards at the last status write.
	runners []v1alpha1.RunnerStatus
	// once has the last operation of each that this process does not repeat.
	once map[string]string
	// quoted are the last events of the Job and of a pod that cannot start.
	quoted map[types.UID]quotedEvent
	waits  run.Waits
	// refused are the writes that the API server refuses, by object.
	refused map[string]run.Refusal
	// heldSince is since when the test must not create runners; zero: it may.
	heldSince time.Time
	// failures is the number of passes in a row that ended with an error.
	failures int
	// statusUncertain: the last write of the status failed, so another status than that of the cache may be stored. The
	// next pass writes again, also without a difference: it is a conflict if another one is stored.
	statusUncertain bool
	// statusRefused: an event has reported that the API server refuses the status.
	statusRefused bool
	// terminating: the namespace is being deleted.
	terminating bool
}

// of returns the entry of a LoadTest. An earlier LoadTest of the same name is forgotten. Only one pass at a time works
// on a LoadTest, so the entry needs no lock.
func (m *memory) of(lt *v1alpha1.LoadTest) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(lt)
	e := m.runs[key]
	if e == nil || e.uid != lt.UID {
		e = &entry{
			uid: lt.UID, record: record.NewStore(m.reader, m.client), checkpoints: checkpoint.NewStore(m.reader, m.client),
			counts: map[checkpoint.Key]counts{}, once: map[string]string{},
			quoted:  map[types.UID]quotedEvent{},
			refused: map[string]run.Refusal{},
		}
		m.runs[key] = e
	}
	return e
}

// checkpoints returns the stored counts of a run; nil: its LoadTest was deleted.
func (m *memory) checkpoints(of checkpoint.Key) *checkpoint.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.runs[of.LoadTest]; e != nil && e.uid == of.Run {
		return e.checkpoints
	}
	return nil
}

// ofOthers selects a status that this process did not write. A former leader may have written it after this one looked,
// and no other event may come.
func (m *memory) ofOthers() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(u event.UpdateEvent) bool {
		was, is := u.ObjectOld.(*v1alpha1.LoadTest), u.ObjectNew.(*v1alpha1.LoadTest)
		m.mu.Lock()
		defer m.mu.Unlock()
		e := m.runs[client.ObjectKeyFromObject(is)]
		return e != nil && e.status != nil && !equality.Semantic.DeepEqual(*e.status, is.Status) &&
			!equality.Semantic.DeepEqual(was.Status, is.Status)
	}}
}

// wants notes the status that this process writes, or finds stored.
func (m *memory) wants(lt *v1alpha1.LoadTest, status *v1alpha1.LoadTestStatus) {
	e := m.of(lt)
	m.mu.Lock()
	defer m.mu.Unlock()
	e.status = status
}

func (m *memory) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, name)
}

// newest returns lt as the cache has it, or as this process wrote it if the cache is behind.
func (e *entry) newest(lt *v1alpha1.LoadTest) *v1alpha1.LoadTest {
	if slices.Contains(e.superseded, lt.ResourceVersion) {
		return e.written.DeepCopy()
	}
	e.written, e.superseded = nil, nil
	return lt
}

// wrote keeps the LoadTest that a status write returned.
func (e *entry) wrote(lt, written *v1alpha1.LoadTest) {
	e.written, e.superseded = written, append(e.superseded, lt.ResourceVersion)
}

// unhold ends a time in which the test must not create runners. It does not count as one of refusals, because the
// operator tried nothing.
func (e *entry) unhold(now time.Time) {
	if e.heldSince.IsZero() {
		return
	}
	for what, w := range e.refused {
		w.Since = w.Since.Add(now.Sub(e.heldSince))
		e.refused[what] = w
	}
	e.heldSince = time.Time{}
}

// vanish forgets a LoadTest that was deleted, and ends its load.
func (r *reconciler) vanish(req ctrl.Request) {
	r.registry.Abort(req.NamespacedName, "")
	r.memory.forget(req.NamespacedName)
	r.report.metrics.Forget(req.NamespacedName)
}
