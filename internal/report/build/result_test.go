package build

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

const second = int64(time.Second)

// testPlan warms up for a second, then holds 10/s for ten seconds; one chain of two steps and one
// of one.
func testPlan() *runnerv1alpha1.Plan {
	return &runnerv1alpha1.Plan{
		Name:    "default/test",
		Targets: []runnerv1alpha1.Target{{Name: "front"}, {Name: "back"}},
		Chains: []runnerv1alpha1.Chain{
			{Name: "session", Steps: []runnerv1alpha1.Step{{Name: "create", Timeout: time.Second}, {Name: "delete", Target: 1, Timeout: 2 * time.Second}}},
			{Name: "ping", Steps: []runnerv1alpha1.Step{{Name: "get", Timeout: 5 * time.Second}}},
		},
		Rates: []runnerv1alpha1.Rate{
			{Name: "warm", Count: 5, Period: time.Second, Duration: time.Second, WarmUp: true},
			{Name: "hold", Count: 10, Period: time.Second, Duration: 10 * time.Second},
		},
	}
}

// stagedPlan is testPlan with three measured stages.
func stagedPlan() *runnerv1alpha1.Plan {
	plan := testPlan()
	for _, name := range []string{"high", "low"} {
		plan.Rates = append(plan.Rates, runnerv1alpha1.Rate{Name: name, Count: 10, Period: time.Second, Duration: 10 * time.Second})
	}
	return plan
}

// recorder counts requests as a runner would.
type recorder struct {
	snapshot  runnerv1alpha1.Snapshot
	total     *histogram.H
	steps     []stepTimes
	targets   []targetTimes
	lag, conn *histogram.H
	// stages are the distributions of the selections of stages. stage is that of the next requests, and ofStages is that of Plan.StageSelections.
	stages   []histogram.H
	stage    int
	ofStages []int
	events   *histogram.H // of the first listener
}

func newRecorder(plan *runnerv1alpha1.Plan, shard int) *recorder {
	r := &recorder{total: histogram.New(), lag: histogram.New(), conn: histogram.New(), events: histogram.New()}
	r.snapshot = runnerv1alpha1.Snapshot{
		Shard: shard, Boot: fmt.Sprint("boot", shard), Sequence: 1, State: runnerv1alpha1.StateDone,
		Clock: 100 * second, StartedAt: 88 * second, EndedAt: 99 * second,
		Stages:      make([]runnerv1alpha1.StageCounters, len(plan.Rates)),
		Steps:       make([]runnerv1alpha1.StepCounters, countSteps(plan)),
		Chains:      make([]runnerv1alpha1.ChainCounters, len(plan.Chains)),
		Targets:     make([]runnerv1alpha1.TargetTimes, len(plan.Targets)),
		Listeners:   make([]runnerv1alpha1.ListenerCounters, len(plan.Listeners)),
		StatusCodes: map[string]int64{},
	}
	r.steps, r.targets = make([]stepTimes, countSteps(plan)), make([]targetTimes, len(plan.Targets))
	own, of := plan.StageSelections()
	r.stage, r.ofStages, r.stages, r.snapshot.StageSelections = 1, of, make([]histogram.H, len(own)), make([]runnerv1alpha1.SelectionCounters, len(own))
	r.snapshot.Stages[0].Ended = second
	r.snapshot.Stages[1] = runnerv1alpha1.StageCounters{Begun: second, Ended: 11 * second}
	return r
}

func (r *recorder) warmUp() {
	r.snapshot.Counters.WarmUpSent++
	r.snapshot.Counters.WarmUpSucceeded++
	r.snapshot.Stages[0].Sent++
}

// notified counts a notification that a step of the first listener received, and each third one as a duplicate of another.
func (r *recorder) notified(us int64) {
	c := &r.snapshot.Listeners[0].ListenerCounts
	c.Received++
	if us%3 == 0 {
		c.Duplicate++
		return
	}
	c.InTime++
	c.Awaited++
	c.Measured.Add(&runnerv1alpha1.AwaitCounts{Awaited: 1, InTime: 1}, 1)
	r.events.Record(us)
}

// missed counts a step that did not receive its notification.
func (r *recorder) missed() {
	c := &r.snapshot.Listeners[0].ListenerCounts
	c.Missing++
	c.Awaited++
	c.Measured.Add(&runnerv1alpha1.AwaitCounts{Awaited: 1, Missing: 1}, 1)
}

