package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestBounds: 60 000 requests a second, of which 3 % are unanswered for 2 s, do not fit into 1 024 streams.
func TestBounds(t *testing.T) {
	const sent, dropped, lost = 296_000, 304_000, 8_880
	failed := func(cause runnerv1alpha1.Cause, detail string) []runnerv1alpha1.FailureCount {
		return []runnerv1alpha1.FailureCount{{
			Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureDropped, Cause: cause, Detail: detail}, Count: dropped,
		}}
	}
	noStream := failed(runnerv1alpha1.CauseNoStream, "t")
	target := runnerv1alpha1.Target{Name: "t", Connections: 16, MaxConcurrentStreams: 64, Protocol: runnerv1alpha1.ProtocolH2C}
	tests := []struct {
		name   string
		change func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot)
		want   []runnerv1alpha1.BoundResult
	}{
		{"none", func(_ *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures = failed(runnerv1alpha1.CauseNoConnection, "")
		}, nil},
		{"streams", func(_ *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) { s.Failures = noStream }, []runnerv1alpha1.BoundResult{{
			Bound: "streams", Of: "t", Allowed: 1024, Needed: 3840, Dropped: dropped,
			Message: "target t: 16 connections of 64 streams can hold 1024 requests at a time; 60000 requests per second with an average duration of 61ms need about 3840: set connections to 60, or maxConcurrentStreams to 240",
		}}},
		{"the peer allows fewer streams", func(_ *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures, s.Streams = noStream, []int64{32}
		}, []runnerv1alpha1.BoundResult{{
			Bound: "connections", Of: "t", Allowed: 512, Needed: 3840, Dropped: dropped,
			Message: "target t: 16 connections of 32 streams can hold 512 requests at a time; 60000 requests per second with an average duration of 61ms need about 3840: set connections to 120",
		}}},
		{"each connection ends with its second request", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures, p.Targets[0].Connecting.MaxRequests = noStream, 2
		}, []runnerv1alpha1.BoundResult{{
			Bound: "connections", Of: "t", Allowed: 32, Needed: 3840, Dropped: dropped,
			Message: "target t: 16 connections of 2 streams can hold 32 requests at a time; 60000 requests per second with an average duration of 61ms need about 3840: set connections to 1920",
		}}},
		{"the target stalled", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures, p.Targets[0].MaxConcurrentStreams = noStream, 1000
		}, []runnerv1alpha1.BoundResult{{
			Bound: "streams", Of: "t", Allowed: 16_000, Needed: 3840, Dropped: dropped,
			Message: "target t: 16 connections of 1000 streams can hold 16000 requests at a time; 60000 requests per second with an average duration of 61ms need about 3840, so the target stalled, or answered in bursts",
		}}},
		{"requests that time out hold the streams", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures, p.Chains[0].Steps[0].Timeout = noStream, 2*time.Second
		}, []runnerv1alpha1.BoundResult{{
			Bound: "streams", Of: "t", Allowed: 1024, Needed: 3840, Dropped: dropped,
			Message: "target t: 16 connections of 64 streams can hold 1024 requests at a time; 60000 requests per second with an average duration of 61ms need about 3840, because 8880 of 296000 requests timed out: the target answers late, or not at all; more connections would hold more requests that wait",
		}}},
		{"every tenth request times out, and the others are slow", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures, p.Chains[0].Steps[0].Timeout = noStream, 2*time.Second
			s.Counters.TimedOut, s.Counters.Done, s.Counters.Succeeded = sent/10, sent-sent/10, sent-sent/10
			s.Steps[0].TimedOut, s.Steps[0].Done, s.Steps[0].Succeeded = sent/10, sent-sent/10, sent-sent/10
			s.Steps[0].OccupiedMicroseconds = sent * 1_500_000
		}, []runnerv1alpha1.BoundResult{{
			Bound: "streams", Of: "t", Allowed: 1024, Needed: 90900, Dropped: dropped,
			Message: "target t: 16 connections of 64 streams can hold 1024 requests at a time; 60000 requests per second with an average duration of 1.5s need about 90900, because 29600 of 296000 requests timed out: the target answers late, or not at all; more connections would hold more requests that wait",
		}}},
		{"maxInFlight", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures, p.Chains[0].MaxInFlight = failed(runnerv1alpha1.CauseMaxInFlight, "c"), 100
		}, []runnerv1alpha1.BoundResult{{
			Bound: "maxInFlight", Of: "c", Allowed: 100, Needed: 203, Dropped: dropped,
			Message: "chain c: maxInFlight is 100, and 304000 requests were not sent: set it to 203",
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &runnerv1alpha1.Plan{
				Targets: []runnerv1alpha1.Target{target},
				Chains:  []runnerv1alpha1.Chain{{Name: "c", Steps: []runnerv1alpha1.Step{{Name: "get"}}}},
				Rates:   []runnerv1alpha1.Rate{{Name: "hold", Count: 60_000, Period: time.Second, Duration: 10 * time.Second}},
			}
			s := runnerv1alpha1.Snapshot{
				State: runnerv1alpha1.StateDone, Clock: 12 * second, StartedAt: second, EndedAt: 11 * second,
				Counters: runnerv1alpha1.Counters{Sent: sent, Done: sent - lost, Succeeded: sent - lost, TimedOut: lost, Dropped: dropped},
				Stages:   []runnerv1alpha1.StageCounters{{Sent: sent, Dropped: dropped, Slots: sent + dropped, Ended: 10 * second}},
				Steps: []runnerv1alpha1.StepCounters{{
					Sent: sent, Done: sent - lost, Succeeded: sent - lost, TimedOut: lost,
					OccupiedMicroseconds: lost*2_000_000 + (sent-lost)*1000,
				}},
			}
			tt.change(p, &s)
			got := build(t, Input{Plan: p, Snapshots: []runnerv1alpha1.Snapshot{s}})
			if diff := cmp.Diff(tt.want, got.Bounds); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
