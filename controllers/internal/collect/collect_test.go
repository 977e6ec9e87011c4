package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/runnertest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/transport"
	"github.com/h2surge/h2surge/internal/load/search"
	"github.com/h2surge/h2surge/internal/load/split"
)

const (
	uid  = types.UID("run")
	lead = 750 * time.Millisecond
)

var name = types.NamespacedName{Namespace: "core", Name: "pcf"}

func testPlan(shards int) *runnerv1alpha1.Plan {
	return &runnerv1alpha1.Plan{
		APIVersion: runnerv1alpha1.APIVersion, Kind: runnerv1alpha1.PlanKind, Name: "core/pcf", Shards: shards,
		Targets: []runnerv1alpha1.Target{{Name: "pcf", Connections: shards}},
		Chains:  []runnerv1alpha1.Chain{{Name: "get", Weight: 1, Steps: []runnerv1alpha1.Step{{Name: "get"}}}},
		Rates:   []runnerv1alpha1.Rate{{Name: "hold", Count: 1000, Period: time.Second, Duration: 10 * time.Second}},
		Drain:   time.Second,
	}
}

// fleet is a run under test: its runners, what is desired, and the registry that collects. Its
// verbs change the world; wait lets fake time pass.
type fleet struct {
	t        *testing.T
	plan     *runnerv1alpha1.Plan
	mu       sync.Mutex // guards the assignment of runners
	runners  []*runnertest.Runner
	desired  shards.Desired // but for the record
	stored   record.Record
	registry *Registry
	stop     func()
	refuse   bool        // the record cannot be written
	replaced atomic.Bool // the operator may have been replaced
	// sharing is the number of shards that have a share of a search.
	sharing atomic.Int64
}

func newFleet(t *testing.T, n int) *fleet {
	f := &fleet{t: t, plan: testPlan(n)}
	f.desired = shards.Desired{Name: name, UID: uid, Plan: f.plan, Shards: n, Policy: v1alpha1.ShardLostFail, Pods: map[int]shards.Pod{}}
	f.stored = record.Record{Attempt: 1, Live: record.Live{Generation: 1}, Changes: []record.Change{{Revision: 1, Generation: 1, Members: split.All(n)}}}
	for i := range n {
		// Clocks an hour apart, and calls that take a while.
		r := runnertest.New(f.plan, fmt.Sprint("boot-", i), time.Duration(i)*time.Hour).Latency(time.Duration(2+2*i) * time.Millisecond)
		f.runners = append(f.runners, r)
		f.desired.Pods[i] = shards.Pod{Name: fmt.Sprint("pod-", i), UID: types.UID(fmt.Sprint("uid-", i)), Address: fmt.Sprint(i)}
	}
	f.operator()
	return f
}

// operator starts a registry, in the place of an earlier one.
func (f *fleet) operator() {
	if f.stop != nil {
		f.stop()
	}
	dial := func(_ types.UID, address string) transport.Client {
		var i int
		_, _ = fmt.Sscan(address, &i)
		return client{f, i}
	}
	opts := Options{Options: shards.Options{Timeout: 2 * time.Second, Unreachable: time.Minute, Lead: lead}, Interval: time.Second,
		Leading: func() bool { return !f.replaced.Load() }, Term: func() int64 { return 0 }}
	f.registry = NewRegistry(opts, dial, logr.Discard(), func(types.NamespacedName) {})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = f.registry.Start(ctx); close(done) }()
	f.stop = func() { cancel(); <-done }
}

// client speaks to whatever process is behind an address at the moment. A runner's refusal gets
// the error that the HTTP client gives it.
type client struct {
	f *fleet
	i int
}

func (c client) Start(ctx context.Context, m runnerv1alpha1.Start) error {
	if err := c.runner().Start(ctx, m); err != nil {
		return fmt.Errorf("%w: %w", transport.ErrConflict, err)
	}
	return nil
}