// requestIn counts a request of a stage of a plan without thresholds.
func (r *recorder) requestIn(stage, step int, outcome string, us int64) {
	before, times := r.snapshot.Counters, r.total.Count()
	r.stage = stage
	r.request(step, outcome, us)
	k := r.ofStages[stage]
	if k < 0 {
		return
	}
	c := &r.snapshot.Counters
	r.snapshot.StageSelections[k].Add(&runnerv1alpha1.SelectionCounts{
		Sent: c.Sent - before.Sent, Done: c.Done - before.Done, Succeeded: c.Succeeded - before.Succeeded, TimedOut: c.TimedOut - before.TimedOut,
		Reset: c.Reset - before.Reset, ConnectionLost: c.ConnectionLost - before.ConnectionLost, Dropped: c.Dropped - before.Dropped,
	}, 1)
	if r.total.Count() > times {
		r.stages[k].Record(us)
	}
}

func (r *recorder) request(step int, outcome string, us int64) {
	c, s := &r.snapshot.Counters, &r.snapshot.Steps[step]
	if outcome == "dropped" {
		c.Dropped++
		r.failure(runnerv1alpha1.FailureDropped, us)
		r.snapshot.Stages[r.stage].Dropped++
		return
	}
	c.Sent++
	s.Sent++
	r.snapshot.Stages[r.stage].Sent++
	r.lag.Record(us / 100)
	switch outcome {
	case "succeeded":
		c.Done++
		s.Done++
		c.Succeeded++
		s.Succeeded++
		r.snapshot.StatusCodes["201"]++
		addTo(&s.StatusCodes, "201", 1)
		s.StatusClasses[1]++
	case "failed":
		c.Done++
		s.Done++
		c.FailedChecks++
		s.FailedChecks++
		addTo(&s.FailedBy, [...]string{"status", "fast"}[us%2], 1)
		addTo(&r.snapshot.Causes, fmt.Sprint("CAUSE_", us%3), 1)
		s.Retries += us % 2
		r.snapshot.StatusCodes["503"]++
		addTo(&s.StatusCodes, "503", 1)
		addTo(&s.Problems, fmt.Sprint("503 CAUSE_", us%3), 1)
		s.StatusClasses[4]++
	case "timedOut":
		c.TimedOut++
		s.TimedOut++
		return
	case "reset":
		c.Reset++
		s.Reset++
		r.failure(runnerv1alpha1.FailureReset, us)
		return
	case "lost":
		c.ConnectionLost++
		s.ConnectionLost++
		r.failure(runnerv1alpha1.FailureConnectionLost, us)
		return
	case "inFlight":
		c.InFlightAtEnd++
		s.InFlightAtEnd++
		return
	}
	r.total.Record(us)
	for k := range r.steps[step] {
		if k < 3 {
			r.steps[step][k].Record(us / int64(k+1))
		}
	}
	if outcome == "failed" {
		r.steps[step][3].Record(us)
	}
	for k := range r.targets[step%2] {
		r.targets[step%2][k].Record(us / int64(k+4))
	}
}

// failure counts one of a few causes, as a runner does.
func (r *recorder) failure(of runnerv1alpha1.FailureOf, us int64) {
	f := runnerv1alpha1.Failure{Of: of, Cause: runnerv1alpha1.CauseProtocol, Detail: fmt.Sprint("rule ", us%3), Address: "a:1"}
	for i := range r.snapshot.Failures {
		if c := &r.snapshot.Failures[i]; c.Failure == f {
			c.Count++
			return
		}
	}
	r.snapshot.Failures = append(r.snapshot.Failures, runnerv1alpha1.FailureCount{Failure: f, Count: 1})
}

func (r *recorder) chain(i int) {
	r.snapshot.Chains[i].Started++
	r.snapshot.Chains[i].Completed++
}

func (r *recorder) aborted(i int, why string) {
	r.snapshot.Chains[i].Started++
	r.snapshot.Chains[i].Aborted++
	addTo(&r.snapshot.Chains[i].AbortedBy, why, 1)
}

func (r *recorder) once() {
	c := &r.snapshot.Counters
	c.Setup.Sent, c.Setup.Succeeded = c.Setup.Sent+2, c.Setup.Succeeded+2
	c.Teardown.Sent, c.Teardown.Succeeded = c.Teardown.Sent+3, c.Teardown.Succeeded+1
}

