//go:build html

package html

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/build"
)

// shards and seconds of the test that never was.
const (
	shards  = 3
	seconds = 90
	// One more shard is there from joins until leaves; the test is paused from pauses until resumes.
	joins, leaves   = 40, 66
	pauses, resumes = 70, 76
)

// member is one of the shards, whose response times are drawn.
type member struct {
	runnerv1alpha1.Snapshot
	response, service, lag histogram.H
	steps                  [3]histogram.H
	random                 *rand.Rand
}

func newMember(shard int) *member {
	m := &member{random: rand.New(rand.NewPCG(7, uint64(shard)))}
	m.Snapshot = runnerv1alpha1.Snapshot{
		Shard: shard, Boot: "b", Revision: 1, State: runnerv1alpha1.StateRunning,
		StartAt: int64(time.Second), StartedAt: int64(time.Second) + int64(shard)*70_000,
		Stages: make([]runnerv1alpha1.StageCounters, 3), Chains: make([]runnerv1alpha1.ChainCounters, 1), Steps: make([]runnerv1alpha1.StepCounters, 3),
		StatusCodes: map[string]int64{}, Causes: map[string]int64{},
		Generator: runnerv1alpha1.Generator{
			Workers: 2, CPUs: []int{2 + 2*shard, 3 + 2*shard}, Exclusive: shard != 2, ExclusiveWanted: true,
			Pod: "app-sessions-" + strconv.Itoa(shard), Node: "worker-" + strconv.Itoa(shard), ThrottledMicroseconds: int64(shard) * 1200, GCPauseMicroseconds: 5400,
		},
	}
	m.Counters.Connects = 22
	return m
}

// newJoiner has passed the stages that were before it in its first turn.
func newJoiner(shard int) *member {
	m := newMember(shard)
	m.StartedAt, m.Changed = m.StartAt+joins*int64(time.Second), true
	m.Stages[0].Ended, m.Stages[1].Begun = 10*int64(time.Second), 10*int64(time.Second)
	return m
}

// asked is the rate of a second: a warm-up, a rise, a change while it runs, and a calm end.
func asked(second int) (stage int, rate int64) {
	switch {
	case second < 10:
		return 0, 500
	case second < 40:
		return 1, 4000
	case second < 60:
		return 1, 6000
	case second >= pauses && second < resumes:
		return 2, 0
	}
	return 2, 2500
}

// pass is one second of the load, of which everybody that is present has the same part.
func (m *member) pass(second int, present int64) {
	stage, rate := asked(second)
	n := rate / present
	m.Stages[stage].Sent += n
	m.Stages[stage].Slots += n
	for i := range m.Stages {
		if stage > i && m.Stages[i].Ended == 0 {
			m.Stages[i].Ended = int64(second) * int64(time.Second)
			m.Stages[i+1].Begun = m.Stages[i].Ended
		}
	}
	switch second {
	case joins, leaves, pauses, resumes:
		m.Revision, m.Changed = m.Revision+1, true
	}
	if m.Suspended = rate == 0; m.Suspended {
		m.Stages[stage].Paused += int64(time.Second)
	}
	m.Generator.CPUSeconds += float64(rate) * 1.5e-6
	if stage == 0 {
		m.Counters.WarmUpSent += n
		m.Counters.WarmUpSucceeded += n
		return
	}
	slow := 1 + 3*math.Exp(-math.Pow(float64(second)-52, 2)/20) // a bad moment
	for range n {
		m.request(slow)
	}
	m.Counters.InFlightAtEnd = int64(slow * 12)
}

// request that may fail: one in 500, more when it is slow.
func (m *member) request(slow float64) {
	i := m.Counters.Sent % 3
	c, step := &m.Counters, &m.Steps[i]
	c.Sent++
	step.Sent++
	m.lag.Record(int64(8 * m.random.ExpFloat64() * slow))
	if draw := m.random.Float64(); draw < 0.0004*slow {
		c.TimedOut++
		step.TimedOut++
		return
	} else if draw < 0.0005*slow {
		c.Reset++
		step.Reset++
		return
	}
	service := 900*slow + 350*slow*m.random.ExpFloat64()
	if m.random.IntN(300) == 0 {
		service *= 12
	}
	m.service.Record(int64(service))
	response := int64(service * (1 + 0.3*m.random.Float64()))
	m.response.Record(response)
	m.steps[i].Record(response)
	c.Done++
	step.Done++
	if m.random.Float64() < 0.0015*slow {
		c.FailedChecks++
		step.FailedChecks++
		m.StatusCodes["503"]++
		m.Causes["NF_CONGESTION"]++
		return
	}
	c.Succeeded++
	step.Succeeded++
	m.StatusCodes["200"]++
}

