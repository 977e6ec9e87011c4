package build

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// discover has the plan's target leave its protocol to the servers of its URLs.
func discover(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot, found ...runnerv1alpha1.Protocol) {
	t := &p.Targets[0]
	t.Protocol, s.Protocols, s.Streams = runnerv1alpha1.ProtocolDiscovered, make([][]runnerv1alpha1.EndpointProtocol, 1), []int64{1}
	for i, protocol := range found {
		t.Endpoints = append(t.Endpoints, runnerv1alpha1.Endpoint{Scheme: "http", Authority: string(rune('a' + i))})
		s.Protocols[0] = append(s.Protocols[0], runnerv1alpha1.EndpointProtocol{Protocol: protocol})
	}
}

// TestBounds: 60 000 requests a second, of which 3% are unanswered for 2 s, do not fit into 1 024 streams.
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
		{"HTTP/1.1", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures, p.Targets[0].Protocol = noStream, runnerv1alpha1.ProtocolHTTP1
		}, []runnerv1alpha1.BoundResult{{
			Bound: "connections", Of: "t", Allowed: 16, Needed: 3840, Dropped: dropped,
			Message: "target t: over HTTP/1.1, 16 connections carry 16 requests at a time, which is 262 requests per second with an average duration of 61ms; 60000 requests per second need about 3840: set connections to 3840",
		}}},
		{"HTTP/1.1 with pipelines", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			s.Failures, p.Targets[0].Protocol, p.Targets[0].HTTP1.Pipeline = noStream, runnerv1alpha1.ProtocolHTTP1, 4
		}, []runnerv1alpha1.BoundResult{{
			Bound: "connections", Of: "t", Allowed: 64, Needed: 3840, Dropped: dropped,
			Message: "target t: over HTTP/1.1, 16 connections carry 64 requests at a time, which is 1050 requests per second with an average duration of 61ms; 60000 requests per second need about 3840: set connections to 960",
		}}},
		{"HTTP/1.1 was found, and requests wait without being dropped", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			discover(p, s, runnerv1alpha1.ProtocolHTTP1)
			s.Counters.Dropped, s.Stages[0].Dropped = 0, 0
		}, []runnerv1alpha1.BoundResult{{
			Bound: "connections", Of: "t", Allowed: 16, Needed: 3840,
			Message: "target t: over HTTP/1.1, 16 connections carry 16 requests at a time, which is 262 requests per second with an average duration of 61ms; 60000 requests per second need about 3840: set connections to 3840",
		}}},
		{"HTTP/1.1 was negotiated, and requests wait without being dropped", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			discover(p, s, runnerv1alpha1.ProtocolHTTP1)
			p.Targets[0].Protocol, s.Counters.Dropped, s.Stages[0].Dropped = runnerv1alpha1.ProtocolALPN, 0, 0
		}, []runnerv1alpha1.BoundResult{{
			Bound: "connections", Of: "t", Allowed: 16, Needed: 3840,
			Message: "target t: over HTTP/1.1, 16 connections carry 16 requests at a time, which is 262 requests per second with an average duration of 61ms; 60000 requests per second need about 3840: set connections to 3840",
		}}},
		{"HTTP/1.1 was negotiated at one URL only", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			discover(p, s, runnerv1alpha1.ProtocolHTTP1, runnerv1alpha1.ProtocolH2)
			p.Targets[0].Protocol, s.Counters.Dropped, s.Stages[0].Dropped = runnerv1alpha1.ProtocolALPN, 0, 0
		}, nil},
		{"HTTP/1.1 was found, and the connections carry the rate", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			discover(p, s, runnerv1alpha1.ProtocolHTTP1)
			s.Counters.Dropped, s.Stages[0].Dropped, p.Targets[0].Connections = 0, 0, 3700
		}, nil},
		{"HTTP/1.1 was found at one URL only", func(p *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
			discover(p, s, runnerv1alpha1.ProtocolHTTP1, runnerv1alpha1.ProtocolH2C)
			s.Counters.Dropped, s.Stages[0].Dropped = 0, 0
		}, nil},
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
				Counters: runnerv1alpha1.Counters{Requests: runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: sent, Done: sent - lost, Succeeded: sent - lost, TimedOut: lost}, Dropped: dropped}},
				Stages:   []runnerv1alpha1.StageCounters{{Sent: sent, Dropped: dropped, Slots: sent + dropped, Ended: 10 * second}},
				Steps: []runnerv1alpha1.StepCounters{{
					Outcomes:             runnerv1alpha1.Outcomes{Sent: sent, Done: sent - lost, Succeeded: sent - lost, TimedOut: lost},
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
