package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/histogram"
)

// fakeEngine sends nothing. After Start it is done at once with the counters it was given, unless
// it lasts until it is stopped.
type fakeEngine struct {
	mu       sync.Mutex
	plan     *rv.Plan
	workers  int
	cpus     []int
	listen   string
	snapshot rv.Snapshot
	final    func(*rv.Snapshot)
	// dead never becomes ready; lasting is not done before a Stop, stubborn not before a Stop
	// without drain.
	dead, lasting, stubborn bool
	// setup is how long setup takes; fails ends it badly.
	setup   time.Duration
	fails   bool
	refuse  error // of Update
	updates []rv.Update
	keys    chan byte // of the terminal
	start   rv.Start
	stops   []rv.Stop
	started chan struct{}
	done    chan struct{}
	// unauthorized: the token endpoint refuses.
	unauthorized bool
}

// startedAt does not depend on the clock, which is below zero under fake time.
const startedAt = int64(5e9)

func newFakeEngine(final func(*rv.Snapshot)) *fakeEngine {
	return &fakeEngine{final: final, started: make(chan struct{}), done: make(chan struct{})}
}

// given makes it the engine of a plan.
func (e *fakeEngine) given(plan *rv.Plan, cpus []int, listen string) (engine, error) {
	e.plan, e.workers, e.cpus, e.listen = plan, len(cpus), cpus, listen
	e.snapshot = rv.Snapshot{
		APIVersion: rv.APIVersion, Kind: rv.SnapshotKind, Boot: "b", State: rv.StateWaiting,
		Generator: rv.Generator{Workers: len(cpus), CPUs: cpus},
	}
	return e, nil
}

func (e *fakeEngine) Update(u rv.Update) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil {
		return e.refuse
	}
	e.updates = append(e.updates, u)
	if e.snapshot.Revision, e.snapshot.Suspended = u.Revision, u.Suspended; u.Revision > 1 {
		return nil
	}
	e.snapshot.State = rv.StateReady
	if e.dead {
		e.snapshot.State, e.snapshot.Problem, e.snapshot.Message = rv.StateConnecting, rv.ProblemConnect, "connection refused"
	}
	if e.unauthorized {
		e.refuseToken()
	}
	if e.setup > 0 {
		e.snapshot.State = rv.StateSettingUp
		time.AfterFunc(e.setup, e.setUp)
	}
	return nil
}

func (e *fakeEngine) refuseToken() {
	e.snapshot.State, e.snapshot.Problem, e.snapshot.Message = rv.StateConnecting, rv.ProblemAuthorization, "invalid_client"
}

// setUp is the end of setup.
func (e *fakeEngine) setUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.snapshot.State != rv.StateSettingUp:
	case e.fails:
		e.snapshot.Problem, e.snapshot.Message = rv.ProblemSetup, "setup chain login: timedOut"
		e.end()
	case e.unauthorized:
		e.refuseToken()
	default:
		e.snapshot.State, e.snapshot.Globals = rv.StateReady, []string{"token"}
	}
}

func (e *fakeEngine) Start(s rv.Start) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.start = s
	e.snapshot.State, e.snapshot.StartedAt = rv.StateRunning, startedAt
	e.snapshot.Stages = make([]rv.StageCounters, len(e.plan.Rates))
	close(e.started)
	if !e.lasting {
		e.end()
	}
	return nil
}

func (e *fakeEngine) Stop(s rv.Stop) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stops = append(e.stops, s)
	if e.snapshot.Stopped == "" {
		e.snapshot.Stopped = s.Reason
	}
	e.snapshot.Problem, e.snapshot.Message = "", ""
	if !e.stubborn || !s.Drain {
		e.end()
	}
	return nil
}