// look is the snapshot after so many seconds.
func (m *member) look(after int) *runnerv1alpha1.Snapshot {
	m.Sequence++
	m.Clock = m.StartAt + int64(after)*int64(time.Second)
	m.ResponseTime, m.Lag = m.response.Encode(), m.lag.Encode()
	m.Generator.LagP99 = m.lag.Quantile(0.99)
	out := m.Snapshot
	out.Stages = append([]runnerv1alpha1.StageCounters{}, m.Stages...)
	return &out
}

// done is the final snapshot of one whose load ended after so many seconds.
func (m *member) done(after int) runnerv1alpha1.Snapshot {
	end := int64(after) * int64(time.Second)
	m.State, m.EndedAt = runnerv1alpha1.StateDone, m.StartAt+end
	m.Counters.InFlightAtEnd = 0
	m.Stages[2].Ended = end
	for i := range m.Steps {
		m.Steps[i].FailedBy = map[string]int64{"status": m.Steps[i].FailedChecks}
		m.Steps[i].ResponseTime = m.steps[i].Encode()
	}
	n := m.Counters.Sent / 3
	m.Chains[0] = runnerv1alpha1.ChainCounters{Started: n, Completed: n - 40, Aborted: 40, AbortedBy: map[string]int64{"failedCheck": 30, "timedOut": 10}}
	m.Histograms = &runnerv1alpha1.Histograms{ServiceTime: m.service.Encode(), TimeToFirstByte: m.service.Encode(), Lag: m.lag.Encode()}
	return *m.look(after)
}

func plan() *runnerv1alpha1.Plan {
	return &runnerv1alpha1.Plan{
		Name: "core/app-sessions", Shards: shards,
		Chains: []runnerv1alpha1.Chain{{Name: "app-session", Steps: []runnerv1alpha1.Step{{Name: "create"}, {Name: "update"}, {Name: "delete"}}}},
		Rates: []runnerv1alpha1.Rate{
			{Name: "warm", Count: 500, Period: time.Second, Duration: 10 * time.Second, WarmUp: true},
			{Name: "hold", Count: 4000, Period: time.Second, Duration: 50 * time.Second},
			{Name: "calm", Count: 2500, Period: time.Second, Duration: 24 * time.Second},
		},
	}
}

// canned is the report of the test that never was, made as real ones are.
func canned() (*runnerv1alpha1.Report, error) {
	p := plan()
	windows := build.NewWindows(p, shards)
	changed := plan().Rates
	changed[1].Count = 6000
	windows.Change(joins*time.Second, changed)
	windows.Change(pauses*time.Second, make([]runnerv1alpha1.Rate, len(changed)))
	windows.Change(resumes*time.Second, changed)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := build.Input{
		Plan: p, PlanHash: "3f1c9a50d2b84e67", Version: "v0.0.0", ClockOffsets: map[build.Runner]int64{},
		StartWall: start, EndWall: start.Add(seconds * time.Second),
	}
	var members []*member
	for i := range shards {
		members = append(members, newMember(i))
		in.ClockOffsets[build.Runner{Shard: i, Boot: "b"}] = 0
	}
	for second := range seconds {
		switch second {
		case joins:
			members = append(members, newJoiner(shards))
		case leaves:
			in.Snapshots = append(in.Snapshots, members[shards].done(leaves))
			members = members[:shards]
		}
		for _, m := range members {
			m.pass(second, int64(len(members)))
			if err := windows.Add(m.look(second + 1)); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range members {
		in.Snapshots = append(in.Snapshots, m.done(seconds))
	}
	r, err := build.Build(in)
	if err != nil {
		return nil, err
	}
	r.Windows, r.WindowsFrom = windows.List()
	r.Verdict = runnerv1alpha1.Verdict{
		Outcome: runnerv1alpha1.OutcomeFailed, Reason: "ThresholdsFailed", Message: "clean: ErrorRate 0.3% > 0.1%",
		Thresholds: []runnerv1alpha1.ThresholdResult{
			{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Limit: "<= 20ms", Observed: build.FormatTime(r.ResponseTime.P99), Passed: true},
			{Name: "clean", Metric: runnerv1alpha1.MetricErrorRate, Limit: "<= 0.1%", Observed: runnerv1alpha1.FormatPercentage(float64(r.ErrorRate), 3)},
		},
	}
	return r, nil
}
