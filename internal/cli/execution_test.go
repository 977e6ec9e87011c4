package cli

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/terminal"
)

func testPlan() *rv.Plan {
	return &rv.Plan{
		Name: "default/test", Shards: 1,
		Targets: []rv.Target{{Name: "t", Connections: 4}},
		Chains:  []rv.Chain{{Name: "c", Steps: []rv.Step{{Name: "s"}}}},
		Rates:   []rv.Rate{{Name: "r", Count: 10, Period: time.Second, Duration: 10 * time.Second}},
	}
}

// Each row is a run under fake time: what the user does when, and which messages the engine gets.
func TestExecution(t *testing.T) {
	drain, now := rv.Stop{Reason: "interrupted", Drain: true}, rv.Stop{Reason: "interrupted"}
	for _, tc := range []struct {
		name    string
		engine  func(*fakeEngine)
		user    func(chan<- os.Signal)
		stops   []rv.Stop
		shown   int // snapshots
		began   bool
		problem rv.Problem
		globals []string
	}{
		{name: "to its end", engine: func(*fakeEngine) {}, began: true},
		{
			name: "one interrupt after 2.5 s", engine: func(e *fakeEngine) { e.lasting = true }, began: true, shown: 2,
			user:  func(c chan<- os.Signal) { time.Sleep(2500 * time.Millisecond); c <- os.Interrupt },
			stops: []rv.Stop{drain},
		},
		{
			name: "two interrupts", engine: func(e *fakeEngine) { e.lasting, e.stubborn = true, true }, began: true, shown: 3,
			user: func(c chan<- os.Signal) {
				time.Sleep(1500 * time.Millisecond)
				c <- os.Interrupt
				time.Sleep(2 * time.Second)
				c <- os.Interrupt
			},
			stops: []rv.Stop{drain, now},
		},
		{
			name: "interrupted while it connects", engine: func(e *fakeEngine) { e.dead = true },
			user:  func(c chan<- os.Signal) { time.Sleep(time.Second); c <- os.Interrupt },
			stops: []rv.Stop{drain},
		},
		{
			name: "cannot connect", engine: func(e *fakeEngine) { e.dead = true },
			stops: []rv.Stop{{Reason: reasonUnreachable}}, problem: rv.ProblemConnect,
		},
		{
			name: "no token", engine: func(e *fakeEngine) { e.unauthorized = true },
			stops: []rv.Stop{{Reason: reasonToken}}, problem: rv.ProblemAuthorization,
		},
		{
			name: "no token after setup", engine: func(e *fakeEngine) { e.unauthorized, e.setup = true, time.Second }, shown: 1,
			stops: []rv.Stop{{Reason: reasonToken}}, problem: rv.ProblemAuthorization,
		},
		{
			name: "setup, longer than connecting may take", engine: func(e *fakeEngine) { e.setup = 12 * time.Second }, began: true, shown: 1,
			globals: []string{"token"},
		},
		{
			name: "setup that fails", engine: func(e *fakeEngine) { e.setup, e.fails = time.Second, true }, shown: 1,
			problem: rv.ProblemSetup,
		},
		{
			name: "setup without end", engine: func(e *fakeEngine) { e.setup = time.Hour }, shown: 1,
			stops: []rv.Stop{{Reason: reasonSetup}}, problem: rv.ProblemSetup,
		},
		{
			name: "interrupted in setup", engine: func(e *fakeEngine) { e.setup = time.Hour }, shown: 1,
			user:  func(c chan<- os.Signal) { time.Sleep(time.Second); c <- os.Interrupt },
			stops: []rv.Stop{drain},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newFakeEngine(nil)
				tc.engine(e)
				if _, err := e.given(testPlan(), []int{0}, ""); err != nil {
					t.Fatal(err)
				}
				signals := make(chan os.Signal, 2)
				if tc.user != nil {
					go tc.user(signals)
				}
				shown := 0
				shows := &progress{w: io.Discard, errs: io.Discard}
				x := &execution{
					aborts: func() string { return "" },
					engine: e, connect: 5 * time.Second, setup: 8 * time.Second,
					signals: signals, every: func(*rv.Snapshot) { shown++ },
					live: newLive(e, rv.Share{}, &job{plan: testPlan()}, shows),
				}
				s, err := x.run()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.stops, e.stops); diff != "" {
					t.Errorf("stops (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.globals, e.start.Globals); diff != "" {
					t.Errorf("globals (-want +got):\n%s", diff)
				}
				if shown != tc.shown || (s.StartedAt > 0) != tc.began || s.Problem != tc.problem || s.State != rv.StateDone {
					t.Errorf("shown %d, began at %d, problem %q, state %q", shown, s.StartedAt, s.Problem, s.State)
				}
			})
		})
	}
}

