package process

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/mock"
)

// The whole way of a share: control endpoint, engine, a target, final snapshot, acknowledgement.
func TestRealEngine(t *testing.T) {
	peer, err := mock.New(mock.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- peer.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	work := smallPlan()
	address := peer.Addr().String()
	work.Targets[0].Endpoints[0] = rv.Endpoint{Scheme: "http", Authority: address, Address: address}
	work.Rates[0] = rv.Rate{Name: "r", Count: 400, Period: time.Second, Requests: 200}
	p := startPod(t, nil, encode(t, work))
	shares, err := split.Split(work, 2)
	if err != nil {
		t.Fatal(err)
	}
	message := rv.Update{Revision: 1, Share: shares[1]}
	if got := p.put(rv.PathUpdate, message); got != http.StatusNoContent {
		t.Fatalf("update: status %d", got)
	}
	s := p.await(rv.StateReady)
	start := rv.Start{At: s.Clock + int64(50*time.Millisecond)}
	for _, m := range []struct {
		name, path string
		message    any
		want       int
	}{
		{"start", rv.PathStart, start, http.StatusNoContent},
		{"the same start", rv.PathStart, start, http.StatusNoContent},
		{"another start", rv.PathStart, rv.Start{At: start.At + 1}, http.StatusConflict},
		{"the same update", rv.PathUpdate, message, http.StatusNoContent},
		{"an ack too early", rv.PathAck, rv.Ack{Sequence: s.Sequence}, http.StatusConflict},
	} {
		if got := p.put(m.path, m.message); got != m.want {
			t.Errorf("%s: status %d, want %d", m.name, got, m.want)
		}
	}
	s = p.await(rv.StateDone)
	if _, body := p.get(http.DefaultClient, "http://"+p.metrics+"/metrics"); !strings.Contains(body, "h2surge_runner_") {
		t.Errorf("metrics:\n%s", body)
	}
	if got := p.put(rv.PathAck, rv.Ack{Sequence: s.Sequence}); got != http.StatusNoContent {
		t.Errorf("ack: status %d", got)
	}
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	// 200 requests over two shards, of which this is one.
	if c := s.Counters; c.Sent != 100 || c.Succeeded != 100 || peer.Stats().Requests != 100 || s.Shard != 1 || s.StartedAt < start.At {
		t.Errorf("shard %d, counters %+v, the target counted %d, started %d ns after the instant",
			s.Shard, c, peer.Stats().Requests, s.StartedAt-start.At)
	}
}

// await asks until the runner is in a state.
func (p *pod) await(state rv.State) *rv.Snapshot {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for {
		if s := p.snapshot(); s.State == state {
			return s
		}
		select {
		case <-tick.C:
		case <-limit:
			p.t.Fatalf("not %s: %+v", state, p.snapshot())
		}
	}
}
