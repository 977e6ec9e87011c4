package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
	"github.com/h2surge/h2surge/test/simulate/cluster"
	"github.com/h2surge/h2surge/test/simulate/network"
	"github.com/h2surge/h2surge/test/simulate/operator"
	"github.com/h2surge/h2surge/test/simulate/target"
	"github.com/h2surge/h2surge/test/simulate/trial"
)

// Addresses of the world.
const (
	operatorNet  = "10.0.0." // and the number of the replica, from 1
	h2cAddress   = "10.9.0.1"
	http1Address = "10.9.0.2"
	targetPort   = ":80"
	// startup is how long a container takes to start at most.
	startup = 2 * time.Second
)

// World is the whole system of a trial.
type World struct {
	*trial.Run
	t       *testing.T
	laws    *laws
	net     *network.Network
	api     *apiserver.Server
	cluster *cluster.Cluster
	targets []*target.Target
	runners runners
	// replicas are the processes of the operator; nil entries have ended.
	replicas []*replica
	// tests are the names of LoadTests in the order of their creation, incarnations counts them.
	tests        []string
	incarnations int
	// delay and loss are those of the network without faults.
	delay time.Duration
	loss  float64
	// skew is the greatest difference of clocks. r decides about it.
	skew   time.Duration
	r      *rand.Rand
	faults faults
	end    context.CancelFunc
	ended  sync.WaitGroup
}

// replica is a process of the operator.
type replica struct {
	*operator.Replica
	name, ip string
}

// New returns a World without operators and tests: its first events bring them.
func New(t *testing.T, run *trial.Run) trial.World {
	t.Helper()
	w := &World{Run: run, t: t, laws: newLaws(run), r: run.Rand("world")}
	w.faults = faults{w: w, full: map[string]int{}, denied: map[string]int{}, forbidden: map[string]int{},
		watch: map[string]time.Duration{}}
	w.net = network.New(network.Options{Seed: run.Seed, Timeout: 2 * time.Minute})
	w.api = apiserver.New(operator.Scheme())
	w.api.Fault, w.api.Admit = w.faults.request, w.faults.admit
	w.api.Watch(w.laws.wrote)
	for _, ip := range []string{h2cAddress, http1Address} {
		l, err := w.net.Host(ip).Listen("tcp", targetPort)
		if err != nil {
			t.Fatal(err)
		}
		w.targets = append(w.targets, target.Serve(l, ip == http1Address, w.laws.received))
	}
	w.runners = runners{w: w, dir: t.TempDir(), byPod: map[string]*process{}}
	w.cluster = cluster.New(cluster.Options{Server: w.api, Rand: run.Rand("cluster"), Nodes: []string{"node-1", "node-2",
		"node-3"},
		Start: w.runners.start, Startup: startup})
	ctx, end := context.WithCancel(context.Background())
	w.end = end
	w.ended.Go(func() { w.cluster.Run(ctx) })
	return w
}

// start starts replica i, which may have run before.
func (w *World) start(i int) {
	rep := &replica{name: fmt.Sprint("operator-", i), ip: fmt.Sprint(operatorNet, i+1)}
	host := w.net.Host(rep.ip)
	cfg := operator.Config()
	cfg.Runner.PodTimeout.Duration, cfg.Runner.ReadyTimeout.Duration = time.Minute, 20*time.Second
	cfg.Runner.UnreachableTimeout.Duration, cfg.Report.PodGrace.Duration = 15*time.Second, 15*time.Second
	cfg.Runner.TTLAfterFinished.Duration = ttl
	r, err := operator.Start(w.api, rep.name, cfg, controllers.Options{Dial: host.DialContext},
		logr.New(sink{w.Run, rep.name}))
	if err != nil {
		w.Broken("the operator starts", "%v", err)
	}
	rep.Replica = r
	w.replicas[i] = rep
}

// restart ends replica i, by SIGKILL or SIGTERM, and starts it again.
func (w *World) restart(i int, kill bool) {
	w.laws.disturb(0)
	rep := w.replicas[i]
	if rep == nil { // it starts
		return
	}
	w.replicas[i] = nil
	w.ended.Go(func() {
		if kill {
			w.net.Host(rep.ip).Close()
			rep.Kill()
		} else {
			rep.Stop()
		}
	})
	time.AfterFunc(time.Duration(w.r.Int64N(int64(3*time.Second))), func() {
		w.faults.locked(func() { w.start(i) })
	})
}

// faults are what goes wrong between clients and the API server.
type faults struct {
	w  *World
	mu sync.Mutex // guards the fields below, and World.replicas
	// refuse, conflict and lose are how many of the next writes of operators go wrong in that way.
	refuse, conflict, lose int
	// full, denied and forbidden are the kinds of which new objects, changes, and requests are refused.
	full, denied, forbidden map[string]int
	// watch is how long events take, by client.
	watch map[string]time.Duration
}

func (f *faults) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// request is what goes wrong with a request of an operator.
func (f *faults) request(r apiserver.Request) (out apiserver.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Verb == "event" {
		return apiserver.Fault{Delay: f.watch[r.Client]}
	}
	out.Delay = 2 * time.Millisecond
	gr := schema.GroupResource{Resource: r.Kind}
	writes := r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
	switch {
	case f.forbidden[r.Kind] > 0 && r.Kind != "Lease":
		out.Err = apierrors.NewForbidden(gr, r.Name, errors.New("RBAC"))
	case !writes || r.Kind == "Lease" || r.Kind == "Event":
	case f.full[r.Kind] > 0 && r.Verb == "create":
		out.Err = apierrors.NewForbidden(gr, r.Name, errors.New("exceeded quota: q"))
	case f.refuse > 0:
		f.refuse--
		out.Err = apierrors.NewInternalError(errors.New("no"))
	case f.conflict > 0 && r.Verb != "create":
		f.conflict--
		out.Err = apierrors.NewConflict(gr, r.Name, errors.New("the object has been modified"))
	case f.lose > 0:
		f.lose--
		out.Lost = true
	}
	return out
}

// admit refuses what an admission webhook refuses. It is not asked about the status of pods.
func (f *faults) admit(before, after client.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := after.GetObjectKind().GroupVersionKind().Kind
	if f.denied[kind] > 0 && (kind != "Pod" || before == nil) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, after.GetName(), errors.New("admission webhook"))
	}
	return nil
}

// sink writes the log of an operator to that of the trial.
type sink struct {
	*trial.Run
	name string
}

func (s sink) Init(logr.RuntimeInfo)                  {}
func (s sink) Enabled(level int) bool                 { return level == 0 }
func (s sink) WithValues(...any) logr.LogSink         { return s }
func (s sink) WithName(string) logr.LogSink           { return s }
func (s sink) Info(_ int, msg string, kv ...any)      { s.Log("%s: %s %v", s.name, msg, kv) }
func (s sink) Error(err error, msg string, kv ...any) { s.Log("%s: %s: %v %v", s.name, msg, err, kv) }
