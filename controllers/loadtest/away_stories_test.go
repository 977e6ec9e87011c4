package loadtest_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/runnertest"
)

// road is a way to the API server that can be cut: a TCP proxy.
type road struct {
	to       string
	listener net.Listener

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newRoad(t *testing.T) *road {
	t.Helper()
	if apiServer == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	server, err := url.Parse(apiServer.Host)
	if err != nil {
		t.Fatal(err)
	}
	host := server.Host
	if host == "" { // envtest names it without a scheme
		host = apiServer.Host
	}
	r := &road{to: host, conns: map[net.Conn]bool{}}
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := r.listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { r.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = r.listener.Close()
		r.setCut(true)
		all.Wait()
	})
	return r
}

// config is that of clients that take the road.
func (r *road) config() *rest.Config {
	out := rest.CopyConfig(apiServer)
	out.Host = "https://" + r.listener.Addr().String()
	return out
}

func (r *road) setCut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	for c := range r.conns {
		if cut {
			_ = c.Close()
		}
	}
}

// keep returns false if the road is cut.
func (r *road) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		if r.cut {
			_ = c.Close()
			continue
		}
		r.conns[c] = true
	}
	return !r.cut
}

func (r *road) carry(c net.Conn) {
	d, err := net.Dial("tcp", r.to)
	if err != nil {
		_ = c.Close()
		return
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, end := range []net.Conn{c, d} {
			_ = end.Close()
			delete(r.conns, end)
		}
	}()
	if !r.keep(c, d) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(c, d); _ = c.Close() })
	_, _ = io.Copy(d, c)
	_ = d.Close()
	back.Wait()
}

// polled waits until an operator polled a runner a number of times since the world did something.
func (w *world) polled(r *runnertest.Runner, times uint64, since ...func()) {
	w.Helper()
	sequence := func() uint64 {
		s, err := r.Snapshot(w.ctx)
		w.must(err)
		return s.Sequence
	}
	before, own := sequence(), uint64(0)
	for _, f := range since {
		f()
	}
	w.Eventually(func() uint64 {
		own++
		return sequence() - before - own
	}).Should(gomega.BeNumerically(">=", times), "polls of the operator")
}

func running(done <-chan error) (bool, error) {
	select {
	case err := <-done:
		return false, err
	default:
		return true, nil
	}
}

// masterStatus is the metric by which an alert finds that no replica leads an election; -1: there is none of that name.
func masterStatus(t *testing.T, election string) float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "leader_election_master_status" && m.GetLabel()[0].GetValue() == election {
				return m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

// TestAPIServerAway: the operator polls its runners while the API server does not answer, and the run loses nothing,
// although it ends meanwhile.
func TestAPIServerAway(t *testing.T) {
	w, r := newWorld(t), newRoad(t)
	w.endOperator()
	w.cfg.LeaderElection.Enabled, w.cfg.LeaderElection.ID = ptr.To(true), "away.h2surge.io"
	done, cancel, leader := w.replica(r.config())
	defer cancel()
	w.apply(twoShards("away", load).Build())
	before := w.awaitLoad("away", 500)
	if status := masterStatus(t, w.cfg.LeaderElection.ID); status != 1 {
		t.Errorf("leader_election_master_status is %v while the operator leads, want 1", status)
	}

	r.setCut(true)
	w.Eventually(leader.Leading).Should(gomega.BeFalse(), "it still decides")
	w.polled(w.runner("away-1-0"), 10) // for longer than the election would have tried to renew the Lease
	if ok, err := running(done); !ok {
		t.Fatalf("the operator ended while the API server was away: %v", err)
	}
	w.polled(w.runner("away-1-0"), 1, func() { w.endLoad("away") }) // it may poll a runner that is done once
	if lt := w.get("away"); lt.Status.CompletionTime != nil || !lt.Status.StartTime.Equal(before.Status.StartTime) {
		t.Errorf("status changed while the operator could not reach the API server")
	}

	r.setCut(false)
	back := time.Now()
	lt := w.awaitPhase("away", v1alpha1.PhaseCompleted)
	t.Logf("the operator wrote the end %s after the return", time.Since(back).Round(100*time.Millisecond))
	if n := lt.Status.Results.Requests.Sent; n != 300_000 || lt.Status.Results.Partial {
		t.Errorf("sent %d, partial %t; want 300000, whole", n, lt.Status.Results.Partial)
	}
	if ok, err := running(done); !ok {
		t.Errorf("the operator ended: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the operator ended with %v", err)
	}
}

// TestSuccessorWhileCutOff: a replica that alone does not reach the API server polls its runners until it sees that
// another replica leads, and ends then.
func TestSuccessorWhileCutOff(t *testing.T) {
	w, r := newWorld(t), newRoad(t)
	w.endOperator()
	w.cfg.LeaderElection.Enabled = ptr.To(true)
	first, cancelFirst, _ := w.replica(r.config())
	defer cancelFirst()
	w.apply(twoShards("taken", load).Build())
	w.awaitLoad("taken", 500)
	second, cancelSecond, _ := w.replica(apiServer)
	defer cancelSecond()

	r.setCut(true)
	before := w.get("taken").Status.Results.Requests.Sent
	w.polled(w.runner("taken-1-0"), 10)
	w.awaitLoad("taken", before+5000) // only the second can write that
	if ok, err := running(first); !ok {
		t.Fatalf("the first operator ended before it saw the second: %v", err)
	}
	r.setCut(false)
	select {
	case err := <-first:
		if err == nil || !strings.Contains(err.Error(), "is the leader now") {
			t.Errorf("the first operator ended with %v, want that the second leads", err)
		}
	case <-time.After(soon):
		t.Fatal("the first operator did not end")
	}
	w.endLoad("taken")
	lt := w.awaitPhase("taken", v1alpha1.PhaseCompleted)
	if n := lt.Status.Results.Requests.Sent; n != 300_000 || lt.Status.Results.Partial {
		t.Errorf("sent %d, partial %t; want 300000, whole", n, lt.Status.Results.Partial)
	}
	cancelSecond()
	if err := <-second; err != nil {
		t.Errorf("the second operator ended with %v", err)
	}
}
