package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/go-logr/logr/funcr"

	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/test/peer"
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
	tlsAddress   = "10.9.0.3"
	// notifierAddress is that of what sends notifications for all targets.
	notifierAddress = "10.9.0.4"
	targetPort      = ":80" // of cleartext and of TLS
	// startup is how long a container takes to start at most.
	startup = 2 * time.Second
)

var targetAddresses = []string{h2cAddress, http1Address, tlsAddress}

// World is the whole system of a trial.
type World struct {
	*trial.Run
	t        *testing.T
	rules    *rules
	net      *network.Network
	api      *apiserver.Server
	cluster  *cluster.Cluster
	targets  []*target.Target
	content  *content
	notifier *notifier
	runners  runners
	replicas []*replica
	over     chan struct{} // closed at the end
	// tests are the names of LoadTests in the order of their creation, incarnations counts them.
	tests        []string
	incarnations int
	// forgotten are the names of the run records that a user deletes after the end.
	forgotten []string
	// delay and loss are those of the network without faults.
	delay time.Duration
	loss  float64
	// skew is the greatest difference of clocks. r decides about it.
	skew   time.Duration
	r      *rand.Rand
	faults faults
	// elected is called when a process of the operator begins to lead.
	elected func()
	// waiting are events, and acting is held while one happens.
	waiting waiting
	acting  sync.Mutex
	end     context.CancelFunc
	ended   sync.WaitGroup
}

// replica is a replica of the operator. Its pod starts its process again.
type replica struct {
	name, ip string
	process  atomic.Pointer[operator.Replica]
	leads    time.Time // since when; zero: it does not; guarded by faults.mu
	stopped  freeze    // of its process
	clock    wallClock // the wall clock of its node
}

// New returns a World without operators and tests: its first events bring them.
func New(t *testing.T, run *trial.Run) trial.World {
	t.Helper()
	w := &World{Run: run, t: t, rules: newRules(run), r: run.Rand("world"), over: make(chan struct{})}
	w.faults = faults{w: w, full: map[string]int{}, denied: map[string]int{}, forbidden: map[string]int{},
		watch: map[string]time.Duration{}}
	w.net = network.New(network.Options{Seed: run.Seed, Timeout: 2 * time.Minute})
	w.api = apiserver.New(operator.Scheme())
	w.api.Fault, w.api.Admit = w.faults.request, w.faults.admit
	w.api.Watch(w.rules.wrote)
	w.content = newContent(t, w)
	w.notifier = &notifier{from: w.net.Host(notifierAddress), queue: map[string]chan *url.URL{}}
	for _, ip := range targetAddresses {
		l, err := w.net.Host(ip).Listen("tcp", targetPort)
		if err != nil {
			t.Fatal(err)
		}
		if ip == tlsAddress {
			l = w.content.listen(l)
		}
		w.targets = append(w.targets, target.Serve(l, ip == http1Address, w.received))
	}
	w.runners = runners{w: w, dir: t.TempDir(), byPod: map[string]*process{}, byIP: map[string]*process{}}
	w.rules.runner, w.rules.decided = w.runners.at, w.decided
	w.elected = func() { w.trigger("leads") }
	w.cluster = cluster.New(cluster.Options{Server: w.api, Rand: run.Rand("cluster"), Nodes: []string{"node-1", "node-2",
		"node-3"},
		Start: w.runners.start, Startup: startup})
	ctx, end := context.WithCancel(context.Background())
	w.end = end
	w.ended.Go(func() { w.cluster.Run(ctx) })
	w.ended.Go(w.watch)
	return w
}

// received is called with each request that a target gets.
func (w *World) received(r *peer.Request, from string, sent time.Time) {
	w.rules.received(r, from, sent)
	if to := r.Fields[callback]; to != "" {
		w.notifier.send(to)
	}
}

// noise is what each process logs when it starts and ends.
var noise = regexp.MustCompile(`"msg"="(Starting|Stopping|Shutdown signal|All workers|Wait completed)`)

