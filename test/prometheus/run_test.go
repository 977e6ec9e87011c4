//go:build prometheus

package prometheus

import (
	"context"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/runner"
	"github.com/h2surge/h2surge/runner/metrics"
	"github.com/h2surge/h2surge/test/prometheus/lab"
)

// execution is a LoadTest on runners of this process, each with an endpoint of its own.
type execution struct {
	plan    *rv.Plan
	runners []*runner.Runner
	// addresses of the endpoints, by shard.
	addresses []string
}

// prepare connects the runners of the LoadTest, after a change of its spec.
func prepare(t *testing.T, change func(*v1alpha1.LoadTestSpec)) *execution {
	t.Helper()
	x := &execution{plan: compiled(t, startTarget(t), change)}
	shares, err := split.Split(x.plan, x.plan.Shards)
	must(t, err)
	for i := range shares {
		r, err := runner.New(x.plan, runner.Options{Workers: 1, NoPin: true})
		must(t, err)
		t.Cleanup(func() { _ = r.Close() })
		s := httptest.NewServer(metrics.Handler(x.plan, r.Snapshot))
		t.Cleanup(s.Close)
		x.runners, x.addresses = append(x.runners, r), append(x.addresses, s.Listener.Addr().String())
		must(t, r.Update(rv.Update{Revision: 1, Share: shares[i]}))
	}
	for _, r := range x.runners {
		lab.Await(t, "connections", func() bool { return r.Snapshot().State == rv.StateReady })
	}
	return x
}

func startTarget(t *testing.T) string {
	t.Helper()
	set, err := rules.LoadFile("testdata/target.yaml")
	must(t, err)
	s, err := mock.New(mock.Options{Listen: "127.0.0.1:0", Rules: set, Seed: 1})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

func compiled(t *testing.T, address string, change func(*v1alpha1.LoadTestSpec)) *rv.Plan {
	t.Helper()
	f, err := os.Open("testdata/loadtest.yaml")
	must(t, err)
	defer f.Close()
	m, err := compile.Load(f)
	must(t, err)
	m.LoadTest.Spec.Targets[0].URL = "http://" + address
	change(&m.LoadTest.Spec)
	plan, _, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return plan
}

// run tells the operator once a second, and returns the final report.
func (x *execution) run(t *testing.T, o *operator) *rv.Report {
	t.Helper()
	o.started = time.Now()
	for _, r := range x.runners {
		must(t, r.Start(rv.Start{At: rv.Clock() + int64(50*time.Millisecond)}))
	}
	for _, r := range x.runners {
		for done := false; !done; {
			select {
			case <-r.Done():
				done = true
			case <-time.After(time.Second):
				o.observe(v1alpha1.PhaseRunning, x.report(t))
			}
		}
	}
	r := x.report(t)
	judged, err := verdict.Judge(x.plan, r, verdict.FactsOf(x.snapshots()))
	must(t, err)
	r.Verdict = judged
	o.observe(v1alpha1.PhaseCompleted, r)
	return r
}

func (x *execution) snapshots() (out []rv.Snapshot) {
	for _, r := range x.runners {
		out = append(out, *r.Snapshot())
	}
	return out
}

func (x *execution) report(t *testing.T) *rv.Report {
	t.Helper()
	r, err := build.Build(build.Input{Plan: x.plan, Snapshots: x.snapshots()})
	must(t, err)
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
