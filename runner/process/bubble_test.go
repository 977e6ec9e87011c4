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

// TestVirtualTime: three real processes with real workers, TLS and control ports, and a target run in virtual time on a
// network in memory. Their clocks differ. What the target counts is what the runners report.
func TestVirtualTime(t *testing.T) {
	const runners, perSecond, seconds = 3, 100, 30
	synctest.Test(t, func(t *testing.T) {
		n := network.New(network.Options{Seed: 1, Delay: 500 * time.Microsecond, Jitter: time.Millisecond, Loss: 0.001})
		n.Name("target.example", "10.0.1.1")
		listener, err := n.Host("10.0.1.1").Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		target, err := mock.New(mock.Options{Listener: listener, Latency: 5 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- target.Serve(ctx) }()

		work := smallPlan()
		work.Shards = runners
		work.Targets[0].Connections = 2 * runners
		work.Targets[0].Endpoints[0] = rv.Endpoint{Scheme: "http", Authority: "target.example", Address: "target.example:80"}
		work.Rates[0] = rv.Rate{Name: "r", Count: runners * perSecond, Period: time.Second, Duration: seconds * time.Second}
		shares, err := split.Split(work, runners)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		var pods []*pod
		for i := range runners {
			p := newPod(t)
			transport := p.operator.Transport.(*http.Transport)
			transport.DialContext, transport.DisableCompression = n.Host("10.0.0.1").DialContext, true // as the operator
			host := n.Host(fmt.Sprintf("10.0.2.%d", i+1))
			clock := func() int64 { return int64(time.Since(begin)) + int64(i+1)*int64(time.Hour) }
			p.start(Config{ControlAddress: ":8443", MetricsAddress: ":9090", AckGrace: time.Minute, Index: i}, Parts{Network: host, Clock: clock}, encode(t, work))
			if got := p.put(rv.PathUpdate, rv.Update{Revision: 1, Share: shares[i]}); got != http.StatusNoContent {
				t.Fatalf("update: status %d", got)
			}
			pods = append(pods, p)
		}
		for _, p := range pods {
			if got := p.put(rv.PathStart, rv.Start{At: p.await(rv.StateReady).Clock + int64(time.Second)}); got != http.StatusNoContent {
				t.Fatalf("start: status %d", got)
			}
		}
		cpu, from := usage(t), time.Now()
		for range seconds {
			time.Sleep(time.Second)
			for _, p := range pods {
				p.get(p.operator, "https://"+p.control+rv.PathSnapshot+"?"+rv.QueryDetail+"="+rv.DetailTotals)
			}
		}
		t.Logf("a second with %d runners costs %v of CPU time", runners, time.Duration(float64(usage(t)-cpu)/time.Since(from).Seconds()))
		var sent, succeeded int64
		for _, p := range pods {
			s := p.await(rv.StateDone)
			sent, succeeded = sent+s.Counters.Sent, succeeded+s.Counters.Succeeded
			if got := p.put(rv.PathAck, rv.Ack{Sequence: s.Sequence}); got != http.StatusNoContent {
				t.Errorf("ack: status %d", got)
			}
			if err := <-p.ended; err != nil {
				t.Error(err)
			}
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		const want = runners * perSecond * seconds
		if got := target.Stats().Requests; got != want || sent != want || succeeded != want {
			t.Errorf("the target counted %d requests; the runners sent %d and %d succeeded; want %d", got, sent, succeeded, want)
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