// TestTimeOfConnecting: a run tries for connectTimeout, and for a second if the answer of the server will not change.
func TestTimeOfConnecting(t *testing.T) {
	for _, tc := range []struct {
		cause         rv.Cause
		of            rv.FailureOf
		connect, want time.Duration
	}{
		{rv.CauseRefused, rv.FailureConnect, 5 * time.Second, 5 * time.Second},
		{rv.CauseHTTP1, rv.FailureConnect, 5 * time.Second, lastingFor + readyEvery},
		{rv.CauseALPN, rv.FailureConnect, 5 * time.Second, lastingFor + readyEvery},
		{rv.CauseTLS, rv.FailureConnect, 500 * time.Millisecond, 500 * time.Millisecond},
		{rv.CauseHTTP1, rv.FailureConnection, 5 * time.Second, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newFakeEngine(nil)
			e.dead = true
			if _, err := e.given(testPlan(), []int{0}, ""); err != nil {
				t.Fatal(err)
			}
			e.snapshot.Failures = []rv.FailureCount{{Failure: rv.Failure{Of: tc.of, Cause: tc.cause}, Count: 1}}
			began := time.Now()
			x := &execution{engine: e, connect: tc.connect, live: newLive(e, rv.Share{}, &job{plan: testPlan()}, &progress{w: io.Discard, errs: io.Discard})}
			if s, err := x.run(); err != nil || s.Problem != rv.ProblemConnect || time.Since(began) != tc.want {
				t.Errorf("%s: %v, %v after %v, want %v", tc.cause, err, s, time.Since(began), tc.want)
			}
		})
	}
}

// A manifest that cannot be read for an hour, such as a FIFO without a writer, delays neither progress nor the end.
func TestReadingTheManifestHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine(nil)
		e.lasting = true
		if _, err := e.given(testPlan(), []int{0}, ""); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		l := newLive(e, rv.Share{}, &job{plan: testPlan()}, &progress{w: &said, errs: &said, plan: testPlan()})
		l.name, l.reread = "m.yaml", func() (*job, error) {
			time.Sleep(time.Hour)
			return &job{plan: testPlan()}, nil
		}
		signals := make(chan os.Signal)
		go func() {
			<-e.started
			signals <- syscall.SIGHUP
			signals <- syscall.SIGHUP
			time.Sleep(2500 * time.Millisecond)
			signals <- os.Interrupt
		}()
		begun, shown := time.Now(), 0
		x := &execution{
			engine: e, connect: 5 * time.Second, signals: signals, live: l,
			every: func(*rv.Snapshot) { shown++ }, aborts: func() string { return "" },
		}
		if _, err := x.run(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > time.Minute || shown != 2 || len(e.stops) != 1 {
			t.Errorf("the run took %v, shown %d, stops %+v", took, shown, e.stops)
		}
		want := "m.yaml: is still being read\nm.yaml: was not read before the end\n"
		if got := said.String(); got != want {
			t.Errorf("says %q, want %q", got, want)
		}
		<-l.reading // synctest wants every goroutine to end
	})
}

func TestSetupFailureIsReported(t *testing.T) {
	e := newFakeEngine(nil)
	e.setup, e.fails = time.Nanosecond, true
	got := h2surge(t, e, nil, "run", "-f", "-", "-o", "json")
	if got.code != 5 || !strings.Contains(got.errors, "setup failed: setup chain login: timedOut") || !strings.Contains(got.out, `"reason": "SetupFailed"`) {
		t.Errorf("exit code %d, %s%s", got.code, got.out, got.errors)
	}
	if strings.Contains(got.out, "token") {
		t.Error("the report has what setup captured")
	}
}

func TestInterruptsDeliversSignals(t *testing.T) {
	last := make(chan struct{})
	wish, release := terminal.Interrupts(false, func() { close(last) })
	defer release()
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		select {
		case <-last:
			t.Fatalf("the last one before %v", s)
		default:
		}
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		if got := <-wish; got != s {
			t.Fatalf("%v, want %v", got, s)
		}
	}
	<-last // the next one would end the process
}

func TestPlace(t *testing.T) {
	for _, tc := range []struct {
		name                       string
		shards, perShard, threads  int
		connections, allowed, want int
		warned                     bool
	}{
		{name: "one worker", shards: 1, connections: 4, allowed: 2, want: 1},
		{name: "all shards in one process", shards: 2, perShard: 2, connections: 8, allowed: 4, want: 4},
		{name: "fewer CPUs", shards: 2, perShard: 2, connections: 8, allowed: 3, want: 3},
		{name: "fewer connections", shards: 1, perShard: 4, connections: 2, allowed: 4, want: 2},
		{name: "-t", shards: 1, threads: 2, connections: 4, allowed: 4, want: 2},
		{name: "-t beyond the CPUs", shards: 1, threads: 8, connections: 8, allowed: 2, want: 2, warned: true},
	} {
		plan := &rv.Plan{Shards: tc.shards, CPUsPerShard: tc.perShard, Chains: []rv.Chain{{Steps: []rv.Step{{}}}}}
		p := place(plan, &rv.Share{Connections: []int{tc.connections, 1}}, // no step sends to the second target
			tc.threads, []int{0, 1, 2, 3}[:tc.allowed])
		if len(p.cpus) != tc.want || (len(p.warnings) > 0) != tc.warned {
			t.Errorf("%s: CPUs %v, warnings %v", tc.name, p.cpus, p.warnings)
		}
	}
}

func TestDivide(t *testing.T) {
	if on, rest := divide([]int{3}); on != -1 || len(rest) != 1 {
		t.Errorf("of one CPU: %d, %v", on, rest)
	}
	if on, rest := divide([]int{3, 5, 7}); on != 3 || len(rest) != 2 || rest[0] != 5 {
		t.Errorf("of three CPUs: %d, %v", on, rest)
	}
}