func (c client) Update(ctx context.Context, m runnerv1alpha1.Update) error {
	return c.runner().Update(ctx, m)
}

func (c client) Stop(ctx context.Context, m runnerv1alpha1.Stop) error {
	return c.runner().Stop(ctx, m)
}

func (c client) Teardown(ctx context.Context, m runnerv1alpha1.Teardown) error {
	return c.runner().Teardown(ctx, m)
}

func (c client) Ack(ctx context.Context, m runnerv1alpha1.Ack) error {
	return c.runner().Ack(ctx, m)
}

func (c client) Snapshot(ctx context.Context, p transport.Poll) (*runnerv1alpha1.Snapshot, error) {
	return c.runner().Poll(ctx, p.Lease, p.Totals)
}

func (c client) runner() *runnertest.Runner {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	return c.f.runners[c.i]
}

func (c client) Close() {}

func (f *fleet) view() *shards.View {
	f.t.Helper()
	d := f.desired // the registry keeps it, so a test must not change what it has
	stored := f.stored
	stored.Changes = slices.Clone(stored.Changes)
	d.Record, d.Pods, d.Ended = &stored, maps.Clone(d.Pods), slices.Clone(d.Ended)
	v, err := f.registry.Ensure(d)
	if err != nil {
		f.t.Fatal(err)
	}
	if p := v.Proposal; p != nil && !f.refuse && p.Revision == f.stored.Newest().Revision+1 {
		f.stored.Append(record.Change{Revision: p.Revision, Generation: p.Generation, At: p.At, Members: p.Members, Rates: record.RatesOf(p.Rates), Suspended: p.Suspended})
		if v.Begins {
			f.stored.Search.Begun = p.Revision
		}
		return f.view()
	}
	if p := v.Probe; p != nil && p.Number == len(f.stored.Search.Probes) {
		f.stored.Search = record.Search{Probes: append(slices.Clone(f.stored.Search.Probes), p.ProbeResult)}
		if _, more := search.Replay(*f.plan.Search, f.stored.Search.Probes).Next(); !more {
			f.stored.Stop = &record.Stop{Reason: runnerv1alpha1.StopSearched}
		}
		return f.view()
	}
	return v
}

// wait lets time pass. The reconciler looks at the view 20 times a second.
func (f *fleet) wait(d time.Duration) *shards.View {
	const pass = 50 * time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); {
		f.view()
		time.Sleep(min(pass, time.Until(end)))
	}
	synctest.Wait()
	return f.view()
}

// end lets time pass until the test is over, at most d, and some seconds more.
func (f *fleet) end(d time.Duration) *shards.View {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if f.wait(time.Second).Over() {
			break
		}
	}
	return f.wait(5 * time.Second)
}

// begin decides the start.
func (f *fleet) begin() { f.stored.Start = &record.Start{Time: metav1.NewMicroTime(time.Now())} }

// run starts the test and lets a second of it pass.
func (f *fleet) run() *shards.View {
	f.t.Helper()
	if v := f.wait(2 * time.Second); !v.AllReady {
		f.t.Fatalf("not every runner is ready: %+v", v.Shards)
	}
	f.begin()
	return f.wait(lead + 1100*time.Millisecond)
}

func states(v *shards.View) (out []runnerv1alpha1.State) {
	for i := range v.Shards {
		if s := v.Shards[i].Snapshot; s != nil {
			out = append(out, s.State)
		} else {
			out = append(out, "")
		}
	}
	return out
}

// every returns whether there are shards and f holds for all of them.
func every(v *shards.View, f func(*shards.Shard) bool) bool {
	return len(v.Shards) > 0 && v.Count(f) == len(v.Shards)
}

func losses(v *shards.View) map[int]string {
	out := map[int]string{}
	for i := range v.Shards {
		if l := v.Shards[i].Lost; l != nil {
			out[i] = l.Message
		}
	}
	return out
}