// end fills in what a whole run has. The caller holds mu.
func (e *fakeEngine) end() {
	s := &e.snapshot
	s.State = rv.StateDone
	s.Stages = make([]rv.StageCounters, len(e.plan.Rates))
	s.Steps = []rv.StepCounters{{}}
	s.Chains = []rv.ChainCounters{{}}
	if s.StartedAt > 0 {
		s.EndedAt = s.StartedAt + int64(1e9)
		s.Stages[0].Ended = int64(1e9)
	}
	if e.final != nil {
		e.final(s)
	}
	close(e.done)
}

func (e *fakeEngine) Snapshot() *rv.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot.Sequence++
	e.snapshot.Clock = e.snapshot.EndedAt
	s := e.snapshot
	return &s
}

func (e *fakeEngine) Done() <-chan struct{} { return e.done }
func (e *fakeEngine) Close() error          { return nil }

// answered makes a final snapshot of n requests, each answered after the given time in
// microseconds, of which failed came with another status than expected.
func answered(n, failed, microseconds int64) func(*rv.Snapshot) {
	return func(s *rv.Snapshot) {
		var h histogram.H
		for range n {
			h.Record(microseconds)
		}
		s.Counters = rv.Counters{Requests: rv.Requests{Outcomes: rv.Outcomes{Sent: n, Done: n, Succeeded: n - failed, FailedChecks: failed}}}
		s.Steps[0] = rv.StepCounters{Outcomes: rv.Outcomes{Sent: n, Done: n, Succeeded: n - failed, FailedChecks: failed}, ResponseTime: h.Encode()}
		s.Chains[0] = rv.ChainCounters{Started: n, Completed: n - failed, Aborted: failed}
		s.Stages[0].Sent = n
		s.StatusCodes = map[string]int64{"200": n}
		s.ResponseTime = h.Encode()
		s.Histograms = &rv.Histograms{}
	}
}

// unanswered makes a final snapshot of n requests that timed out.
func unanswered(n int64) func(*rv.Snapshot) {
	return func(s *rv.Snapshot) {
		s.Counters = rv.Counters{Requests: rv.Requests{Outcomes: rv.Outcomes{Sent: n, TimedOut: n}}}
		s.Steps[0] = rv.StepCounters{Outcomes: rv.Outcomes{Sent: n, TimedOut: n}}
		s.Chains[0] = rv.ChainCounters{Started: n, Aborted: n}
		s.Stages[0].Sent = n
		s.Histograms = &rv.Histograms{}
	}
}

// outcome is what a command line came to.
type outcome struct {
	code        int
	out, errors string
}

// execute runs a command line, the name of the program first.
func execute(ctx context.Context, args []string, in io.Reader, out, errs io.Writer, l linked) int {
	return command.Execute(ctx, newRootCommand(l), args[1:], in, out, errs)
}

// h2surge runs a command line with an engine. It may be nil: then the command must not make one.
func h2surge(t *testing.T, e *fakeEngine, interrupts <-chan os.Signal, args ...string) outcome {
	t.Helper()
	l := linked{
		newEngine: func(plan *rv.Plan, cpus []int, listen string) (engine, error) {
			if e == nil {
				t.Fatal("an engine was made")
			}
			return e.given(plan, cpus, listen)
		},
		interrupts: func(bool, func()) (<-chan os.Signal, func()) { return interrupts, func() {} },
		keyboard:   func(io.Reader, io.Writer) (<-chan byte, func()) { return e.keys, func() {} },
		allowed:    func() []int { return []int{4, 5} },
	}
	var out, errors bytes.Buffer
	code := execute(t.Context(), append([]string{"h2surge"}, args...), strings.NewReader(manifest), &out, &errors, l)
	return outcome{code: code, out: out.String(), errors: errors.String()}
}

const manifest = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: small}
spec:
  targets:
    - {name: a, url: "http://a.example:80", connections: 8}
  templates:
    - {name: get, path: /}
  chains:
    - {name: c, target: a, steps: [{template: get}]}
  rates:
    - {name: r, requestsPerSecond: 100, duration: 1s}
  thresholds:
    - {name: fast, metric: ResponseTime, percentile: p99, max: 20ms}
`

// file writes a file of a test and returns its name.
func file(t *testing.T, name, content string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
