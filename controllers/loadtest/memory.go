package loadtest

import (
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// memory bridges the moment between our own writes and their arrival in the cache, and keeps
// decoded plans. All of it can be lost: it is made anew from what is stored.
type memory struct {
	mu   sync.Mutex
	runs map[types.NamespacedName]*recollection // guarded by mu
}

type recollection struct {
	uid types.UID
	// written is the LoadTest after our last status write; superseded are the versions before
	// it that the cache may still show.
	written    *v1alpha1.LoadTest
	superseded []string
	// start and startWith are the annotations that were put on a Job.
	startJob         types.UID
	start, startWith string
	// with are the shards that a Job is to start with; nil: all.
	withJob types.UID
	with    []int
	// room is how many shards the collector may give a share, roomRevision numbers its changes.
	room         int
	roomRevision int64
	// plan as stored in planName.
	planName string
	plan     *runnerv1alpha1.Plan
	// present is what the spec of a generation says of rates and shards.
	present *present
	// doomed: the namespace is being deleted.
	doomed bool
}

// of returns what is remembered of a run. A pass is the only one at work on its LoadTest, so
// what is returned needs no lock.
func (m *memory) of(lt *v1alpha1.LoadTest) *recollection {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := types.NamespacedName{Namespace: lt.Namespace, Name: lt.Name}
	c := m.runs[key]
	if c == nil || c.uid != lt.UID {
		c = &recollection{uid: lt.UID}
		m.runs[key] = c
	}
	return c
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, key)
}

// newest is lt as the cache has it, or as we have written it when the cache is behind.
func (m *memory) newest(lt *v1alpha1.LoadTest) *v1alpha1.LoadTest {
	c := m.of(lt)
	if slices.Contains(c.superseded, lt.ResourceVersion) {
		return c.written.DeepCopy()
	}
	c.written, c.superseded = nil, nil
	return lt
}

// remembered adds the start instant to a Job that the cache has from before it was written.
func (r *reconciler) remembered(job *batchv1.Job) *batchv1.Job {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	for _, c := range r.memory.runs {
		if c.startJob == job.UID && job.Annotations[desired.AnnotationStart] == "" {
			job = job.DeepCopy()
			job.Annotations[desired.AnnotationStart] = c.start
			if c.startWith != "" {
				job.Annotations[desired.AnnotationStartWith] = c.startWith
			}
		}
	}
	return job
}

// wrote remembers what a status write made of lt.
func (m *memory) wrote(lt, written *v1alpha1.LoadTest) {
	c := m.of(lt)
	c.written, c.superseded = written, append(c.superseded, lt.ResourceVersion)
}
