package conformance

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner"
)

// newPlan is one step on one connection with one stream, in a closed loop; rows change what
// they are about. Timeouts are short, because a row that waits for one waits all of it.
func newPlan(address string, protocol rv.Protocol, requests int64) *rv.Plan {
	const timeout = 5 * time.Second
	return &rv.Plan{
		Name: "default/conformance",
		Targets: []rv.Target{{
			Name: "peer", Protocol: protocol, Connections: 1, MaxConcurrentStreams: 1, ConnectTimeout: timeout,
			Endpoints: []rv.Endpoint{{Scheme: "http", Authority: address, Address: address}},
		}},
		Chains: []rv.Chain{{Name: "chain", Weight: 1, Steps: []rv.Step{
			{Name: "get", Method: http.MethodGet, Path: rv.Text{{Literal: "/"}}, Timeout: timeout},
		}}},
		Rates: []rv.Rate{{Name: "fast", ClosedLoop: true, Requests: requests}},
		Drain: timeout, Shards: 1,
	}
}

// setTimeout changes the timeout of every step, and the drain that goes with it.
func setTimeout(p *rv.Plan, d time.Duration) {
	for i := range p.Chains {
		for k := range p.Chains[i].Steps {
			p.Chains[i].Steps[k].Timeout = d
		}
	}
	p.Drain = d
}

func text(s string) rv.Text { return rv.Text{{Literal: s}} }

// runLimit ends a run that hangs.
const runLimit = time.Minute

var errHangs = errors.New("the run took too long")

// execute runs a plan on one worker and checks the counting law.
func execute(t *testing.T, plan *rv.Plan) (*rv.Snapshot, error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), runLimit, errHangs)
	defer cancel()
	s, err := run(ctx, plan)
	if s != nil {
		law(t, s)
		if s.Stopped == errHangs.Error() {
			t.Errorf("%v: %+v", errHangs, s.Counters)
		}
	}
	return s, err
}

// run runs a plan to its final snapshot. It returns an error if the connections could not be opened.
func run(ctx context.Context, plan *rv.Plan) (*rv.Snapshot, error) {
	r, err := runner.New(plan, runner.Options{NoPin: true, Alone: true})
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // never fails
	if err := r.Update(rv.Update{Revision: 1, Share: split.Whole(plan)}); err != nil {
		return nil, err
	}
	ready := time.After(plan.Targets[0].ConnectWithin() * 5 / 4)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r.Snapshot().State != rv.StateReady {
		select {
		case <-ready:
			return r.Snapshot(), errors.New(r.Snapshot().Message)
		case <-r.Done():
			return r.Snapshot(), errors.New(r.Snapshot().Message)
		case <-tick.C:
		}
	}
	if err := r.Start(rv.Start{At: rv.Clock() + int64(20*time.Millisecond)}); err != nil {
		return r.Snapshot(), err
	}
	stop := ctx.Done()
	for {
		select {
		case <-r.Done():
			return r.Snapshot(), nil
		case <-stop:
			stop = nil
			_ = r.Stop(rv.Stop{Reason: context.Cause(ctx).Error(), Drain: true}) // fails only if the run is over
		}
	}
}

// mustExecute is execute for a peer that can be reached.
func mustExecute(t *testing.T, plan *rv.Plan) *rv.Snapshot {
	t.Helper()
	s, err := execute(t, plan)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// law is the counting law of the design, and what follows from it: for the whole, for the sum of
// the steps, for chains, stages, status codes and distributions.
func law(t *testing.T, s *rv.Snapshot) {
	t.Helper()
	c := &s.Counters
	if c.Sent != c.Done+c.TimedOut+c.Reset+c.ConnectionLost+c.InFlightAtEnd || c.Done != c.Succeeded+c.FailedChecks {
		t.Errorf("the counting law is broken: %+v", *c)
	}
	var sum rv.StepCounters
	for i := range s.Steps {
		k := &s.Steps[i]
		if k.Sent != k.Done+k.TimedOut+k.Reset+k.ConnectionLost+k.InFlightAtEnd || k.Done != k.Succeeded+k.FailedChecks {
			t.Errorf("the counting law is broken in step %d: %+v", i, *k)
		}
		sum.Sent += k.Sent
		sum.Succeeded += k.Succeeded
		sum.FailedChecks += k.FailedChecks
		sum.TimedOut += k.TimedOut
		sum.Reset += k.Reset
		sum.ConnectionLost += k.ConnectionLost
		sum.InFlightAtEnd += k.InFlightAtEnd
	}
	whole := rv.StepCounters{Outcomes: rv.Outcomes{Sent: c.Sent, Succeeded: c.Succeeded, FailedChecks: c.FailedChecks, TimedOut: c.TimedOut,
		Reset: c.Reset, ConnectionLost: c.ConnectionLost, InFlightAtEnd: c.InFlightAtEnd}}
	if !reflect.DeepEqual(sum, whole) {
		t.Errorf("the steps sum up to %+v, the whole is %+v", sum, whole)
	}
	lawOfParts(t, s)
}

func lawOfParts(t *testing.T, s *rv.Snapshot) {
	t.Helper()
	for i, k := range s.Chains {
		if k.Started != k.Completed+k.Aborted+k.Unfinished {
			t.Errorf("chain %d: %+v", i, k)
		}
	}
	var stages, codes int64
	for _, k := range s.Stages {
		stages += k.Sent
	}
	for _, n := range s.StatusCodes {
		codes += n
	}
	c := &s.Counters
	if stages != c.Sent+c.WarmUpSent {
		t.Errorf("the stages sent %d, the whole %d and %d in warm-up", stages, c.Sent, c.WarmUpSent)
	}
	if codes != c.Done || s.ResponseTime.Count != c.Done {
		t.Errorf("%d status codes and %d response times for %d responses", codes, s.ResponseTime.Count, c.Done)
	}
}