func bubble(t *testing.T, shards int, test func(*testing.T, *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, shards)
		defer func() { f.stop() }()
		test(t, f)
	})
}

func TestRunToItsEnd(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.runners[1].Connecting(30 * time.Second)
		v := f.wait(20 * time.Second)
		want := []runnerv1alpha1.State{runnerv1alpha1.StateReady, runnerv1alpha1.StateConnecting, runnerv1alpha1.StateReady}
		if diff := cmp.Diff(want, states(v)); diff != "" {
			t.Fatalf("states (-want +got):\n%s", diff)
		}
		f.begin() // too early: one is not ready
		if f.wait(time.Second); !f.runners[0].Begun().IsZero() {
			t.Fatal("a runner was started before all were ready")
		}
		f.wait(11 * time.Second)
		var begun []time.Time
		for _, r := range f.runners {
			begun = append(begun, r.Begun())
		}
		// The fake network is as slow both ways, so that the offsets are exact.
		if !begun[0].Equal(begun[1]) || !begun[0].Equal(begun[2]) || begun[0].IsZero() {
			t.Errorf("start instants %v are not one", begun)
		}
		v = f.wait(3 * time.Second)
		if v.Rate < 990 || v.Rate > 1010 {
			t.Errorf("rate %.0f, want about 1000", v.Rate)
		}
		if !v.StartedAt.Equal(begun[0]) {
			t.Errorf("view says it started at %v, want %v", v.StartedAt, begun[0])
		}
		v = f.wait(10 * time.Second)
		var sent int64
		for i := range v.Shards {
			sent += v.Shards[i].Snapshot.Counters.Sent
		}
		if !every(v, (*shards.Shard).Final) || sent != 10_000 || len(losses(v)) != 0 {
			t.Errorf("states %v, sent %d, losses %v; want all done, 10000, none", states(v), sent, losses(v))
		}
		if f.runners[0].Acked() {
			t.Error("a result was acknowledged that nobody has stored")
		}
		f.stored.End = &record.End{}
		f.wait(2 * time.Second)
		for i, r := range f.runners {
			if diff := cmp.Diff([]string{"update", "start", "ack"}, r.Calls()); diff != "" {
				t.Errorf("calls to runner %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

// A test whose setup has failed is not to start, although nobody is awaited any more.
func TestOneEndsBeforeTheStart(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.runners[0].Fail(runnerv1alpha1.ProblemSetup, "step open: failed check status")
		if v := f.wait(3 * time.Second); v.AllReady {
			t.Errorf("all are ready: %v", states(v))
		}
	})
}

func TestTakeOver(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.run()
		calls := f.runners[0].Calls()
		begun := f.runners[0].Begun()
		f.operator()
		v := f.wait(3 * time.Second)
		if diff := cmp.Diff(calls, f.runners[0].Calls()); diff != "" {
			t.Errorf("the successor told a runner something anew (-before +after):\n%s", diff)
		}
		if d := v.StartedAt.Sub(begun).Abs(); d > time.Microsecond {
			t.Errorf("the successor takes the start for %v away", d)
		}
		if v = f.wait(15 * time.Second); !every(v, (*shards.Shard).Final) || len(losses(v)) != 0 {
			t.Errorf("states %v losses %v, want all done", states(v), losses(v))
		}
	})
}

func TestTakeOverInTheMiddleOfTheStart(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.wait(2 * time.Second)
		// The predecessor reached one of three before it ended.
		started, _ := f.runners[1].Snapshot(t.Context())
		if err := f.runners[1].Start(t.Context(), runnerv1alpha1.Start{At: started.Clock}); err != nil {
			t.Fatal(err)
		}
		f.operator()
		f.begin()
		before := time.Now()
		v := f.wait(time.Second)
		if !every(v, (*shards.Shard).Started) {
			t.Fatalf("states %v, want all running", states(v))
		}
		for _, i := range []int{0, 2} {
			if wait := f.runners[i].Begun().Sub(before); wait > 200*time.Millisecond {
				t.Errorf("runner %d waits %v although others run", i, wait)
			}
		}
		if got := f.runners[1].Calls(); slices.Index(got, "start") != len(got)-1 {
			t.Errorf("the one that ran was told to start again: %v", got)
		}
	})
}

