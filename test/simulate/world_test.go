package simulate

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/test/builder"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
	"github.com/h2surge/h2surge/test/simulate/operator"
	"github.com/h2surge/h2surge/test/simulate/trial"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// world has the operators and the API server. Actions of other parts have no effect.
type world struct {
	*trial.Run
	api      *apiserver.Server
	cfg      *configv1alpha1.OperatorConfig
	replicas []*replica
	over     chan struct{} // closed at the end
	ended    sync.WaitGroup

	mu     sync.Mutex
	faults []apiserver.Fault    // of the next writes; guarded by mu
	slow   map[string]time.Time // until when events of watches come late, by client; guarded by mu
}

// replica is a replica of the operator. Its pod starts its process again.
type replica struct {
	name    string
	process atomic.Pointer[operator.Replica]
}

func newWorld(_ *testing.T, r *trial.Run) trial.World {
	w := &world{Run: r, api: apiserver.New(operator.Scheme()), cfg: operator.Config(), over: make(chan struct{}),
		slow: map[string]time.Time{}}
	w.cfg.Runner.PodTimeout.Duration = time.Minute
	w.api.Fault = w.fault
	return w
}

// Do implements trial.World.
func (w *world) Do(e trial.Event) {
	switch e.Do {
	case "operators":
		for i := range e.Int("replicas") {
			r := &replica{name: fmt.Sprint("operator-", i)}
			w.start(r)
			w.replicas = append(w.replicas, r)
			w.ended.Go(func() { w.supervise(r) })
		}
	case "test", "another":
		lt := builder.Minimal(fmt.Sprint("test-", len(apiserver.Objects[*v1alpha1.LoadTest](w.api)))).Namespace("default").
			Shards(int32(e.Int("shards"))).Build()
		if _, err := apiserver.Create(w.api, lt); err != nil {
			w.Broken("world", "creating a test: %v", err)
		}
	case "killOperator":
		go w.replica(e).Kill()
	case "stopOperator":
		go w.replica(e).Stop()
	case "cutOperator":
		w.link(e, apiserver.Silent, w.replica(e))
	case "away":
		for _, r := range w.replicas {
			w.link(e, apiserver.Down, r.process.Load())
		}
	case "refuse":
		w.next(e, apiserver.Fault{Err: apierrors.NewInternalError(errors.New("no"))})
	case "conflict":
		w.next(e, apiserver.Fault{Err: apierrors.NewConflict(schema.GroupResource{}, "", errors.New("changed"))})
	case "loseAnswer":
		w.next(e, apiserver.Fault{Lost: true})
	case "slowWatch":
		w.locked(func() { w.slow[w.replicas[w.index(e)].name] = time.Now().Add(e.Milliseconds()) })
	case "gone":
		w.api.Forget()
	}
}

func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) index(e trial.Event) int { return e.Int("operator") % len(w.replicas) }

// replica returns the process of the replica that an event means.
func (w *world) replica(e trial.Event) *operator.Replica {
	return w.replicas[w.index(e)].process.Load()
}

// noise is what each process logs when it starts and ends.
var noise = regexp.MustCompile(`"msg"="(Starting|Stopping|Shutdown signal|All workers|Wait completed)`)

func (w *world) start(r *replica) {
	log := funcr.New(func(_, args string) {
		if !noise.MatchString(args) {
			w.Log("%s %s", r.name, args)
		}
	}, funcr.Options{})
	process, err := operator.Start(w.api, r.name, w.cfg, controllers.Options{}, log)
	if err != nil {
		w.Broken("world", "%s does not start: %v", r.name, err)
	}
	r.process.Store(process)
}

// supervise starts a process again two seconds after it ended.
func (w *world) supervise(r *replica) {
	for {
		process := r.process.Load()
		select {
		case <-process.Ended:
			w.Log("%s ended: %v", r.name, process.Err)
		case <-w.over:
			process.Stop()
			return
		}
		time.Sleep(2 * time.Second)
		w.start(r)
	}
}

// link changes the network of a process for a time.
func (w *world) link(e trial.Event, to apiserver.Link, process *operator.Replica) {
	process.API.Set(to)
	time.AfterFunc(e.Milliseconds(), func() { process.API.Set(apiserver.Up) })
}

// next lets the next writes fail.
func (w *world) next(e trial.Event, f apiserver.Fault) {
	w.locked(func() { w.faults = append(w.faults, slices.Repeat([]apiserver.Fault{f}, e.Int("times"))...) })
}

// fault returns what goes wrong with a request.
func (w *world) fault(r apiserver.Request) (f apiserver.Fault) {
	switch r.Verb {
	case "get", "list", "watch", "": // "": no object, such as the version of the server
		return f
	case "event":
		w.locked(func() { f.Delay = max(0, time.Until(w.slow[r.Client])) })
		return f
	}
	w.locked(func() {
		if len(w.faults) > 0 {
			f, w.faults = w.faults[0], w.faults[1:]
		}
	})
	w.checkLeader(r)
	return f
}

// checkLeader checks that no operator writes while another one leads, but for the Lease and for events.
func (w *world) checkLeader(r apiserver.Request) {
	if r.Kind == "Lease" || r.Kind == "Event" {
		return
	}
	for _, other := range w.replicas {
		if other.name != r.Client && other.process.Load().Leader.Leading() {
			w.Broken("leader", "%s: %s of %s %s while %s leads", r.Client, r.Verb, r.Kind, r.Name, other.name)
		}
	}
}

// End implements trial.World. Each test ends, because its runners have no pods.
func (w *world) End() {
	w.locked(func() { w.faults = nil; clear(w.slow) })
	for _, r := range w.replicas {
		r.process.Load().API.Set(apiserver.Up)
	}
	time.Sleep(5 * time.Minute)
	for _, lt := range apiserver.Objects[*v1alpha1.LoadTest](w.api) {
		if lt.Status.CompletionTime == nil {
			w.Broken("end", "%s has not ended: %+v", lt.Name, lt.Status.Conditions)
		}
	}
	close(w.over)
	w.ended.Wait()
}