func (r *recorder) done() runnerv1alpha1.Snapshot {
	r.snapshot.ResponseTime = r.total.Encode()
	for i := range r.steps {
		for k, h := range r.snapshot.Steps[i].Distributions() {
			*h = r.steps[i][k].Encode()
		}
	}
	for i := range r.targets {
		for k, h := range r.snapshot.Targets[i].Distributions() {
			*h = r.targets[i][k].Encode()
		}
	}
	for i := range r.snapshot.Listeners {
		r.snapshot.Listeners[i].Time = r.events.Encode()
	}
	for i := range r.stages {
		r.snapshot.StageSelections[i].Time = r.stages[i].Encode()
	}
	r.snapshot.Histograms = &runnerv1alpha1.Histograms{Lag: r.lag.Encode(), Connect: r.conn.Encode()}
	return r.snapshot
}

var outcomes = []string{"succeeded", "succeeded", "succeeded", "failed", "timedOut", "reset", "lost", "inFlight", "dropped"}

func build(t *testing.T, in Input) *runnerv1alpha1.Report {
	t.Helper()
	r, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMergeIsOneRunnerThatDidAll distributes random requests over any number of shards: the report must
// be that of one runner which sent them all.
func TestMergeIsOneRunnerThatDidAll(t *testing.T) {
	plan := stagedPlan()
	for _, shards := range []int{1, 2, 5, 16} {
		r := rand.New(rand.NewPCG(uint64(shards), 1))
		whole := newRecorder(plan, 0)
		parts := make([]*recorder, shards)
		for i := range parts {
			parts[i] = newRecorder(plan, i)
		}
		for range 3000 {
			part := parts[r.IntN(shards)]
			step, outcome, us := r.IntN(3), outcomes[r.IntN(len(outcomes))], r.Int64N(1<<r.IntN(30))
			for _, to := range []*recorder{whole, part} {
				to.requestIn(1+int(us%3), step, outcome, us)
				to.chain(step / 2)
				to.aborted(step/2, outcome)
				to.warmUp()
				to.once()
				to.conn.Record(us)
			}
		}
		var snapshots []runnerv1alpha1.Snapshot
		for _, p := range parts {
			snapshots = append(snapshots, p.done())
		}
		want := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{whole.done()}})
		got := build(t, Input{Plan: plan, Snapshots: snapshots})
		if err := Check(got); err != nil {
			t.Errorf("%d shards: %v", shards, err)
		}
		if n := got.SuccessfulResponseTime.Count; n == 0 || n != got.Requests.Succeeded || got.Steps[1].SuccessfulResponseTime.Count != got.Steps[1].Succeeded {
			t.Errorf("%d shards: %d times of %d successful requests", shards, n, got.Requests.Succeeded)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(runnerv1alpha1.GeneratorResult{}, "Shards"),
			cmpopts.IgnoreFields(runnerv1alpha1.Report{}, "Shards")); diff != "" {
			t.Errorf("%d shards (-one +merged):\n%s", shards, diff)
		}
		r.Shuffle(len(snapshots), func(i, k int) { snapshots[i], snapshots[k] = snapshots[k], snapshots[i] })
		if diff := cmp.Diff(got, build(t, Input{Plan: plan, Snapshots: snapshots})); diff != "" {
			t.Errorf("%d shards: the order matters (-sorted +shuffled):\n%s", shards, diff)
		}
	}
}

