package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/runner/trial"
)

// tried is a trial of a manifest and its results so far.
type tried struct {
	job  *job
	plan *rv.Plan
	mask *tryMask
	full bool
	dry  bool // nothing is sent
	// calls are the methods of gRPC that steps call.
	calls map[*rv.Step]*triedCall
	// each is called with every exchange; nil: nothing is.
	each func(*triedExchange)

	mu sync.Mutex // guards the fields below, which the worker's goroutine writes
	// chains are the results by the index of the chain in the plan.
	chains []triedChain
	// answered counts requests with a response, failed counts steps.
	answered, failed int
	interrupted      bool
	// protocols are what was found at http URLs.
	protocols []rv.FoundProtocol
	// listeners have the notifications of the trial.
	listeners []rv.ListenerResult
}

func newTried(j *job, full, showSecrets bool) *tried {
	t := &tried{job: j, plan: trialPlan(j.plan), full: full, mask: newTryMask(j, showSecrets)}
	t.calls = callsOf(t.plan, j.files)
	for i := range t.plan.Chains {
		c := &t.plan.Chains[i]
		t.chains = append(t.chains, triedChain{Name: c.Name, Phase: c.Phase, Outcome: outcomeNotRun})
	}
	return t
}

// trialPlan is a plan for one shard without a load. Connections are opened when a step needs one, so that a target
// that no step uses need not be there.
func trialPlan(from *rv.Plan) *rv.Plan {
	p := *from
	p.Shards, p.CPUsPerShard, p.Deadline, p.Thresholds = 1, 0, 0, nil
	p.Rates = []rv.Rate{{Name: "trial", ClosedLoop: true, Requests: 1}}
	p.Targets = nil
	for _, t := range from.Targets {
		t.Connecting.OnDemand, t.Connecting.RampCount, t.Connecting.RampPeriod = true, 0, 0
		t.Connections = min(t.Connections, largestGroup(from))
		p.Targets = append(p.Targets, t)
	}
	return &p
}

// largestGroup is how many requests a plan sends at the same time at most: over HTTP/1.1, each needs a connection.
func largestGroup(p *rv.Plan) int {
	largest := 1
	for i := range p.Chains {
		sizes := map[int]int{}
		for j := range p.Chains[i].Steps {
			if g := p.Chains[i].Steps[j].Group; g > 0 {
				sizes[g]++
				largest = max(largest, sizes[g])
			}
		}
	}
	return largest
}

// run sends one instance of each chain. Problem says why the trial could not run; the exchanges may show more.
func (t *tried) run(chains []int, listen string, parts linked) (problem string, err error) {
	wishes, release := parts.interrupts(false, func() {})
	defer release()
	placed, dir, err := materialise(t.plan, t.job.files)
	if err != nil {
		return "", command.Failf("%v", err)
	}
	defer remove(dir)
	e, err := parts.newTrial(placed, &trial.Config{Chains: chains, Exchange: t.exchange, Ended: t.ended}, listen)
	if err != nil {
		return "", t.job.refused(err, dir) // it only reads the plan and the files that the plan names
	}
	defer e.Close() //nolint:errcheck // never fails
	share := split.Whole(placed)
	share.Slots = rv.Slots{Of: 1}
	s, err := t.drive(e, share, wishes)
	if err != nil {
		return "", command.Failf("%v", err)
	}
	t.keepProtocols(placed, s)
	t.keepListeners(s)
	return t.job.advise(s.Message), nil
}

// keepProtocols takes what was found from the last snapshot. A URL can have secrets in the values of placeholders.
func (t *tried) keepProtocols(plan *rv.Plan, s *rv.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.protocols = build.Protocols(plan, s)
	for i := range t.protocols {
		t.protocols[i].URL = t.mask.text(t.protocols[i].URL)
	}
}

// keepListeners takes the counts of the last snapshot.
func (t *tried) keepListeners(s *rv.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range s.Listeners {
		t.listeners = append(t.listeners, rv.ListenerResult{Name: t.plan.Listeners[i].Name,
			ListenerCounts: s.Listeners[i].ListenerCounts})
	}
}

// drive takes the engine from its first update to its last snapshot. The first interrupt ends it at once: there is
// no load whose responses would be awaited.
func (t *tried) drive(e engine, share rv.Share, wishes <-chan os.Signal) (*rv.Snapshot, error) {
	if err := e.Update(rv.Update{Revision: firstRevision, Share: share}); err != nil {
		return nil, err
	}
	ready := time.NewTicker(readyEvery)
	defer ready.Stop()
	limit := time.NewTimer(connectTimeout(t.plan))
	defer limit.Stop()
	for {
		var why string
		select {
		case <-e.Done():
			return e.Snapshot(), nil
		case <-wishes:
			t.interrupt()
			why = reasonInterrupted
		case <-limit.C:
			if e.Snapshot().State == rv.StateConnecting { // a target has no authorization
				why = reasonUnreachable
			}
		case <-ready.C:
			if s := e.Snapshot(); s.State == rv.StateReady {
				ready.Stop()
				if err := e.Start(rv.Start{At: rv.Clock(), Globals: s.Globals}); err != nil {
					return nil, err
				}
			}
		}
		if why != "" {
			was := e.Snapshot()
			if err := e.Stop(rv.Stop{Reason: why}); err != nil {
				return nil, err
			}
			<-e.Done()
			s := *e.Snapshot()
			if s.Message == "" {
				s.Message = was.Message
			}
			return &s, nil
		}
	}
}

func (t *tried) interrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.interrupted = true
}

// exchange takes an exchange from the worker.
func (t *tried) exchange(e *trial.Exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(e.Chain, t.describe(e))
}

// add takes an exchange into the results.
func (t *tried) add(chain int, out *triedExchange) {
	if out.Response != nil {
		t.answered++
	}
	if out.Outcome == outcomeFailed && !out.retried {
		t.failed++
	}
	c := &t.chains[chain]
	c.Exchanges = append(c.Exchanges, out)
	if t.each != nil {
		t.each(out)
	}
}

// ended takes the end of a chain's instance from the worker. A failed step of a chain that continues fails the
// chain, too: the trial shows what does not work.
func (t *tried) ended(chain int, _ string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.chains[chain]
	c.Outcome = outcomePassed
	for _, e := range c.Exchanges {
		if e.Outcome == outcomeFailed && !e.retried {
			c.Outcome, c.Reason = outcomeFailed, fmt.Sprintf("step %s: %s", e.Step, e.Reason)
			return
		}
	}
}