// TestTakeOverAfterTheStartedWereLost: the runner that the former operator started is lost, so the start instant is not known any more. The
// other runner starts at a new one, without the slots of the time between.
func TestTakeOverAfterTheStartedWereLost(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.wait(2 * time.Second)
		ready, _ := f.runners[0].Snapshot(t.Context())
		if err := f.runners[0].Start(t.Context(), runnerv1alpha1.Start{At: ready.Clock}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		last, _ := f.runners[0].Snapshot(t.Context())
		f.runners[0].Silence()
		f.begin()
		f.desired.Ended = []shards.Recorded{{Shard: &record.Shard{Index: 0, Pod: "uid-0", Member: true, Loss: &record.Loss{Message: "exit code 137"}}, Snapshot: last}}
		delete(f.desired.Pods, 0)
		time.Sleep(20 * time.Second)
		f.operator()
		before := time.Now()
		f.wait(2 * time.Second)
		if wait := f.runners[1].Begun().Sub(before); wait < lead || wait > lead+500*time.Millisecond {
			t.Errorf("the other starts after %v; want %v", wait, lead)
		}
		if v := f.wait(15 * time.Second); !v.Over() || v.Progress.Report.Requests.Sent != last.Counters.Sent+5000 {
			t.Errorf("over %t with %d requests; want all of runner 1 and %d", v.Over(), v.Progress.Report.Requests.Sent, last.Counters.Sent)
		}
	})
}

// TestTakeOverWithANewerRecord: the former operator stored the final counts of a runner after this one polled it last.
func TestTakeOverWithANewerRecord(t *testing.T) {
	tests := map[string]*record.Loss{"left": nil, "lost": {Message: "no answer for 15s"}}
	for name, loss := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, 2, func(t *testing.T, f *fleet) {
				f.run()
				f.runners[1].Silence()
				v := f.wait(time.Second)
				stored := ptr.To(*v.Shards[1].Snapshot)
				stored.Sequence += 7
				stored.Counters.Sent += 100
				stored.Counters.Done += 100
				stored.Counters.Succeeded += 100
				stored.State, stored.EndedAt = runnerv1alpha1.StateDone, stored.Clock
				f.desired.Ended = []shards.Recorded{{Shard: &record.Shard{Index: 1, Pod: "uid-1", Member: true, Loss: loss}, Snapshot: stored}}
				v = f.wait(30 * time.Second)
				want := v.Shards[0].Snapshot.Counters.Sent + stored.Counters.Sent
				if got := v.Progress.Report.Requests.Sent; got != want || !v.Over() {
					t.Errorf("the report has %d requests, over: %t; want %d and over", got, v.Over(), want)
				}
			})
		})
	}
}