func TestBuildFields(t *testing.T) {
	plan := testPlan()
	a, b := newRecorder(plan, 0), newRecorder(plan, 1)
	for range 60 {
		a.request(0, "succeeded", 1000)
	}
	for range 40 {
		b.request(2, "failed", 3000)
	}
	a.snapshot.Generator = runnerv1alpha1.Generator{
		Workers: 2, CPUs: []int{4, 5}, Exclusive: true, ExclusiveWanted: true, CPUSeconds: 1.5,
		ThrottledMicroseconds: 10, LagP99: 7, GCPauseMicroseconds: 3,
		IdleStrategy: runnerv1alpha1.IdleSpin,
	}
	b.snapshot.Generator = runnerv1alpha1.Generator{
		Workers: 2, CPUs: []int{1, 2}, ExclusiveWanted: true, CPUSeconds: 0.5,
		ThrottledMicroseconds: 5, LagP99: 9, GCPauseMicroseconds: 4,
		IdleStrategy: runnerv1alpha1.IdleSleep, BatchedNanoseconds: 100 * 120_000, Naps: 4, NapNanoseconds: 4 * 30_999,
	}
	b.snapshot.StartedAt += 2500 // 2.5 us
	b.snapshot.Counters.Connects, b.snapshot.Counters.BytesReceived = 3, 99
	start := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", 3600))
	got := build(t, Input{
		Plan: plan, PlanHash: "abc", Version: "v1",
		Snapshots:    []runnerv1alpha1.Snapshot{b.done(), a.done()},
		ClockOffsets: map[Runner]int64{{0, "boot0"}: 1000, {1, "boot1"}: 3000},
		StartWall:    start, EndWall: start.Add(time.Minute),
	})
	if got.StartTime != "2026-01-02T02:04:05.678Z" || got.EndTime != "2026-01-02T02:05:05.678Z" {
		t.Errorf("from %s to %s", got.StartTime, got.EndTime)
	}
	if got.Name != "default/test" || got.PlanHash != "abc" || got.Version != "v1" || got.Partial || got.Kind != "Report" {
		t.Errorf("head: %+v", got)
	}
	want := runnerv1alpha1.GeneratorResult{
		Shards: 2, Workers: 4, CPUs: []int{4, 5, 1, 2}, ExclusiveShards: 1, ExclusiveWanted: true,
		LagP99Microseconds: 9, ThrottledMicroseconds: 15, GCPauseMicroseconds: 7, StartSkewMicroseconds: 4, Connects: 3,
		Idle: runnerv1alpha1.IdleResult{SpinShards: 1, SleepShards: 1, SleepIntervalMicroseconds: 500, BatchMeanMicroseconds: 120, Naps: 4, NapMeanMicroseconds: 30},
	}
	if diff := cmp.Diff(want, got.Generator); diff != "" {
		t.Errorf("generator (-want +got):\n%s", diff)
	}
	if got.CPUSeconds != 2 || got.Bytes.Received != 99 {
		t.Errorf("CPU %v s, %d bytes", got.CPUSeconds, got.Bytes.Received)
	}
	if diff := cmp.Diff(runnerv1alpha1.RateResult{Asked: 10, Achieved: 10, WindowSeconds: 10}, got.Rate); diff != "" {
		t.Errorf("rate (-want +got):\n%s", diff)
	}
	if got.ErrorRate != 0.4 || got.Steps[2].ErrorRate != 1 || got.Steps[0].ErrorRate != 0 {
		t.Errorf("error rate %v, of steps %v and %v", got.ErrorRate, got.Steps[0].ErrorRate, got.Steps[2].ErrorRate)
	}
	if s := got.Steps[2]; s.Chain != "ping" || s.Step != "get" || s.ResponseTime.P50 != 3000 {
		t.Errorf("third step: %+v", s)
	}
	if got.ResponseTime.P50 != 1000 || got.ResponseTime.P90 != 3000 {
		t.Errorf("response time: %+v", got.ResponseTime)
	}
}

func TestSupersededSnapshots(t *testing.T) {
	plan := testPlan()
	old, newer, other := newRecorder(plan, 0), newRecorder(plan, 0), newRecorder(plan, 0)
	old.request(0, "succeeded", 1)
	for range 3 {
		newer.request(0, "succeeded", 1)
	}
	newer.snapshot.Sequence = 2
	other.snapshot.Boot = "after a restart"
	other.request(0, "succeeded", 1)
	got := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{newer.done(), other.done(), old.done()}})
	if got.Requests.Sent != 4 || got.Generator.Shards != 1 {
		t.Errorf("%d sent by %d shards, want 3 of the newer and 1 of the other boot, one shard", got.Requests.Sent, got.Generator.Shards)
	}
}

