package verdict

import (
	"strings"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestWorkersFor(t *testing.T) {
	tests := []struct {
		name string
		load load
		want int
	}{
		{"the CPU is used up", load{workers: 1, asked: 100_000, achieved: 80_000, busy: 1}, 2},
		{"two CPUs are used up", load{workers: 2, asked: 100_000, achieved: 80_000, busy: 1.9}, 4},
		{"far too few", load{workers: 1, asked: 1e6, achieved: 1e5, busy: 1}, 15},
		{"the rate was reached, with lag", load{workers: 4, asked: 100, achieved: 100, busy: 3.5}, 5},
		{"more than asked", load{workers: 1, asked: 100, achieved: 120, busy: 1}, 2},
		{"idle CPUs, with lag", load{workers: 4, asked: 100, achieved: 99, busy: 0.5}, 5},
		{"throttled at a fifth of a CPU", load{workers: 1, asked: 1000, achieved: 500, busy: 0.2, throttled: true}, 3},
		{"throttled, two workers", load{workers: 2, asked: 1000, achieved: 1000, busy: 0.4, throttled: true}, 3},
		{"no CPU time is known", load{workers: 2, asked: 100, achieved: 50}, 6},
		{"other threads took CPU time, too", load{workers: 1, asked: 100, achieved: 100, busy: 1.6}, 2},
		{"nothing was sent in time", load{workers: 1, asked: 100}, 3},
		{"no rate", load{workers: 1, achieved: 100, busy: 0.5}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := workersFor(tt.load); got != tt.want {
				t.Errorf("%+v: %d, want %d", tt.load, got, tt.want)
			}
		})
	}
}

// saturated used up the CPU of each of its workers at half of the rate asked for.
func (r *run) saturated(workers int) {
	r.shortOfRate(50)
	r.lags()
	r.report.Generator.Workers, r.report.CPUSeconds = workers, 20*float64(workers)
	r.plan.Targets = []runnerv1alpha1.Target{{Name: "a", Connections: 64}, {Name: "b", Connections: 32}}
}

func TestAdvice(t *testing.T) {
	tests := []struct {
		name   string
		change func(*run)
		want   string // the end of the message
	}{
		{"one worker for each shard", func(r *run) { r.saturated(2) }, "; try spec.runner.shards: 6"},
		{"several workers for each shard", func(r *run) { r.saturated(8); r.plan.CPUsPerShard = 4 }, "; try spec.runner.shards: 6"},
		{"workers that no runner reported", func(r *run) { r.saturated(0) }, "; try spec.runner.shards: 6"},
		{"too few connections", func(r *run) { r.saturated(2); r.plan.Targets[1].Connections = 5 }, "; try spec.runner.shards: 6, with at least 6 connections for each target"},
		{"more shards than there can be", func(r *run) { r.saturated(200) }, "; try spec.runner.shards: 256, with at least 256 connections for each target"},
		{"the command line, enough CPUs", func(r *run) { r.saturated(2); r.facts.CPUs = 6 }, "; try spec.runner.shards: 6"},
		{"the command line, too few CPUs", func(r *run) { r.saturated(2); r.facts.CPUs = 5 }, "; it needs about 6 workers with a CPU each, and this machine has 5: run the test in a cluster with 6 shards"},
		{"the highest rate counts", func(r *run) {
			r.saturated(2)
			r.report.Stages = append(r.report.Stages, runnerv1alpha1.StageResult{Name: "low", Asked: 10, Achieved: 1, Sent: 9})
		}, "; try spec.runner.shards: 6"},
		{"no warm-up counts", func(r *run) {
			r.saturated(2)
			r.report.Stages = append(r.report.Stages, runnerv1alpha1.StageResult{Name: "warm", WarmUp: true, Asked: 1e6, Achieved: 1, Sent: 9})
		}, "; try spec.runner.shards: 6"},
		{"the CPU time of the warm-up has requests, too", func(r *run) {
			r.saturated(2)
			r.report.WarmUp.Sent, r.report.CPUSeconds = 99_000, 2000
		}, "; try spec.runner.shards: 3"},
		{"a closed loop below its minimum", func(r *run) { r.closedLoop(); r.saturated(2) }, "; try spec.runner.shards: 6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := good()
			tt.change(r)
			got, err := Judge(&r.plan, &r.report, r.facts)
			if err != nil {
				t.Fatal(err)
			}
			if got.Reason != ReasonGeneratorBound || !strings.HasSuffix(got.Message, tt.want) {
				t.Errorf("%s: %s\nwant ...%s", got.Reason, got.Message, tt.want)
			}
		})
	}
}

// TestAdviceOfBounds: a generator that lags is not the advice if the connections do not carry the rate either.
func TestAdviceOfBounds(t *testing.T) {
	bound := func(name runnerv1alpha1.BoundName, allowed, needed int64) func(*run) {
		return func(r *run) {
			r.saturated(2)
			r.report.Bounds = []runnerv1alpha1.BoundResult{{Bound: name, Of: "a", Allowed: allowed, Needed: needed, Message: "target a: set connections to 9"}}
		}
	}
	const connections, shards = "stage hold reached 50 of 100 requests a second; much: Rate 50 < 100; target a: set connections to 9", "; try spec.runner.shards: 6"
	tests := []struct {
		name       string
		change     func(*run)
		reason     string
		begin, end string
	}{
		{"connections", bound(runnerv1alpha1.BoundConnections, 1, 9), ReasonGeneratorBound, ConnectionsBound + ", and the generator can be another, it lagged (p99 10ms): ", connections},
		{"streams", bound(runnerv1alpha1.BoundStreams, 1, 9), ReasonGeneratorBound, ConnectionsBound, connections},
		{"enough connections", bound(runnerv1alpha1.BoundConnections, 9, 9), ReasonGeneratorBound, "the generator was the bottleneck", shards},
		{"instances of a chain", bound(runnerv1alpha1.BoundMaxInFlight, 1, 9), ReasonGeneratorBound, "the generator was the bottleneck", shards},
		{"dropped requests fail a threshold", func(r *run) {
			bound(runnerv1alpha1.BoundConnections, 1, 9)(r)
			r.mostlyDropped()
		}, ReasonThresholdsFailed, "", "; target a: set connections to 9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := good()
			tt.change(r)
			got, err := Judge(&r.plan, &r.report, r.facts)
			if err != nil {
				t.Fatal(err)
			}
			if got.Reason != tt.reason || !strings.HasPrefix(got.Message, tt.begin) || !strings.HasSuffix(got.Message, tt.end) || tt.end != shards && strings.Contains(got.Message, AdviceShards) {
				t.Errorf("%s: %s\nwant %s: %s...%s", got.Reason, got.Message, tt.reason, tt.begin, tt.end)
			}
		})
	}
}