func TestLosses(t *testing.T) {
	gone := func(f *fleet) { f.runners[1].Silence() }
	tests := map[string]struct {
		do       func(*fleet)
		within   time.Duration
		want     string // of shard 1; empty: not lost
		snapshot bool   // a last snapshot must be there
	}{
		"the pod is deleted by force":                          {func(f *fleet) { gone(f); delete(f.desired.Pods, 1) }, 3 * time.Second, "", true},
		"the pod is deleted by force, and its process is gone": {func(f *fleet) { gone(f); delete(f.desired.Pods, 1) }, 70 * time.Second, "no answer for 1m0s: the pod was deleted; it may send requests until 2000-01-01T00:05:03Z", true},
		"the container was killed": {func(f *fleet) {
			gone(f)
			p := f.desired.Pods[1]
			p.Ended, p.Why = true, "OOMKilled"
			f.desired.Pods[1] = p
		}, 3 * time.Second, "OOMKilled", true},
		"SIGTERM": {func(f *fleet) {
			f.runners[1].Terminate()
			p := f.desired.Pods[1]
			p.Terminating = true
			f.desired.Pods[1] = p
		}, time.Second, "stopped: terminated", true},
		"another pod has its index": {func(f *fleet) {
			f.desired.Pods[1] = shards.Pod{Name: "pod-1b", UID: "uid-1b", Address: "1"}
		}, time.Second, "", true},
		"the process is another": {func(f *fleet) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.runners[1] = runnertest.New(f.plan, "boot-1b", 0)
		}, 3 * time.Second, "the runner has been restarted", true},
		"silent for a while":  {gone, 30 * time.Second, "", true},
		"silent for too long": {gone, 70 * time.Second, "no answer for 1m5s: connection refused; it may send requests until 2000-01-01T00:05:03Z", true},
		"it fails by itself":  {func(f *fleet) { f.runners[1].Fail(runnerv1alpha1.ProblemInternal, "out of files") }, 2 * time.Second, "out of files", true},
		"recorded by an ancestor": {func(f *fleet) {
			f.desired.Ended = []shards.Recorded{{Shard: &record.Shard{Index: 1, Pod: "uid-1", Loss: &record.Loss{Message: "as recorded"}}}}
		}, time.Second, "as recorded", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, f *fleet) {
				f.plan.Rates[0].Duration = 5 * time.Minute
				f.run()
				tt.do(f)
				v := f.wait(tt.within)
				want := map[int]string{}
				if tt.want != "" {
					want[1] = tt.want
				}
				if diff := cmp.Diff(want, losses(v)); diff != "" {
					t.Errorf("losses (-want +got):\n%s", diff)
				}
				if s := v.Shards[1].Snapshot; tt.snapshot && (s == nil || s.Counters.Sent == 0) {
					t.Error("the last snapshot was not kept")
				}
				if recorded := len(f.desired.Ended) > 0; v.Shards[1].Stored != recorded {
					t.Errorf("stored %v, want %v", v.Shards[1].Stored, recorded)
				}
				for _, i := range []int{0, 2} {
					if v.Shards[i].Snapshot.State != runnerv1alpha1.StateRunning {
						t.Errorf("runner %d is %s, want it to go on", i, v.Shards[i].Snapshot.State)
					}
				}
			})
		})
	}
}

func TestSilentRunnerHoldsNobodyUp(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.run()
		f.runners[1].Latency(time.Hour) // every call runs into its timeout
		first := f.view().Shards[0].Snapshot.Sequence
		v := f.wait(10 * time.Second)
		if n := v.Shards[0].Snapshot.Sequence - first; n < 9 {
			t.Errorf("%d looks at the other runner in 10 s, want one a second", n)
		}
		if v.Shards[1].Trouble == "" {
			t.Error("nothing tells of the runner that does not answer")
		}
	})
}

func TestStop(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.run()
		f.stored.Stop = &record.Stop{Reason: "spec.stop"}
		v := f.wait(time.Second)
		if !every(v, (*shards.Shard).Final) || len(losses(v)) != 0 {
			t.Fatalf("states %v losses %v, want all done and none lost", states(v), losses(v))
		}
		for _, r := range f.runners {
			if diff := cmp.Diff(&runnerv1alpha1.Stop{Reason: "spec.stop", Drain: true}, r.Stopped()); diff != "" {
				t.Errorf("stop (-want +got):\n%s", diff)
			}
		}
	})
}

func TestAbort(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.run()
		f.registry.Abort(name, uid) // its own UID is kept
		if f.wait(time.Second); f.runners[0].Stopped() != nil {
			t.Fatal("a run was aborted that was to be kept")
		}
		f.registry.Abort(name, "another")
		time.Sleep(time.Second)
		for i, r := range f.runners {
			if diff := cmp.Diff(&runnerv1alpha1.Stop{Reason: "deleted"}, r.Stopped()); diff != "" {
				t.Errorf("stop of runner %d (-want +got):\n%s", i, diff)
			}
			if !r.Acked() {
				t.Errorf("runner %d still waits for somebody to fetch its result", i)
			}
		}
	})
}

