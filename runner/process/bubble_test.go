package process

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/test/simulate/network"
)

// bubble has runner processes with real workers, TLS and control ports, and a target, in virtual time on a network in
// memory.
type bubble struct {
	t      *testing.T
	net    *network.Network
	target *mock.Server
	pods   []*pod
}

// inBubble runs a test with started runners that send 100 requests per second each.
func inBubble(t *testing.T, runners int, duration time.Duration, test func(*bubble)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, net: network.New(network.Options{Seed: 1, Delay: 500 * time.Microsecond, Jitter: time.Millisecond, Loss: 0.001})}
		b.net.Name("target.example", "10.0.1.1")
		listener, err := b.net.Host("10.0.1.1").Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		if b.target, err = mock.New(mock.Options{Listener: listener, Latency: 5 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- b.target.Serve(ctx) }()
		b.start(runners, duration)
		test(b)
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// start starts runners, whose clocks differ by an hour.
func (b *bubble) start(runners int, duration time.Duration) {
	work := smallPlan()
	work.Shards, work.IdleStrategy = runners, rv.IdleSpin // has no effect here: virtual time would not pass
	work.Targets[0].Connections = 2 * runners
	work.Targets[0].Endpoints[0] = rv.Endpoint{Scheme: "http", Authority: "target.example", Address: "target.example:80"}
	work.Rates[0] = rv.Rate{Name: "r", Count: 100 * int64(runners), Period: time.Second, Duration: duration}
	shares, err := split.Split(work, runners)
	if err != nil {
		b.t.Fatal(err)
	}
	begin := time.Now()
	for i := range runners {
		p := newPod(b.t)
		transport := p.operator.Transport.(*http.Transport)
		transport.DialContext, transport.DisableCompression = b.net.Host("10.0.0.1").DialContext, true // as the operator
		p.start(Config{ControlAddress: ":8443", MetricsAddress: ":9090", AckGrace: time.Minute, Index: i}, Parts{
			Network: b.net.Host(address(i)),
			Clock:   func() int64 { return int64(time.Since(begin)) + int64(i+1)*int64(time.Hour) },
		}, encode(b.t, work))
		if got := p.put(rv.PathUpdate, rv.Update{Revision: 1, Share: shares[i]}); got != http.StatusNoContent {
			b.t.Fatalf("update: status %d", got)
		}
		b.pods = append(b.pods, p)
	}
	for _, p := range b.pods {
		if got := p.put(rv.PathStart, rv.Start{At: p.await(rv.StateReady).Clock + int64(time.Second)}); got != http.StatusNoContent {
			b.t.Fatalf("start: status %d", got)
		}
	}
}

// address is that of a runner.
func address(i int) string { return fmt.Sprintf("10.0.2.%d", i+1) }

// finish returns the final snapshot of a runner, which then ends.
func (b *bubble) finish(p *pod) *rv.Snapshot {
	s := p.await(rv.StateDone)
	if got := p.put(rv.PathAck, rv.Ack{Sequence: s.Sequence}); got != http.StatusNoContent {
		b.t.Errorf("ack: status %d", got)
	}
	if err := <-p.ended; err != nil {
		b.t.Error(err)
	}
	return s
}

// TestVirtualTime: what the target counts is what the runners report.
func TestVirtualTime(t *testing.T) {
	const runners, seconds = 3, 30
	inBubble(t, runners, seconds*time.Second, func(b *bubble) {
		cpu, from := usage(t), time.Now()
		for range seconds {
			time.Sleep(time.Second)
			for _, p := range b.pods {
				p.get(p.operator, "https://"+p.control+rv.PathSnapshot+"?"+rv.QueryDetail+"="+rv.DetailTotals)
			}
		}
		t.Logf("a second costs %v of CPU time", time.Duration(float64(usage(t)-cpu)/time.Since(from).Seconds()))
		var sent, succeeded int64
		for _, p := range b.pods {
			s := b.finish(p)
			sent, succeeded = sent+s.Counters.Sent, succeeded+s.Counters.Succeeded
		}
		const want = runners * 100 * seconds
		if got := b.target.Stats().Requests; got != want || sent != want || succeeded != want {
			t.Errorf("the target counted %d requests; the runners sent %d and %d succeeded; want %d", got, sent, succeeded, want)
		}
	})
}

// TestKilled: a process whose host was closed reaches no other host, and ends.
func TestKilled(t *testing.T) {
	inBubble(t, 2, 20*time.Second, func(b *bubble) {
		time.Sleep(6 * time.Second)
		b.net.Host(address(0)).Close()
		time.Sleep(time.Second)
		before := b.target.Stats()
		if err := <-b.pods[0].ended; err == nil {
			t.Error("no error")
		}
		s := b.finish(b.pods[1])
		after := b.target.Stats()
		if s.Counters.Succeeded != 2000 || after.Requests-before.Requests > 1400 || after.Connections != before.Connections {
			t.Errorf("runner 1 had %d answers; the target counted %d requests before and %d after", s.Counters.Succeeded, before.Requests, after.Requests)
		}
	})
}

// usage returns the CPU time of this process.
func usage(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