// start starts the process of a replica.
func (w *World) start(r *replica) {
	cfg := operator.Config()
	cfg.Runner.PodTimeout.Duration, cfg.Runner.ReadyTimeout.Duration = time.Minute, 20*time.Second
	cfg.Runner.UnreachableTimeout.Duration, cfg.Report.PodGrace.Duration = 15*time.Second, 15*time.Second
	cfg.Runner.TTLAfterFinished.Duration, cfg.Report.MaxBytes = ttl, maxReport
	log := funcr.New(func(_, args string) {
		if !noise.MatchString(args) {
			w.Log("%s %s", r.name, args)
		}
	}, funcr.Options{})
	process, err := operator.Start(w.api, r.name, cfg, controllers.Options{Dial: w.net.Host(r.ip).DialContext,
		Clock: r.clock.now}, log)
	if err != nil {
		w.Broken("the operator starts", "%s: %v", r.name, err)
	}
	r.process.Store(process)
	w.ended.Go(func() {
		select {
		case <-process.Elected:
			w.elected()
		case <-process.Ended:
		}
	})
}

// supervise starts a process again two seconds after it ended.
func (w *World) supervise(r *replica) {
	for {
		process := r.process.Load()
		select {
		case <-process.Ended:
			r.stopped.wait()
			w.Log("%s ended: %v", r.name, process.Err)
		case <-w.over:
			process.Stop()
			return
		}
		w.net.Host(r.ip).Close()
		w.rules.disturb(2 * time.Second)
		time.Sleep(2 * time.Second)
		w.start(r)
	}
}

// leads: an operator sends writes while it leads, and no other one does. The Lease, events and the CA do not count. The
// caller holds faults.mu.
func (w *World) leads(r apiserver.Request) {
	const rule = "no leader acts after its lease"
	if w.lead(); r.Namespace != namespace {
		return
	}
	for _, o := range w.replicas {
		switch {
		case o.name != r.Client && !o.leads.IsZero() && o.leads.Before(r.Sent):
			w.Broken(rule, "%s: %s of %s %s, sent at %s; %s leads", r.Client, r.Verb, r.Kind, r.Name, r.Sent.Format(clock),
				o.name)
		case o.name == r.Client && o.leads.IsZero() && r.Sent.Equal(time.Now()):
			w.Broken(rule, "%s: %s of %s %s, and it does not lead", r.Client, r.Verb, r.Kind, r.Name)
		}
	}
}

// lead notes since when replicas lead. The caller holds faults.mu.
func (w *World) lead() {
	for _, r := range w.replicas {
		switch process := r.process.Load(); {
		case process == nil || !process.Leader.Leading():
			r.leads = time.Time{}
		case r.leads.IsZero():
			r.leads = time.Now()
		}
	}
}

// faults are what goes wrong between clients and the API server.
type faults struct {
	w  *World
	mu sync.Mutex // guards the fields below
	// refuse, conflict, lose and slow are how many of the next writes of operators go wrong in that way.
	refuse, conflict, lose, slow int
	// delay is that of a slow write.
	delay time.Duration
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
	writes := !slices.Contains([]string{"", "event", "get", "list", "watch"}, r.Verb) && r.Kind != "Lease" &&
		r.Kind != "Event"
	if writes {
		f.w.leads(r)
		f.w.trigger(r.Verb + ":" + r.Kind)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Verb == "event" {
		return apiserver.Fault{Delay: f.watch[r.Client]}
	}
	if out.Delay = 2 * time.Millisecond; writes && f.slow > 0 {
		f.slow--
		out.Delay += f.delay
		f.w.rules.disturb(f.delay)
	}
	gr := schema.GroupResource{Resource: r.Kind}
	switch {
	case f.forbidden[r.Kind] > 0 && r.Kind != "Lease":
		out.Err = apierrors.NewForbidden(gr, r.Name, errors.New("RBAC"))
	case !writes:
	case f.full[r.Kind] > 0 && r.Verb == "create":
		out.Err = apierrors.NewForbidden(gr, r.Name, errors.New("exceeded quota: q"))
	case f.refuse > 0:
		f.refuse--
		out.Err = apierrors.NewInternalError(errors.New("no"))
	case f.conflict > 0 && (r.Verb == "update" || r.Verb == "patch"):
		f.conflict--
		out.Err = apierrors.NewConflict(gr, r.Name, errors.New("the object has been modified"))
	case f.lose > 0:
		f.lose--
		out.Lost = true
	}
	return out
}

// admit refuses what the CRD or an admission webhook refuses. The webhook is not asked about the status of pods.
func (f *faults) admit(before, after client.Object) error {
	if err := operator.Validate(before, after); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := after.GetObjectKind().GroupVersionKind().Kind
	if f.denied[kind] > 0 && (kind != "Pod" || before == nil) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, after.GetName(), errors.New("admission webhook"))
	}
	return nil
}