func TestPartial(t *testing.T) {
	plan := testPlan()
	whole, running := newRecorder(plan, 0), newRecorder(plan, 1)
	running.snapshot.State = runnerv1alpha1.StateRunning
	tests := []struct {
		name      string
		snapshots []runnerv1alpha1.Snapshot
		lost      []Runner
		want      bool
		shards    int
		gone      int
	}{
		{"whole", []runnerv1alpha1.Snapshot{whole.done()}, nil, false, 1, 0},
		{"not final", []runnerv1alpha1.Snapshot{whole.done(), running.done()}, nil, true, 2, 0},
		{"lost with a snapshot", []runnerv1alpha1.Snapshot{whole.done(), running.done()}, []Runner{{1, "boot1"}}, true, 2, 1},
		{"lost without", []runnerv1alpha1.Snapshot{whole.done()}, []Runner{{Shard: 1}, {Shard: 1}}, true, 2, 1},
		{"nothing at all", nil, []Runner{{}}, true, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := build(t, Input{Plan: plan, Snapshots: tt.snapshots, Lost: tt.lost})
			if got.Partial != tt.want || got.Generator.Shards != tt.shards || got.Generator.ShardsLost != tt.gone {
				t.Errorf("partial %v, %d shards, %d lost; want %v, %d, %d",
					got.Partial, got.Generator.Shards, got.Generator.ShardsLost, tt.want, tt.shards, tt.gone)
			}
			if err := Check(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBuildKeepsEveryTime: each distribution of a final snapshot is in the report under the same name.
func TestBuildKeepsEveryTime(t *testing.T) {
	r := newRecorder(testPlan(), 7)
	s := r.done()
	from := reflect.ValueOf(s.Histograms).Elem()
	for i := range from.NumField() {
		var h histogram.H
		h.Record(int64(1000 + i))
		from.Field(i).Set(reflect.ValueOf(h.Encode()))
	}
	got, err := Build(Input{Plan: testPlan(), Snapshots: []runnerv1alpha1.Snapshot{s}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		times := reflect.ValueOf(*got).FieldByName(name).Interface().(runnerv1alpha1.Times)
		h := reflect.ValueOf(*got.Histograms).FieldByName(name).Interface().(runnerv1alpha1.Histogram)
		if want := int64(1000 + i); times.Max != want || h.Max != want {
			t.Errorf("%s: %d us, and %d us in its histogram, want %d", name, times.Max, h.Max, want)
		}
	}
}

// TestTargets: each time of a snapshot's steps and targets is in the report under the same name, and a target has the times of
// its steps.
func TestTargets(t *testing.T) {
	plan := testPlan() // steps 0 and 2 are of the target front, step 1 is of back
	s := newRecorder(plan, 7).done()
	of := func(us ...int64) runnerv1alpha1.Histogram {
		var h histogram.H
		for _, v := range us {
			h.Record(v)
		}
		return h.Encode()
	}
	for i := range s.Steps {
		for k, h := range s.Steps[i].Distributions() {
			*h = of(int64(1000 + 10*i + k))
		}
	}
	for i := range s.Targets {
		for k, h := range s.Targets[i].Distributions() {
			*h = of(int64(100 + 10*i + k))
		}
	}
	one := func(us int64) runnerv1alpha1.Times {
		h, err := histogram.Decode(of(us))
		if err != nil {
			t.Fatal(err)
		}
		return h.Times()
	}
	two := func(a, b int64) runnerv1alpha1.Times {
		h, err := histogram.Decode(of(a, b))
		if err != nil {
			t.Fatal(err)
		}
		return h.Times()
	}
	got, err := Build(Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{s}})
	if err != nil {
		t.Fatal(err)
	}
	want := []runnerv1alpha1.TargetResult{
		{
			Name: "front", NameResolution: one(100), TCPConnect: one(101), TLSHandshake: one(102), Settings: one(103), Connect: one(104),
			Reconnecting: one(105), Blocked: one(106), Body: one(107),
			ResponseTime: two(1000, 1020), ServiceTime: two(1001, 1021), TimeToFirstByte: two(1002, 1022),
		},
		{
			Name: "back", NameResolution: one(110), TCPConnect: one(111), TLSHandshake: one(112), Settings: one(113), Connect: one(114),
			Reconnecting: one(115), Blocked: one(116), Body: one(117), ResponseTime: one(1010), ServiceTime: one(1011), TimeToFirstByte: one(1012),
		},
	}
	if diff := cmp.Diff(want, got.Targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if st := &got.Steps[1]; st.ServiceTime != one(1011) || st.TimeToFirstByte != one(1012) {
		t.Errorf("step 1: %+v", st)
	}
}

func TestBuildRefuses(t *testing.T) {
	plan := testPlan()
	tests := []struct {
		name   string
		change func(*runnerv1alpha1.Snapshot)
		want   string
	}{
		{"stages", func(s *runnerv1alpha1.Snapshot) { s.Stages = s.Stages[:1] }, "1 stages, the plan has 2"},
		{"steps", func(s *runnerv1alpha1.Snapshot) { s.Steps = append(s.Steps, runnerv1alpha1.StepCounters{}) }, "4 steps"},
		{"chains", func(s *runnerv1alpha1.Snapshot) { s.Chains = s.Chains[:1] }, "1 chains"},
		{"response time", func(s *runnerv1alpha1.Snapshot) { s.ResponseTime.Counts = []byte("?") }, "shard 7: response time"},
		{"step", func(s *runnerv1alpha1.Snapshot) { s.Steps[1].ResponseTime.Count = 9 }, "response time of step 1"},
		{"step's first byte", func(s *runnerv1alpha1.Snapshot) { s.Steps[1].TimeToFirstByte.Count = 9 }, "time to first byte of step 1"},
		{"targets", func(s *runnerv1alpha1.Snapshot) { s.Targets = s.Targets[:1] }, "1 targets, the plan has 2"},
		{"target", func(s *runnerv1alpha1.Snapshot) { s.Targets[1].Body.Count = 9 }, "body of target 1"},
		{"lag", func(s *runnerv1alpha1.Snapshot) { s.Histograms.Lag.Counts = []byte("?") }, "lag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(plan, 7)
			r.request(0, "succeeded", 5)
			s := r.done()
			if err := fits(plan, &s); err != nil {
				t.Fatalf("before: %v", err)
			}
			tt.change(&s)
			_, err := Build(Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{s}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if fits(plan, &s) == nil {
				t.Error("it fits, but Build refuses it")
			}
		})
	}
	if err := fits(plan, &runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateWaiting}); err != nil {
		t.Errorf("a runner without counts: %v", err)
	}
}

// fits returns an error if a snapshot cannot belong to the plan, cannot be read, or contradicts itself.
func fits(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) error {
	if _, err := add(plan, []runnerv1alpha1.Snapshot{*s}); err != nil {
		return err
	}
	return checkCounts(plan, s)
}

func TestStages(t *testing.T) {
	rate := func(count int64, duration time.Duration, requests int64) runnerv1alpha1.Rate {
		return runnerv1alpha1.Rate{Count: count, Period: time.Second, Duration: duration, Requests: requests}
	}
	fast := runnerv1alpha1.Rate{ClosedLoop: true, Duration: 2 * time.Second}
	type counters = runnerv1alpha1.StageCounters
	warm := rate(100, time.Second, 0)
	warm.WarmUp = true
	chains := rate(10, 2*time.Second, 0)
	chains.ChainsPerSecond = true
	of := func(chain int, r runnerv1alpha1.Rate) runnerv1alpha1.Rate {
		r.Chain = chain
		return r
	}
	tests := []struct {
		name     string
		rates    []runnerv1alpha1.Rate
		shards   [][]counters
		asked    float64
		achieved float64
		window   float64
	}{
		{
			"by duration, two shards", []runnerv1alpha1.Rate{rate(10, 2*time.Second, 0)},
			[][]counters{{{Sent: 10, Ended: 2 * second}}, {{Sent: 8, Dropped: 2, Ended: 2 * second}}}, 10, 9, 2,
		},
		{
			"the last shard ends the window", []runnerv1alpha1.Rate{rate(10, 2*time.Second, 0)},
			[][]counters{{{Sent: 10, Ended: 2 * second}}, {{Sent: 15, Ended: 5 * second / 2}}}, 10, 10, 2.5,
		},
		{
			"what left in the drain is not in the rate", []runnerv1alpha1.Rate{rate(10, 2*time.Second, 0)},
			[][]counters{{{Sent: 20, SentInDrain: 5, Ended: 2 * second}}}, 10, 7.5, 2,
		},
		{
			"an end that is noticed late", []runnerv1alpha1.Rate{rate(10, 2*time.Second, 0)},
			[][]counters{{{Sent: 20, Ended: 2*second + lateEnd}}}, 10, 10, 2,
		},
		{
			"an end that is late", []runnerv1alpha1.Rate{rate(10, 2*time.Second, 0)},
			[][]counters{{{Sent: 20, Ended: 2*second + lateEnd + 1}}}, 10, 20 / 2.010000001, 2.010000001,
		},
		{
			"by requests: slots fill their periods", []runnerv1alpha1.Rate{rate(10, 0, 10)},
			[][]counters{{{Sent: 10, Ended: 9 * second / 10}}}, 10, 10, 1,
		},
		{
			"by requests, the last one noticed late", []runnerv1alpha1.Rate{rate(10, 0, 10)},
			[][]counters{{{Sent: 10, Ended: second + lateEnd}}}, 10, 10, 1,
		},
		{
			"by requests, late", []runnerv1alpha1.Rate{rate(10, 0, 10)},
			[][]counters{{{Sent: 10, Ended: 2 * second}}}, 10, 5, 2,
		},
		{
			"by requests, stopped before", []runnerv1alpha1.Rate{rate(10, 0, 100)},
			[][]counters{{{Sent: 10, Ended: second}}}, 10, 10, 1,
		},
		{
			"one request", []runnerv1alpha1.Rate{{Count: 1, Period: time.Minute, Requests: 1}},
			[][]counters{{{Sent: 1, Ended: 1}}}, 1. / 60, 1. / 60, 60,
		},
		{
			"two rates, weighted by time", []runnerv1alpha1.Rate{warm, rate(10, second3, 0), rate(50, time.Second, 0)},
			[][]counters{{{Sent: 100, Ended: second}, {Sent: 30, Begun: second, Ended: 4 * second}, {Sent: 50, Begun: 4 * second, Ended: 5 * second}}}, 20, 20, 4,
		},
		{"closed loop", []runnerv1alpha1.Rate{fast}, [][]counters{{{Sent: 5000, Ended: 2 * second}}}, 0, 2500, 2},
		{
			"mixed asks for nothing", []runnerv1alpha1.Rate{rate(10, second3, 0), fast},
			[][]counters{{{Sent: 30, Ended: 3 * second}, {Sent: 5000, Begun: 3 * second, Ended: 5 * second}}}, 0, 1006, 5,
		},
		{
			"stopped before the second stage", []runnerv1alpha1.Rate{rate(10, second3, 0), rate(50, time.Second, 0)},
			[][]counters{{{Sent: 10, Ended: second}, {}}}, 10, 10, 1,
		},
		{
			"values used up on two shards: until the last has sent", []runnerv1alpha1.Rate{rate(10, 10*time.Second, 0), rate(50, time.Second, 0)},
			[][]counters{{{Sent: 10, Ended: 2 * second}, {}}, {{Sent: 20, Ended: 4 * second}, {}}}, 10, 7.5, 4,
		},
		{
			"lost in the stage: as long as is known", []runnerv1alpha1.Rate{rate(10, 10*time.Second, 0)},
			[][]counters{{{Sent: 20}}}, 10, 2, 10,
		},
		{
			"one of two lost in the stage", []runnerv1alpha1.Rate{rate(10, 20*time.Second, 0)},
			[][]counters{{{Sent: 60}}, {{Sent: 100, Ended: 20 * second}}}, 10, 8, 20,
		},
		{"nothing", []runnerv1alpha1.Rate{rate(10, second3, 0)}, nil, 10, 0, 0},
		{
			"chains: requests have no rate that is asked for", []runnerv1alpha1.Rate{chains},
			[][]counters{{{Sent: 60, Started: 18, StartedInDrain: 1, SentInDrain: 2, Ended: 2 * second}}}, 0, 29, 2,
		},
		{
			"own rates of a chain add up, over the union of the stages", []runnerv1alpha1.Rate{rate(10, 2*time.Second, 0), of(1, rate(50, second3, 0))},
			[][]counters{{{Sent: 20, Ended: 2 * second}, {Sent: 150, Begun: second, Ended: 4 * second}}}, 42.5, 42.5, 4,
		},
		{
			"a pause in both", []runnerv1alpha1.Rate{rate(10, 2*time.Second, 0), of(1, rate(50, second3, 0))},
			[][]counters{{{Sent: 20, Ended: 3 * second, Paused: second}, {Sent: 150, Ended: 4 * second, Paused: second}}}, 170. / 3, 170. / 3, 3,
		},
		{
			"chains and requests", []runnerv1alpha1.Rate{rate(10, 2*time.Second, 0), chains},
			[][]counters{{{Sent: 20, Ended: 2 * second}, {Sent: 60, Started: 20, Begun: 2 * second, Ended: 4 * second}}}, 0, 20, 4,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := &runnerv1alpha1.Plan{Rates: tt.rates}
			var snapshots []runnerv1alpha1.Snapshot
			for i, stages := range tt.shards {
				snapshots = append(snapshots, runnerv1alpha1.Snapshot{Shard: i, StartedAt: 1, Clock: 12*second + 1, Stages: stages})
			}
			got := build(t, Input{Plan: plan, Snapshots: snapshots}).Rate
			want := runnerv1alpha1.RateResult{Asked: tt.asked, Achieved: tt.achieved, WindowSeconds: tt.window}
			if tt.name == "chains: requests have no rate that is asked for" {
				want.AskedChains, want.AchievedChains = 10, 8.5
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const second3 = 3 * time.Second

func TestCheckFinds(t *testing.T) {
	tests := []struct {
		name   string
		change func(*runnerv1alpha1.Report)
		want   string
	}{
		{"sent", func(r *runnerv1alpha1.Report) { r.Requests.Sent++ }, "requests: sent is"},
		{"done", func(r *runnerv1alpha1.Report) { r.Requests.Succeeded++ }, "requests: done is"},
		{"negative", func(r *runnerv1alpha1.Report) { r.Requests.TimedOut, r.Requests.Reset = -1, 2 }, "requests: a counter is -1"},
		{"step", func(r *runnerv1alpha1.Report) { r.Steps[1].Reset++ }, "step session/delete: sent is"},
		{"step done", func(r *runnerv1alpha1.Report) { r.Steps[0].FailedChecks++ }, "step session/create: done is"},
		{
			"steps do not add up",
			func(r *runnerv1alpha1.Report) { r.Steps[1].Sent++; r.Steps[1].TimedOut++ }, "timedOut of all steps is",
		},
		{"stages", func(r *runnerv1alpha1.Report) { r.Stages[1].Sent-- }, "sent in measured stages is"},
		{"dropped", func(r *runnerv1alpha1.Report) { r.Stages[1].Dropped++ }, "dropped in measured stages is"},
		{"warm-up", func(r *runnerv1alpha1.Report) { r.WarmUp.Sent++ }, "sent in warm-up stages is"},
		{"status codes missing", func(r *runnerv1alpha1.Report) { delete(r.StatusCodes, "503") }, "done is"},
		{"too many status codes", func(r *runnerv1alpha1.Report) { r.StatusCodes["200"] = 1000 }, "status codes is"},
		{"chains", func(r *runnerv1alpha1.Report) { r.Chains.Aborted++ }, "chains started is"},
		{"aborted by reason", func(r *runnerv1alpha1.Report) { r.Chains.AbortedBy["reset"]++ }, "chains aborted by reason is 2, want 1"},
		{"failed by", func(r *runnerv1alpha1.Report) { r.Steps[0].FailedBy["x"]++ }, "step session/create: failedBy is"},
		{"failed by a negative count", func(r *runnerv1alpha1.Report) { r.Steps[0].FailedBy["x"] = -1 }, `step session/create: failedBy "x" is -1`},
		{"failures", func(r *runnerv1alpha1.Report) { r.Failures[0].Count = 100 }, "failures: connectionLost is 100"},
		{"calls that timed out", func(r *runnerv1alpha1.Report) {
			r.Failures = append(r.Failures, runnerv1alpha1.FailureCount{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureTimedOut}, Count: 100})
		}, "failures: timedOut is 100, want at most"},
		{"failures by a negative count", func(r *runnerv1alpha1.Report) { r.Failures[0].Count = -1 }, "failures: connectionLost by protocol is -1"},
		{"retries", func(r *runnerv1alpha1.Report) { r.Steps[0].Retries = 1000 }, "step session/create: retries is 1000"},
		{"setup", func(r *runnerv1alpha1.Report) { r.Setup.Succeeded++ }, "succeeded in setup is 3"},
		{"teardown", func(r *runnerv1alpha1.Report) { r.Teardown.Succeeded = 4 }, "succeeded in teardown is 4"},
		{"response times", func(r *runnerv1alpha1.Report) { r.ResponseTime.Count = 1000 }, "response times is 1000"},
		{"response times of a step", func(r *runnerv1alpha1.Report) { r.Steps[2].ResponseTime.Count = 1000 }, "step ping/get: response times"},
	}
	plan := testPlan()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := newRecorder(plan, 0)
			for i := range 90 {
				rec.request(i%3, outcomes[i/3%len(outcomes)], 10)
			}
			rec.warmUp()
			rec.once()
			rec.aborted(1, "reset")
			r := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{rec.done()}})
			if err := Check(r); err != nil {
				t.Fatalf("before: %v", err)
			}
			tt.change(r)
			if err := Check(r); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