func TestEndOfTheOperatorStopsNobody(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.run()
		f.stop()
		time.Sleep(3 * time.Second)
		if f.runners[0].Stopped() != nil || f.runners[1].Stopped() != nil {
			t.Error("the end of the operator stopped a test")
		}
	})
}

// TestNothingBeginsAfterTheEnd: a pass can continue after the end of the manager. What it would start is not awaited.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fleet) {
		f.stop()
		if f.view(); f.registry.View(uid) != nil {
			t.Error("a run is collected")
		}
	})
}

func TestNewAttemptBeginsFromNothing(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fleet) {
		f.wait(2 * time.Second)
		f.stored.Attempt = 2
		f.desired.Pods = map[int]shards.Pod{}
		if v := f.wait(time.Second); v.Shards[0].Snapshot != nil || v.Shards[0].Lost != nil {
			t.Errorf("shard %+v, want nothing known of it", v.Shards[0])
		}
	})
}

func TestSetupAndTeardown(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.plan.Globals = []string{"token"}
		f.plan.Chains = append(f.plan.Chains,
			runnerv1alpha1.Chain{Name: "login", Phase: runnerv1alpha1.PhaseSetup}, runnerv1alpha1.Chain{Name: "logout", Phase: runnerv1alpha1.PhaseTeardown})
		f.wait(3 * time.Second)
		f.operator() // the values are told again to whoever takes over
		v := f.run()
		for i, r := range f.runners {
			if diff := cmp.Diff([]string{runnertest.Captured}, r.Globals()); diff != "" {
				t.Errorf("runner %d was told (-want +got):\n%s", i, diff)
			}
			if v.Shards[i].Snapshot.Globals != nil {
				t.Error("what setup has captured is in the view")
			}
			if slices.Contains(r.Calls(), "teardown") {
				t.Errorf("runner %d was told to tear down while others work", i)
			}
		}
		v = f.end(time.Hour)
		if !every(v, (*shards.Shard).Final) || len(losses(v)) != 0 {
			t.Fatalf("states %v losses %v, want all done and none lost", states(v), losses(v))
		}
		if !slices.Contains(f.runners[0].Calls(), "teardown") || slices.Contains(f.runners[1].Calls(), "teardown") {
			t.Errorf("calls %v and %v: only the first runs teardown", f.runners[0].Calls(), f.runners[1].Calls())
		}
	})
}

// TestTwoRuns: the runs of one registry share nothing. It is of use with the race detector.
func TestTwoRuns(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		other, stored := f.desired, f.stored
		other.Record = &stored
		other.UID, other.Name.Name = "other", "smf"
		other.Pods = map[int]shards.Pod{}
		for i := range 2 {
			r := runnertest.New(f.plan, fmt.Sprint("other-", i), 0).Latency(time.Millisecond)
			f.mu.Lock()
			f.runners = append(f.runners, r)
			f.mu.Unlock()
			other.Pods[i] = shards.Pod{Name: fmt.Sprint("other-", i), UID: types.UID(fmt.Sprint("other-", i)), Address: fmt.Sprint(2 + i)}
		}
		ensure := func() *shards.View {
			v, err := f.registry.Ensure(other)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		ensure()
		f.wait(2 * time.Second)
		started := stored
		started.Start = &record.Start{}
		other.Record = &started
		ensure()
		f.run()
		f.wait(20 * time.Second)
		for name, v := range map[string]*shards.View{"the first": f.view(), "the other": ensure()} {
			if !v.Over() || v.Progress.Report.Requests.Sent != 10_000 {
				t.Errorf("%s: states %v, %+v", name, states(v), v.Progress)
			}
		}
	})
}
